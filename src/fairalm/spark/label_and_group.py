"""Spark models of who has which label and group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from pyspark.ml.functions import vector_to_array
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairalm._validation import Groups
from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError
from fairalm.frontier.joint import Joint
from fairalm.frontier.rule import Rule
from fairalm.frontier.sample import Sample
from fairalm.spark.frame import CODE, WEIGHT, CodedFrame
from fairalm.spark.learner import FIT_WEIGHT, LABEL, check_takes_weights
from fairalm.spark.mending import Mending

MEMBER, SHARE = "fairalm_member", "fairalm_share"


@dataclass(frozen=True, eq=False)
class LabelAndGroupStages:
    """Models of the label and of the group, which together give P(label, group | x).

    Parameters
    ----------
    label : Spark ML model
        Of the label.
    members : dict of Spark ML models
        Of the group's code, one for each population.
    target : float
        The label whose probability is asked for.
    n_groups : int
        Groups.
    """

    label: Any
    members: Mapping[str, Any]
    target: float
    n_groups: int

    @classmethod
    def fitted(
        cls,
        data: DataFrame,
        estimator: Any,
        membership: Any,
        populations: Sequence[str],
        target: float,
        n_groups: int,
    ) -> LabelAndGroupStages:
        """Fit both kinds of models to coded rows."""
        is_target = F.col(CODE) >= n_groups
        label = F.when(is_target, target).otherwise(1.0 - target)
        group = F.pmod(F.col(CODE), F.lit(n_groups)).cast("double")
        within = {"target": is_target, "other": ~is_target, "everyone": F.lit(True)}
        members = {name: _fit(membership, data.where(within[name]), group) for name in populations}
        return cls(_fit(estimator, data, label), members, target, n_groups)

    def scored(self, data: DataFrame, mending: Mending | None = None) -> DataFrame:
        """Rows with the columns of the label's model, SHARE (of the target), and an array of shares per population."""
        for name, model in self.members.items():
            outputs = {"probabilityCol": "probability", "predictionCol": "prediction", "rawPredictionCol": "raw"}
            made = {key: f"{MEMBER}_{name}_{kind}" for key, kind in outputs.items() if model.hasParam(key)}
            data = model.transform(data, {model.getParam(key): column for key, column in made.items()})
            known = vector_to_array(F.col(made["probabilityCol"]))
            # a group whose code a model has not seen has no entry
            shares = (F.coalesce(F.try_element_at(known, F.lit(k + 1)), F.lit(0.0)) for k in range(self.n_groups))
            data = data.withColumn(f"{MEMBER}_{name}", F.array(*shares)).drop(*made.values())
        scored: DataFrame = self.label.transform(data)
        mending = mending or Mending()
        share = mending.target_share(vector_to_array(F.col(self.label.getProbabilityCol()))[int(self.target)])
        scored = scored.withColumn(SHARE, share)
        columns = {name: F.col(f"{MEMBER}_{name}") for name in self.members}
        mended = {
            f"{MEMBER}_{name}": mending.member_shares(name, column, F.col(SHARE), self.n_groups)
            for name, column in columns.items()
        }
        return scored.withColumns(mended)

    def margin(self, rule: Rule) -> Column:
        """The margin of :meth:`fairalm.frontier.rule.Rule.margins` in scored rows."""
        target = F.col(SHARE)
        share = {"target": target, "other": 1 - target, "everyone": F.lit(1.0)}
        margin = rule.cost_fp * (1 - target) - rule.cost_fn * target + rule.bias
        for name, weights in zip(rule.populations, rule.weights, strict=True):
            of_group = (F.col(f"{MEMBER}_{name}")[k] * float(weight) for k, weight in enumerate(weights) if weight)
            margin = margin + share[name] * reduce(lambda a, b: a + b, of_group, F.lit(0.0))
        return margin

    @property
    def own_columns(self) -> list[str]:
        """The columns of scored rows that are not the user's."""
        return [SHARE, *(f"{MEMBER}_{name}" for name in self.members)]


def _fit(estimator: Any, data: DataFrame, label: Column) -> Any:
    rows = data.withColumns({LABEL: label, FIT_WEIGHT: F.col(WEIGHT)})
    return estimator.fit(rows, {estimator.getParam("labelCol"): LABEL, estimator.getParam("weightCol"): FIT_WEIGHT})


def cross_fit(
    frame: CodedFrame,
    fold: Column,
    n_folds: int,
    estimator: Any,
    membership: Any,
    populations: Sequence[str],
    target: float,
    max_rows: int,
) -> tuple[LabelAndGroupStages, FloatArray]:
    """The model of all rows, and a table of at most about `max_rows` of them, scored out of fold.

    The table has the columns code, weight, P(target | x), and P(group | x, population) of each population.
    """
    n_groups, sample = frame.rows.cells.n_groups, frame.even_sample(max_rows)
    settings: Any = (estimator, membership, populations, target, n_groups)
    parts = []
    for k in range(n_folds):
        model = LabelAndGroupStages.fitted(frame.data.where(fold != k), *settings)
        scored = model.scored(sample.where(fold == k))
        columns = F.array(F.col(CODE).cast("double"), F.col(WEIGHT), F.col(SHARE))
        members = [F.col(f"{MEMBER}_{name}") for name in populations]
        parts += scored.select(F.concat(columns, *members)).collect()
    return LabelAndGroupStages.fitted(frame.data, *settings), np.array([row[0] for row in parts])


def as_sample(table: FloatArray, populations: Sequence[str], groups: Groups) -> Sample:
    """The table of :func:`cross_fit` as the frontier takes it, as the models gave it."""
    code, n_groups = table[:, 0].astype(np.int64), groups.n_groups
    members = {name: table[:, 3 + i * n_groups : 3 + (i + 1) * n_groups] for i, name in enumerate(populations)}
    target = table[:, 2]
    return Sample(Joint(target, members), target > 0.5, code >= n_groups, code % n_groups, groups, table[:, 1])


def check_has_probabilities(estimator: Any) -> None:
    """Refuse an estimator whose model has no probabilities."""
    check_takes_weights(estimator)
    if not estimator.hasParam("probabilityCol"):
        raise InputError(
            f"{type(estimator).__name__} has no probabilityCol, which the frontier is made of: choose one that has, for"
            " example LogisticRegression, RandomForestClassifier or GBTClassifier (for two groups)."
        )
