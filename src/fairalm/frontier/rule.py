"""The rule of one point of the frontier: which rows to predict as the target, from a small table of weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairalm.arrays import BoolArray, FloatArray
from fairalm.frontier.joint import Joint

TIE = 1e-5  # margins this close to 0 are ties: the program is solved no more exactly


@dataclass(frozen=True, eq=False)
class Rule:
    """Predict the target where that costs less than 0, the limits' prices included.

    Parameters
    ----------
    populations : tuple of str
        Whose probabilities are weighed: "target", "other", "everyone".
    weights : array of shape (populations, groups)
        What it costs to predict the target for a row that belongs there for certain, beyond the cost of a mistake.
    cost_fp, cost_fn : float
        Costs of mistakes.
    bias : float
        What it costs to predict the target for any row: the price of a fixed share of acceptances.
    threshold : float
        Margins below this are predicted as the target: 0, or a little more or less to decide ties.
    """

    populations: tuple[str, ...]
    weights: FloatArray
    cost_fp: float = 1.0
    cost_fn: float = 1.0
    bias: float = 0.0
    threshold: float = 0.0

    def margins(self, joint: Joint) -> FloatArray:
        """What predicting the target costs for each row, less what not predicting it costs."""
        margins = self.cost_fp * (1 - joint.target) - self.cost_fn * joint.target + self.bias
        for population, weights in zip(self.populations, self.weights, strict=True):
            if weights.any():
                margins = margins + joint.part(population) @ weights
        return np.asarray(margins)

    def predict(self, joint: Joint) -> BoolArray:
        """Which rows are predicted as the target."""
        return np.asarray(self.margins(joint) < self.threshold)
