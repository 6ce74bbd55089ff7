"""What moving a classifier's threshold does to its errors and cells: further candidates that need no fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairalm.arrays import FloatArray, IntArray
from fairalm.cells import CountedRows, Rows

SHIFTS = 100  # thresholds tried per classifier
SAMPLED = 20_000  # rows that the thresholds are chosen by, where their margins are all different
DISTINCT = 1e-9  # of the range of the margins: rows that are closer together are not told apart


@dataclass(frozen=True, eq=False)
class Shifts:
    """A classifier under several thresholds; the first predicts the target for every row, the last for none.

    Parameters
    ----------
    by : array of shape (n,)
        A row is predicted as the target if its margin is above this; 0 is the classifier as it is.
    wrong : array of shape (n, 2, groups)
        Weight of the wrongly predicted rows by label and group.
    """

    by: FloatArray
    wrong: FloatArray

    @classmethod
    def of(cls, rows: Rows, margin: FloatArray, n: int = SHIFTS) -> Shifts:
        """Thresholds at the quantiles of the margins, and at both ends.

        >>> from fairalm import EqualOpportunity
        >>> rows = EqualOpportunity().rows([1, 0, 1, 0], np.array([0, 0, 1, 1]), n_groups=2)
        >>> shifts = Shifts.of(rows, np.array([3.0, 2.0, -1.0, -2.0]), n=1)
        >>> shifts.by.tolist(), shifts.wrong.sum((1, 2)).tolist()
        ([-inf, 0.5, inf], [2.0, 2.0, 2.0])
        """
        inner = thresholds(margin, rows.weight, n)
        place = np.searchsorted(inner, margin)  # the thresholds below the margin
        size = 2 * rows.cells.n_groups
        place *= size
        place += rows.code
        table = np.bincount(place, rows.weight, minlength=(len(inner) + 1) * size)
        return cls.counted(rows, inner, np.asarray(table, dtype=float).reshape(-1, 2, rows.cells.n_groups))

    @classmethod
    def counted(cls, rows: CountedRows, inner: FloatArray, table: FloatArray) -> Shifts:
        """From the weight of the rows in each interval between the thresholds, shape (thresholds + 1, 2, groups)."""
        above = np.cumsum(table[::-1], axis=0)[::-1]
        selected = np.concatenate([above, np.zeros_like(table[:1])])  # exactly 0 where nobody is
        wrong = np.stack([selected[:, 0], rows.counts[1] - selected[:, 1]], axis=1)
        return cls(np.concatenate([[-np.inf], inner, [np.inf]]), wrong)


def thresholds(margin: FloatArray, weight: FloatArray, n: int = SHIFTS) -> FloatArray:
    """At most `n` thresholds, each half-way between two rows, so that it does not matter who wins a tie; none is 0."""
    every = len(margin) // SAMPLED + 1
    values, below, places = _sorted(margin[::every], weight[::every])
    if every > 1 and len(places) < len(values) / 2:  # many rows have the same margin: a midpoint may be one, too
        values, below, places = _sorted(margin, weight)
    chosen = np.unique(np.searchsorted(below[places], below[-1] * np.arange(1, n + 1) / (n + 1)))
    places = places[chosen[chosen < len(places)]]
    inner = (values[places] + values[places + 1]) / 2
    return np.asarray(inner[inner != 0])


def _sorted(margin: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """The margins in order, the weight up to each, and after which of them there is room for a threshold."""
    order = np.argsort(margin)
    values = margin[order]
    places = np.flatnonzero(np.diff(values) > DISTINCT * (values[-1] - values[0]))
    return values, np.cumsum(weight[order]), places
