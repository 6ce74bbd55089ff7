"""What moving a classifier's threshold does to its errors and cells: further candidates that need no fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.cells import Rows

SHIFTS = 100  # thresholds tried per classifier


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
        """Thresholds at the quantiles of the margins.

        >>> from fairalm import EqualOpportunity
        >>> rows = EqualOpportunity().rows([1, 0, 1, 0], np.array([0, 0, 1, 1]), n_groups=2)
        >>> shifts = Shifts.of(rows, np.array([2.0, 1.0, -1.0, -2.0]), n=1)
        >>> shifts.by.tolist(), shifts.wrong.sum((1, 2)).tolist()
        ([-inf, 0.0, inf], [2.0, 2.0, 2.0])
        """
        inner = np.unique(np.quantile(margin, np.arange(1, n + 1) / (n + 1)))
        place = np.searchsorted(inner, margin)  # the thresholds below the margin
        size = 2 * rows.cells.n_groups
        table = np.bincount(place * size + rows.code, rows.weight, minlength=(len(inner) + 1) * size)
        missed = np.vstack([np.zeros(size), np.cumsum(table.reshape(-1, size), axis=0)])
        wrong = missed.reshape(len(missed), 2, -1)
        wrong[:, 0] = rows.counts[0] - wrong[:, 0]  # rows without the target label are wrong where they are selected
        return cls(np.concatenate([[-np.inf], inner, [np.inf]]), wrong)
