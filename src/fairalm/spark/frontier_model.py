"""A point of the frontier as a Spark model, which can be asked for the other points."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairalm._validation import Attribute, Groups
from fairalm.arrays import FloatArray
from fairalm.constraints import Constraint
from fairalm.frontier.rule import Rule
from fairalm.frontier.table import baseline_table
from fairalm.frontier.trade_off import TradeOff
from fairalm.spark.label_and_group import LabelAndGroupStages, as_sample
from fairalm.spark.mending import Mending
from fairalm.spark.params import from_plain, to_plain


class FrontierModel(Model, MLReadable["FrontierModel"], MLWritable):
    """Predicts by a small table of weights over P(label, group | x); made by :class:`FrontierEstimator`.

    It adds the columns of the label's model. The prediction is that of the rule and the raw prediction its margin;
    the probability stays P(label | x), so it does not tell the prediction.

    Attributes
    ----------
    stages : LabelAndGroupStages
        The models of label and group.
    mending : Mending
        What mends their probabilities, where that pays.
    rule : Rule
        The table of weights.
    error, gap : float
        Out of fold, on the driver's sample of rows: share of wrong predictions, and largest difference between groups.
    figures : dict
        The same with intervals, the rates of every group, and the certificate.
    groups : tuple of str
        The groups that are compared.
    """

    def __init__(
        self,
        stages: LabelAndGroupStages,
        table: FloatArray,
        constraints: Sequence[Constraint],
        populations: Sequence[str],
        groups: Groups,
        mending: Mending,
    ) -> None:
        super().__init__()
        self.stages, self.constraints, self.populations = stages, tuple(constraints), tuple(populations)
        self._table, self._groups = table, dataclasses.replace(groups, codes=np.empty(0, dtype=np.int64))
        self.mending, self.rule = mending, Rule((), np.empty((0, 0)))
        self.figures: dict[str, Any] = {}

    @property
    def error(self) -> float:
        """Share of wrong predictions, out of fold."""
        return float(self.figures["error"])

    @property
    def gap(self) -> float:
        """Largest difference between two groups, out of fold."""
        return float(self.figures["gap"])

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that are compared."""
        return self._groups.compared

    @cached_property
    def _trade_off(self) -> TradeOff:
        sample = as_sample(self._table, self.populations, self._groups)
        sample = dataclasses.replace(sample, joint=self.mending.joint(sample.joint))
        return TradeOff.of(sample, self.constraints, self.stages.target)

    @property
    def frontier(self) -> pd.DataFrame:
        """One row per tolerance: error, gap and rates of every group out of fold, intervals, and the certificate."""
        return self._trade_off.table

    @property
    def baselines(self) -> pd.DataFrame:
        """The same figures of the plain model and of the two constants."""
        return baseline_table(self.constraints, self._trade_off.sample)

    def at(self, **asked: Any) -> FrontierModel:
        """The model of another point, without another fit.

        Parameters
        ----------
        **asked
            `tol`, `ratio`, `constraint`, `acceptance`, `cost_fp`, `cost_fn` and `floor`, as in
            :meth:`fairalm.FrontierClassifier.at`; without any, the constraint that was fitted.
        """
        point = self._trade_off.at(**asked)
        model = copy.copy(self)
        model.rule = point.rule
        model.figures = self._trade_off.figures_of(point)
        return model

    def _transform(self, dataset: DataFrame) -> DataFrame:
        label, second = self.stages.label, self.rule.threshold - self.stages.margin(self.rule)
        if self.stages.target == 0:
            second = -second
        is_second = second > 0 if self.stages.target == 1 else second >= 0
        added = {label.getPredictionCol(): is_second.cast("double")}
        if label.hasParam("rawPredictionCol"):
            added[label.getRawPredictionCol()] = array_to_vector(F.array(-second, second))
        return self.stages.scored(dataset, self.mending).withColumns(added).drop(*self.stages.own_columns)

    def write(self) -> MLWriter:
        """Writes the model, and the rows that further points are solved on."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[FrontierModel]:
        """Reads what :meth:`write` wrote."""
        return _Reader()


class _Writer(MLWriter):
    def __init__(self, instance: FrontierModel) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        model, spark = self.instance, self.sparkSession
        rule = dataclasses.asdict(model.rule) | {"weights": model.rule.weights.tolist()}
        attributes = [(part.name, part.labels, part.of.tolist()) for part in model._groups.attributes]
        extra = {
            "rule": rule,
            "mending": model.mending.to_plain(),
            "figures": {name: None if value is None else float(value) for name, value in model.figures.items()},
            "constraints": to_plain(model.constraints),
            "populations": model.populations,
            "groups": {"labels": model._groups.labels, "attributes": attributes},
            "target": model.stages.target,
        }
        DefaultParamsWriter.saveMetadata(model, path, spark, extra)
        model.stages.label.save(f"{path}/label")
        for name, member in model.stages.members.items():
            member.save(f"{path}/member-{name}")
        rows = spark.createDataFrame([(row,) for row in model._table.tolist()], "value array<double>")
        rows.coalesce(1).write.parquet(f"{path}/rows")


class _Reader(MLReader[FrontierModel]):
    def load(self, path: str) -> FrontierModel:
        spark = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, spark)
        kept = metadata["groups"]
        attributes = tuple(Attribute(name, tuple(labels), np.array(of)) for name, labels, of in kept["attributes"])
        labels = tuple(tuple(label) if isinstance(label, list) else label for label in kept["labels"])
        groups = Groups(np.empty(0, dtype=np.int64), labels, attributes)
        label: Any = DefaultParamsReader.loadParamsInstance(f"{path}/label", spark)
        populations = metadata["populations"]
        members: dict[str, Any] = {
            name: DefaultParamsReader.loadParamsInstance(f"{path}/member-{name}", spark) for name in populations
        }
        stages = LabelAndGroupStages(label, members, metadata["target"], groups.n_groups)
        table = np.array([row[0] for row in spark.read.parquet(f"{path}/rows").collect()])
        mending = Mending.from_plain(metadata["mending"])
        model = FrontierModel(stages, table, from_plain(metadata["constraints"]), populations, groups, mending)
        rule = metadata["rule"]
        model.rule = Rule(**rule | {"populations": tuple(rule["populations"]), "weights": np.array(rule["weights"])})
        model.figures = metadata["figures"]
        model._resetUid(metadata["uid"])
        return model
