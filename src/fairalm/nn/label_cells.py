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
from fairalm.moments import TINY, Array, Moments, at_least


@dataclass(frozen=True)
class LabelCells:
    """What a criterion makes of the sums over label × group.

    A batch is reduced to its *sums*: summed loss and people of every label × group, two rows in the order of the code
    ``2 * group + is_target``. Numerators and denominators of every cell are linear in them, and so is, at given means,
    the way back from the cells' weights to one weight per code.

    Parameters
    ----------
    gather : array of shape (2 × events × groups + 1, 4 × groups)
        Times the sums in one row: the numerators of the cells, their denominators, and all people.
    spread_top, spread_bottom : array of shape (2 × groups, events × groups)
        Slope of each cell's numerator and denominator by the margin of one person of each code, times minus or plus
        that person's slope of the loss: the loss falls with the target's lead where the label is the target.
    n_cells, n_groups : int
    is_fixed : bool
        Whether the denominators do not depend on the losses.
    """

    gather: Array
    spread_top: Array
    spread_bottom: Array
    n_cells: int
    n_groups: int
    is_fixed: bool

    @classmethod
    def of(cls, constraint: Constraint, n_groups: int) -> LabelCells:
        """Ask the criterion for its events, once for each label."""
        table = _coefficients(constraint, np.array([False, True]))
        again = _coefficients(constraint, np.array([True, True, False]))
        if not np.array_equal(again, table[..., [1, 1, 0]]):
            raise InputError(
                f"The events of {type(constraint).__name__} depend on more than a row's own label, which a mini-batch"
                " cannot tell: write them per row."
            )
        # from (events, labels) to (events × groups, groups × labels), each group with itself
        base, sign, over_base, over_sign = (
            np.einsum("el,gh->eghl", part, np.eye(n_groups)).reshape(-1, 2 * n_groups).astype(np.float32)
            for part in table
        )
        everyone = np.repeat([[0.0, 1.0]], 2 * n_groups, axis=1)
        gather = np.block([[sign, base], [over_sign, over_base], [everyone]]).astype(np.float32)
        away = np.tile(np.array([1.0, -1.0], dtype=np.float32), n_groups)[:, None]
        return cls(gather, away * sign.T, away * over_sign.T, len(sign), n_groups, not over_sign.any())

    def to(self, device: torch.device) -> LabelCells:
        """The same as tensors."""
        gather, top, bottom = (
            torch.tensor(part, device=device) for part in (self.gather, self.spread_top, self.spread_bottom)
        )
        return LabelCells(gather, top, bottom, self.n_cells, self.n_groups, self.is_fixed)

    def moments(self, sums: Array) -> Moments:
        """Means of the cells; 0 where a cell is empty, whose contrast is 0 too."""
        gathered, n = _times(self.gather, sums), self.n_cells
        bottom = gathered[n : 2 * n].reshape(-1, self.n_groups)
        divisors = at_least(bottom, TINY)
        moments = Moments(gathered[:n].reshape(-1, self.n_groups) / divisors, bottom, gathered[2 * n])
        moments.__dict__["divisors"] = divisors
        return moments

    def spread(self, weights: Array, moments: Moments) -> Array:
        """One weight per code: times the slope of a person's loss and 1/n of the batch, the gradient by the margin.

        It is the gradient of the weighted cell means at `moments`; each cell's count is taken as its share of all
        people seen, times the people of the batch.
        """
        each = weights * moments.total / moments.divisors
        spread = _times(self.spread_top, each)
        return spread if self.is_fixed else spread - _times(self.spread_bottom, each * moments.mu)


def _times(matrix: Array, table: Array) -> Array:
    """Of a table in one row; numpy's ``dot`` takes half the time of ``@`` on a small one."""
    flat = table.reshape(-1)
    return matrix.dot(flat) if isinstance(matrix, np.ndarray) else matrix @ flat


def _coefficients(constraint: Constraint, y: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Base, sign, over_base and over_sign of each event and label, 0 outside the event: shape (4, events, len(y))."""
    rows = []
    for event in constraint.events(y):
        over = (1.0, 0.0) if event.over_sign is None else (event.over_base, event.over_sign)
        inside = 1.0 if event.mask is None else event.mask
        rows.append([inside * np.ones(len(y)) * part for part in (event.base, event.sign, *over)])
    return np.array(rows).swapaxes(0, 1)


def label_sums(loss: Array, code: Array, n_groups: int) -> Any:
    """Summed loss and people per code ``2 * group + is_target``, shape (2, 2 × groups).

    numpy arrays are summed by numpy, tensors on their device and without a host sync.

    >>> label_sums(np.array([0.5, 0.25, 1.0]), np.array([0, 1, 1]), 2)
    array([[0.5 , 1.25, 0.  , 0.  ],
           [1.  , 2.  , 0.  , 0.  ]], dtype=float32)
    """
    size = 2 * n_groups
    if isinstance(loss, Tensor):
        return loss.new_zeros(2, size).index_add(1, code, torch.stack([loss, torch.ones_like(loss)]))
    sums = np.empty((2, size), dtype=np.float32)
    sums[0] = np.bincount(code, loss, size)
    sums[1] = np.bincount(code, None, size)
    return sums
