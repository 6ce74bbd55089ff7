"""The rule of one point of the frontier of several labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairalm.arrays import FloatArray, IntArray
from fairalm.frontier.joint import Joint


@dataclass(frozen=True, eq=False)
class LabelRule:
    """Predict the label that costs least, the limits' prices included.

    Parameters
    ----------
    populations : tuple of str
        Whose probabilities are weighed: "target", "other", "everyone", where each label is the target in its turn.
    weights : array of shape (labels, populations, groups)
        What it costs to predict a label for a row that belongs there for certain, beyond the cost of a mistake.
    costs : array of shape (labels, labels)
        What it costs to predict a label (second axis) where another one (first axis) is right.
    bias : array of shape (labels,)
        What it costs to predict a label for any row: 0, or a little more or less to decide ties.
    """

    populations: tuple[str, ...]
    weights: FloatArray
    costs: FloatArray
    bias: FloatArray

    def margins(self, joint: Joint) -> FloatArray:
        """What predicting each label costs for each row, shape (n, labels)."""
        margins = joint.target @ self.costs + self.bias
        for k, weights in enumerate(self.weights):
            own = [name for name, row in zip(self.populations, weights, strict=True) if row.any()]
            binary = joint.against_rest(k, own)
            for name in own:
                margins[:, k] += binary.part(name) @ weights[self.populations.index(name)]
        return np.asarray(margins)

    def predict(self, joint: Joint) -> IntArray:
        """Codes of the labels that are predicted."""
        return np.asarray(self.margins(joint).argmin(axis=1))
