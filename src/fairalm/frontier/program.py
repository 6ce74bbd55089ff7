"""The linear program behind every point of the frontier.

Each row of data is predicted as the target with probability ``h`` in [0, 1]. A prediction costs ``costs`` and adds to a
few sums, which are bounded:

    minimise  costs · h   subject to   limits @ (sums of the rows' parts, each times h) <= bounds
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairalm.arrays import BoolArray, FloatArray

ACCURACY = 1e-6  # of the error and of the rates, as shares
ROOM = 1e-6  # by which each limit is loosened: two that leave nothing between them have multipliers without bound
MET = 1e-4  # limits that are exceeded by less are met


@dataclass(frozen=True, eq=False)
class Program:
    """A linear program over the predictions of all rows.

    Parameters
    ----------
    costs : array of shape (n,)
        What it costs to predict a row as the target.
    parts : array of shape (n, sums)
        What that adds to each sum.
    limits, bounds : arrays of shape (m, sums) and (m,)
        ``limits @ sums <= bounds``.
    share : float, optional
        Of one row among all rows, of which these may be a part; ``1 / n`` if left out.
    """

    costs: FloatArray
    parts: FloatArray
    limits: FloatArray
    bounds: FloatArray
    share: float | None = None

    @property
    def row(self) -> float:
        """The share of one row: what a mistake costs, about."""
        return 1 / max(len(self.costs), 1) if self.share is None else self.share

    def margins(self, multipliers: FloatArray) -> FloatArray:
        """What predicting each row as the target costs, the limits' prices included: below 0 where it pays."""
        return np.asarray(self.costs + self.parts @ (multipliers @ self.limits))

    def lower_bound(self, multipliers: FloatArray) -> float:
        """No predictions within the limits cost less, whatever the multipliers (at least 0)."""
        return float(np.minimum(self.margins(multipliers), 0.0).sum() - multipliers @ self.bounds)

    def excess(self, chosen: FloatArray) -> float:
        """By how much predictions exceed a limit."""
        return float((self.limits @ (chosen @ self.parts) - self.bounds).max(initial=0.0))

    def remaining(self, free: BoolArray, fixed: FloatArray) -> Program:
        """The program over the `free` rows, the others being predicted as `fixed` says."""
        bounds = self.bounds - self.limits @ (fixed @ self.parts)
        return Program(self.costs[free], self.parts[free], self.limits, bounds, self.row)

    def solution(self, multipliers: FloatArray, chosen: FloatArray) -> Solution:
        """These predictions, and what the multipliers prove of them."""
        value, bound = float(self.costs @ chosen), self.lower_bound(multipliers)
        return Solution(multipliers, chosen, value, bound, self.excess(chosen))


@dataclass(frozen=True, eq=False)
class Solution:
    """The best predictions, and what proves it.

    Parameters
    ----------
    multipliers : array of shape (m,)
        What it would save to loosen each limit by one.
    chosen : array of shape (n,)
        Probability of predicting each row as the target: 0 or 1 but for ties.
    value, bound : float
        What these predictions cost, and what no predictions within the limits can be below.
    excess : float
        By how much they exceed a limit: next to 0, unless the limits contradict each other.
    """

    multipliers: FloatArray
    chosen: FloatArray
    value: float
    bound: float
    excess: float

    @property
    def is_feasible(self) -> bool:
        """Whether the limits can be met together."""
        return self.excess < MET
