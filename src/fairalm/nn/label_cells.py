"""A criterion's cells as linear maps of sums over label × group, which is all a batch is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.moments import Array, Moments


@dataclass(frozen=True)
class LabelCells:
    """What a criterion makes of the sums over label × group.

    A batch is reduced to four numbers per group, the rows of its *sums*: loss of the other labels, loss of the target,
    people of the other labels, people with the target. Numerators and denominators of every cell are linear in them,
    and so is, at given means, the way back from the cells' weights to one weight per label × group.

    Parameters
    ----------
    both : array of shape (2 × events, 4)
        Times the sums: the numerators of the cells, then their denominators.
    is_fixed : bool
        Whether the denominators do not depend on the losses.
    """

    both: Array
    is_fixed: bool

    @classmethod
    def of(cls, constraint: Constraint) -> LabelCells:
        """Ask the criterion for its events, once for each label."""
        table = _coefficients(constraint, np.array([False, True]))
        again = _coefficients(constraint, np.array([True, True, False]))
        if not np.array_equal(again, table[..., [1, 1, 0]]):
            raise InputError(
                f"The events of {type(constraint).__name__} depend on more than a row's own label, which a mini-batch"
                " cannot tell: write them per row."
            )
        base, sign, over_base, over_sign = table
        both = np.block([[sign, base], [over_sign, over_base]]).astype(np.float32)
        return cls(both, not over_sign.any())

    def to(self, device: torch.device) -> LabelCells:
        """The same as tensors."""
        return LabelCells(torch.tensor(self.both, device=device), self.is_fixed)

    def moments(self, sums: Array) -> Moments:
        """Means of the cells; 0 where a cell is empty, whose contrast is 0 too."""
        both, events = self.both @ sums, len(self.both) // 2
        top, bottom = both[:events], both[events:]
        return Moments(top / (bottom + (bottom <= 0)), bottom, sums[2:].sum())

    def spread(self, weights: Array, moments: Moments, n: Array | float) -> Array:
        """One weight per label × group, shape (2, groups), for the sum of a batch's losses.

        It has the gradient of the weighted cell means at `moments`; each cell's count is taken as its share of all
        people seen, times the `n` of the batch.
        """
        counts, events = moments.counts, len(self.both) // 2
        each = weights / (counts + (counts <= 0)) * (moments.total / n)
        spread = self.both[:events, :2].T @ each
        return spread if self.is_fixed else spread - self.both[events:, :2].T @ (each * moments.mu)


def _coefficients(constraint: Constraint, y: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Base, sign, over_base and over_sign of each event and label, 0 outside the event: shape (4, events, len(y))."""
    rows = []
    for event in constraint.events(y):
        over = (1.0, 0.0) if event.over_sign is None else (event.over_base, event.over_sign)
        inside = 1.0 if event.mask is None else event.mask
        rows.append([inside * np.ones(len(y)) * part for part in (event.base, event.sign, *over)])
    return np.array(rows).swapaxes(0, 1)


def label_sums(loss: Array, code: Array, n_groups: int) -> Any:
    """The four sums of each group, from one loss and one ``2 * group + is_target`` per row.

    numpy arrays are summed by numpy, tensors on their device and without a host sync.

    >>> label_sums(np.array([0.5, 0.25, 1.0]), np.array([0, 1, 1]), 2)
    array([[0.5 , 0.  ],
           [1.25, 0.  ],
           [1.  , 0.  ],
           [2.  , 0.  ]], dtype=float32)
    """
    size = 2 * n_groups
    if isinstance(loss, Tensor):
        pair = torch.stack([loss, torch.ones_like(loss)])
        return loss.new_zeros(2, size).index_add(1, code, pair).view(2, n_groups, 2).mT.reshape(4, n_groups)
    sums = np.empty((2, 2, n_groups), dtype=np.float32)
    sums[0] = np.bincount(code, loss, size).reshape(n_groups, 2).T
    sums[1] = np.bincount(code, None, size).reshape(n_groups, 2).T
    return sums.reshape(4, n_groups)
