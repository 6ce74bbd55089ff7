"""The rows that a point of the frontier decides on, and what all others add: their predictions are settled."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.frontier.program import Program
from fairalm.frontier.sample import Sample

MUCH = 1.5  # times as far is much further
ROUNDING = 1e-9  # margins below minus this are below 0, however they are rounded


@dataclass(frozen=True, eq=False)
class Totals:
    """What predictions add up to over rows."""

    cost: float
    sums: FloatArray
    accepted: FloatArray  # weights of the rows predicted as the target, by label and group

    def plus(self, other: Totals, times: float = 1.0) -> Totals:
        """Both together, or with `times` -1 their difference."""
        return Totals(
            self.cost + times * other.cost,
            self.sums + times * other.sums,
            self.accepted + times * other.accepted,
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to decide on.

    Parameters
    ----------
    sample : Sample
        All rows.
    index : int array or slice
        Which of them are to be decided on.
    costs, parts : arrays of shape (n,) and (n, sums)
        Theirs in the program.
    share : array of shape (n,), or float
        Of each row in the weight of all; one number if all weigh the same.
    settled : Totals
        What the others add.
    """

    sample: Sample
    index: IntArray | slice
    costs: FloatArray
    parts: FloatArray
    share: FloatArray | float
    settled: Totals

    @classmethod
    def all_of(cls, sample: Sample, costs: FloatArray, parts: FloatArray, share: FloatArray | float) -> Rows:
        """All rows of a sample: nothing is settled."""
        nothing = Totals(0.0, np.zeros(parts.shape[1]), np.zeros((2, sample.n_groups)))
        return cls(sample, slice(None), costs, parts, share, nothing)

    @property
    def weight(self) -> FloatArray:
        """Of each row."""
        return self.sample.weight[self.index]

    def totals(self, chosen: FloatArray | BoolArray) -> Totals:
        """Of all rows, those that are settled included."""
        chosen = np.asarray(chosen, dtype=float)
        accepted = self.sample.sums(self.weight * chosen, self.index)
        return self.settled.plus(Totals(float(self.costs @ chosen), chosen @ self.parts, accepted))

    def surely_chosen(self, margins: FloatArray) -> BoolArray:
        """Which rows have margins below 0 however they are rounded."""
        return np.asarray(margins < -ROUNDING * self.share)

    def part(self, index: IntArray, prices: FloatArray, totals: Totals) -> Rows:
        """Some of these rows, the others being settled by the prices; `totals` are those of all rows surely chosen."""
        share = self.share if isinstance(self.share, float) else self.share[index]
        rows = Rows(self.sample, index, self.costs[index], self.parts[index], share, self.settled)
        own = rows.totals(rows.surely_chosen(rows.costs + rows.parts @ prices))
        return replace(rows, settled=totals.plus(own, -1.0))

    def program(self, limits: FloatArray, bounds: FloatArray) -> Program:
        """The program over these rows."""
        share = 1 / len(self.sample.weight)
        return Program(self.costs, self.parts, limits, bounds - limits @ self.settled.sums, share)


class Doubtful:
    """Rows whose prediction may differ from that at a neighbouring point; all others are settled as they are there.

    Parameters
    ----------
    everything : Rows
        All rows.
    rough : array of shape (n, 1 + sums)
        Their costs and parts in units of their shares, in half the precision: enough to tell rows far from a tie.
    prices, totals : array, Totals
        The prices of the sums at the neighbour, and the totals of the rows that are surely chosen at these.
    reach : float
        How far margins move from there, as a guess: rows nearer to a tie than this are in doubt.
    """

    def __init__(self, everything: Rows, rough: FloatArray, prices: FloatArray, totals: Totals, reach: float) -> None:
        self.everything, self.rough, self.reach = everything, rough, reach
        self._prices, self._totals = prices, totals
        self._margins = self._margins_at(prices)
        self._is_in = abs(self._margins) < reach
        self._furthest = reach
        self.rows = self._gathered()

    def grow(self, prices: FloatArray, *, surely: bool = True) -> bool:
        """Add the rows that are predicted otherwise at new prices, and those near a tie there; False if none is.

        Unless it must be `surely` so, prices that lie not much further from the neighbour's than some for which rows
        were looked at are taken to change none.
        """
        n_groups = self.everything.sample.n_groups
        apart = float(abs(prices - self._prices).reshape(-1, n_groups).max(axis=1).sum())  # no margin moves further
        if self.rows is self.everything or apart <= (self.reach if surely else MUCH * self._furthest):
            return False
        self._furthest = max(self._furthest, apart)
        margins = self._margins_at(prices)
        other = ((margins < 0) != (self._margins < 0)) & ~self._is_in
        if not other.any():
            return False
        self._is_in |= other | (abs(margins) < self.reach)
        self.rows = self._gathered()
        return True

    def take_all(self) -> None:
        """Every row is in doubt."""
        self.rows = self.everything

    def _margins_at(self, prices: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):  # BLAS may report values beside the ones it was given
            return np.asarray(self.rough @ np.append(1.0, prices).astype(self.rough.dtype))

    def _gathered(self) -> Rows:
        index = np.flatnonzero(self._is_in)
        if 2 * len(index) > len(self._is_in):
            return self.everything
        return self.everything.part(index, self._prices, self._totals)
