"""Fits of a Spark ML classifier to changing weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.ml import Estimator
from pyspark.sql import functions as F

from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError
from fairalm.spark.fitted import Fitted
from fairalm.spark.frame import WEIGHT, CodedFrame, by_code

LABEL, FIT_WEIGHT = "fairalm_label", "fairalm_fit_weight"


class StageLearner:
    """Fits copies of one classifier to the same rows, under changing weights.

    The weights are a table by label and group, which becomes one column expression: a lookup by the row's code. A
    negative weight becomes its absolute value on the other label, which is the same thing for 0/1 error.

    Parameters
    ----------
    estimator : Spark ML classifier
        With a `weightCol`.
    frame : CodedFrame
        The rows to fit on.
    target : float
        The label that is the target.
    """

    def __init__(self, estimator: Estimator[Any], frame: CodedFrame, target: float) -> None:
        self.estimator, self.frame, self.target = estimator, frame, target

    def fit(self, factors: FloatArray) -> Fitted:
        """A model fitted to these weights for rows of weight 1, shape (2, groups)."""
        is_target = np.array([[False], [True]]) ^ (factors < 0)
        used = is_target[(factors != 0) & (self.frame.rows.counts > 0)]
        if used.all() or not used.any():  # only one label is left
            return Fitted(None, self.target, -np.inf if used.any() else np.inf)
        labels = np.where(is_target, self.target, 1.0 - self.target)
        data = self.frame.data.withColumns(
            {LABEL: by_code(labels), FIT_WEIGHT: F.col(WEIGHT) * by_code(np.abs(factors))}
        )
        if (factors == 0).any():
            data = data.where(F.col(FIT_WEIGHT) > 0)
        stage = self.estimator
        names = {stage.getParam("labelCol"): LABEL, stage.getParam("weightCol"): FIT_WEIGHT}
        return Fitted(stage.fit(data, names), self.target)


def check_takes_weights(estimator: Any) -> None:
    """Refuse what is not a Spark ML classifier with weights."""
    if not isinstance(estimator, Estimator):
        raise InputError(f"`estimator` must be a Spark ML classifier; got {estimator!r}.")
    missing = [
        name for name in ("featuresCol", "labelCol", "weightCol", "predictionCol") if not estimator.hasParam(name)
    ]
    if missing:
        raise InputError(
            f"{type(estimator).__name__} has no {missing[0]}, which every round needs: pass a classifier such as"
            " LogisticRegression, LinearSVC, RandomForestClassifier or GBTClassifier. The other stages of a pipeline"
            " belong before this estimator: Pipeline(stages=[assembler, FairALMEstimator(...)])."
        )


def features_of(*estimators: Any) -> list[str]:
    """The columns that these estimators take their features from."""
    return sorted({estimator.getOrDefault("featuresCol") for estimator in estimators})
