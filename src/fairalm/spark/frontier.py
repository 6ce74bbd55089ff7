"""The frontier on Spark: models of label and group, from which every constraint and tolerance is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.ml import Estimator
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame

from fairalm._validation import ATTRIBUTES
from fairalm.constraints import Constraint
from fairalm.frontier.joint import populations_of
from fairalm.frontier.limits import check_comparable
from fairalm.frontier.trade_off import as_constraints
from fairalm.spark.frame import code_frame, target_of
from fairalm.spark.frontier_model import FrontierModel
from fairalm.spark.label_and_group import as_sample, check_has_probabilities, cross_fit
from fairalm.spark.learner import features_of
from fairalm.spark.mending import Mending
from fairalm.spark.params import GroupParams, ObjectReader, ObjectWriter, check_settings


class FrontierEstimator(Estimator[FrontierModel], GroupParams, MLReadable["FrontierEstimator"], MLWritable):
    """A Spark ML estimator whose model answers every constraint, tolerance, cost and acceptance rate without a refit.

    It learns the probability of each label and group, P(y | x) and P(s | x, y), out of fold, on all rows. The program
    behind a point of the frontier is solved on the driver, on at most `maxRows` rows that the models had not seen.

    Parameters
    ----------
    estimator : Spark ML classifier, optional
        Of the label, with `weightCol` and probabilities; ``LogisticRegression()`` if left out.
    membership : Spark ML classifier, optional
        Of the group; another copy of `estimator` if left out. More than two groups need one of several classes.
    constraint : Constraint, str, or a list of them, optional
        What `transform` must meet; ``EqualOpportunity()`` if left out.
    groupCols, labelCol, weightCol, attributes
        As in :class:`fairalm.spark.FairALMEstimator`.
    numFolds : int
        Folds for the out-of-fold probabilities; the whole costs `numFolds` + 1 fits of each classifier.
    mend : bool
        Mend the probabilities by a small logistic regression on the driver's rows, where that lowers their log loss.
    maxRows : int
        Rows, at most, that the driver solves on. With more rows in the data, each label and group is sampled to the
        same number of rows, or kept whole if it has no more.
    seed : int
        Draws folds and sample, each row by a hash of its own values, so equal rows stay together.

    Examples
    --------
    >>> from fairalm.spark import FrontierEstimator
    >>> FrontierEstimator(groupCols=["sex"], maxRows=50_000).getOrDefault("maxRows")
    50000
    """

    membership: Param[Any] = Param(Params._dummy(), "membership", "classifier of the group")
    numFolds: Param[int] = Param(Params._dummy(), "numFolds", "folds", typeConverter=TypeConverters.toInt)
    mend: Param[bool] = Param(
        Params._dummy(), "mend", "mend the probabilities where that pays", typeConverter=TypeConverters.toBoolean
    )
    maxRows: Param[int] = Param(
        Params._dummy(), "maxRows", "rows that the driver solves on", typeConverter=TypeConverters.toInt
    )

    def __init__(
        self,
        estimator: Any = None,
        *,
        membership: Any = None,
        constraint: Constraint | str | Sequence[Constraint | str] | None = None,
        groupCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        attributes: str = "crossed",
        numFolds: int = 5,
        mend: bool = True,
        maxRows: int = 100_000,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._set_given(
            estimator=estimator,
            membership=membership,
            constraint=constraint,
            groupCols=groupCols,
            labelCol=labelCol,
            weightCol=weightCol,
            attributes=attributes,
            numFolds=numFolds,
            mend=mend,
            maxRows=maxRows,
            seed=seed,
        )

    def _fit(self, dataset: DataFrame) -> FrontierModel:
        constraints = as_constraints(self._given("constraint"))
        populations = populations_of(constraints)
        estimator = self._given("estimator") or LogisticRegression()
        membership = self._given("membership") or estimator
        n_folds, max_rows, attributes = (self.getOrDefault(name) for name in ("numFolds", "maxRows", "attributes"))
        for part in (estimator, membership):
            check_has_probabilities(part)
        check_settings(
            self,
            {
                "numFolds": (n_folds >= 2, "at least 2"),
                "maxRows": (max_rows >= 1000, "at least 1000"),
                "attributes": (attributes in ATTRIBUTES, f"one of {', '.join(ATTRIBUTES)}"),
            },
        )
        features = features_of(estimator, membership)
        frame, groups = code_frame(dataset, self._columns(), constraints, features, attributes, self.getSeed())
        target = target_of(constraints[0])
        try:
            for constraint in constraints:
                check_comparable(constraint, groups.compared)
            stages, table = cross_fit(
                frame, frame.fold(n_folds), n_folds, estimator, membership, populations, target, max_rows
            )
        finally:
            frame.data.unpersist()
        mending = Mending()
        if self.getOrDefault("mend"):
            sample = as_sample(table, populations, groups)
            mending = Mending.found(sample.joint, sample.positive, sample.group.astype(int), sample.weight)
        return FrontierModel(stages, table, constraints, populations, groups, mending).at()

    def write(self) -> ObjectWriter:
        """Writes the estimator, the classifiers to train included."""
        return ObjectWriter(self)

    @classmethod
    def read(cls) -> ObjectReader:
        """Reads what :meth:`write` wrote."""
        return ObjectReader(cls)
