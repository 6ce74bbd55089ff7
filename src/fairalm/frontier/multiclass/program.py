"""The linear program behind every point of the frontier of several labels.

Each row is predicted as label k with probability ``h[k]``, and these sum to one. A prediction costs ``costs[k]`` and
adds to a few sums of its own label, which are bounded:

    minimise  costs · h   subject to   limits @ (sums of the rows' parts, each times its h) <= bounds
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.frontier.program import Solution


@dataclass(frozen=True, eq=False)
class LabelProgram:
    """A linear program over the predictions of all rows.

    Parameters
    ----------
    costs : array of shape (n, labels)
        What it costs to predict a row as each label.
    parts : sequence of arrays of shape (n, sums of the label)
        What that adds to the sums of each label; one without limits has none.
    limits, bounds : arrays of shape (m, sums) and (m,)
        ``limits @ sums <= bounds``, for the sums of all labels one after the other.
    """

    costs: FloatArray
    parts: Sequence[FloatArray]
    limits: FloatArray
    bounds: FloatArray

    @property
    def row(self) -> float:
        """The share of one row: what a mistake costs, about."""
        return 1 / max(len(self.costs), 1)

    @cached_property
    def places(self) -> list[slice]:
        """Where the sums of each label are."""
        ends = np.cumsum([0, *(part.shape[1] for part in self.parts)]).tolist()
        return [slice(*pair) for pair in itertools.pairwise(ends)]

    def margins(self, multipliers: FloatArray) -> FloatArray:
        """What predicting each row as each label costs, the limits' prices included: the least is the best."""
        return self.priced(multipliers @ self.limits)

    def priced(self, prices: FloatArray) -> FloatArray:
        """The margins, given the prices of the sums."""
        margins = self.costs.copy()
        for k, (part, place) in enumerate(zip(self.parts, self.places, strict=True)):
            if part.shape[1] and prices[place].any():
                margins[:, k] += part @ prices[place]
        return margins

    def sums(self, chosen: FloatArray) -> FloatArray:
        """The sums of predictions."""
        return np.concatenate([chosen[:, k] @ part for k, part in enumerate(self.parts)])

    def lower_bound(self, multipliers: FloatArray) -> float:
        """No predictions within the limits cost less, whatever the multipliers (at least 0)."""
        return float(self.margins(multipliers).min(axis=1).sum() - multipliers @ self.bounds)

    def excess(self, chosen: FloatArray) -> float:
        """By how much predictions exceed a limit."""
        return float((self.limits @ self.sums(chosen) - self.bounds).max(initial=0.0))

    def solution(self, multipliers: FloatArray, chosen: FloatArray) -> Solution:
        """These predictions, and what the multipliers prove of them."""
        value = float((self.costs * chosen).sum())
        return Solution(multipliers, chosen, value, self.lower_bound(multipliers), self.excess(chosen))


def one_hot(codes: np.typing.NDArray[np.integer], n_labels: int) -> FloatArray:
    """Certain predictions as probabilities."""
    return np.asarray(np.eye(n_labels)[codes])
