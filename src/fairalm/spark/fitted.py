"""A fitted Spark model with its threshold moved: the columns that it adds, and the margins that thresholds cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

MARGIN, PREDICTED = "fairalm_margin", "fairalm_predicted"
SMALLEST = 1e-12  # a probability closer to 0 or 1 is taken for this one, so that its log-odds are finite


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model that predicts the target where its margin is above `by`.

    Parameters
    ----------
    model : Spark ML classification model
        With two classes.
    target : float
        The label, 0 or 1, that margins speak of.
    by : float
        The threshold of the margin; 0 is the model as it is, ±inf makes it a constant.
    """

    model: Any
    target: float = 1.0
    by: float = 0.0

    def scored(self, data: DataFrame) -> DataFrame:
        """Rows with MARGIN, and PREDICTED: whether the model predicts the target."""
        if np.isinf(self.by):
            is_target = self.by < 0
            return data.withColumns({MARGIN: F.lit(1.0 if is_target else -1.0), PREDICTED: F.lit(is_target)})
        scored: DataFrame = self.model.transform(data)
        return scored.withColumns({MARGIN: self._margin(), PREDICTED: self._predicts_target()})

    def transform(self, data: DataFrame) -> DataFrame:
        """Rows with the columns that the model adds, all moved to the new threshold."""
        scored: DataFrame = self.model.transform(data)
        if self.by == 0:
            return scored
        second = self._margin() - F.lit(self.by)  # at ±inf the target's probability is 0 or 1
        if self.target == 0:
            second = -second
        moved = {self._column("predictionCol"): (second > 0).cast("double")}
        if name := self._column("probabilityCol"):
            share = 1 / (1 + F.exp(-second))
            moved[name] = array_to_vector(F.array(1 - share, share))
        if name := self._column("rawPredictionCol"):
            moved[name] = array_to_vector(F.array(-second, second))
        return scored.withColumns(moved)

    def _predicts_target(self) -> Column:
        return F.col(self._column("predictionCol")) == F.lit(self.target)

    def _margin(self) -> Column:
        """Log-odds of the target, else the raw prediction, else 1 and -1; above 0 where the target is predicted."""
        if name := self._column("probabilityCol"):
            second = vector_to_array(F.col(name))[1]
            share = F.least(F.greatest(second, F.lit(SMALLEST)), F.lit(1 - SMALLEST))
            margin = F.log(share / (1 - share))
        elif name := self._column("rawPredictionCol"):
            margin = vector_to_array(F.col(name))[1]
        else:
            return F.when(self._predicts_target(), 1.0).otherwise(-1.0)
        if self.target == 1:
            return margin
        return F.when(margin == 0, float(np.finfo(float).tiny)).otherwise(-margin)  # even odds go to the label 0

    def _column(self, name: str) -> str:
        """The name of an output column; empty if the model has none."""
        return str(self.model.getOrDefault(name)) if self.model.hasParam(name) else ""
