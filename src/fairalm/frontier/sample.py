"""Rows with known labels and groups, and what models that have not seen them say of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairalm._validation import Groups
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.cells import Cells, Compared
from fairalm.constraints import TOO_FEW
from fairalm.frontier.joint import Joint


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows with known labels and groups, and what models that have not seen them say of them.

    Parameters
    ----------
    joint : Joint
        Out-of-fold probabilities.
    plain : bool array of shape (n,)
        Which rows the plain model predicts as the target, out of fold.
    positive : bool array of shape (n,)
        Which rows have the target label.
    group : int array of shape (n,), or array of shape (n, groups)
        Group codes, or the probability of each group.
    groups : Groups
        The names of the groups.
    weight : array of shape (n,)
        How many people each row stands for.
    unknown, unknown_weight : Joint, array, optional
        The same of further rows whose group is not known: they count for a share of acceptances only.
    """

    joint: Joint
    plain: BoolArray
    positive: BoolArray
    group: IntArray | FloatArray
    groups: Groups
    weight: FloatArray
    unknown: Joint | None = None
    unknown_weight: FloatArray | None = None

    @property
    def n_groups(self) -> int:
        """Groups that have probabilities; those that are compared can be others."""
        return self.groups.n_groups

    @property
    def compared(self) -> Compared | None:
        """With several protected attributes: which groups belong to which compared one."""
        return Compared(self.groups.membership, self.groups.blocks) if self.groups.attributes else None

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many of the compared groups each attribute has; () for one attribute."""
        return self.groups.blocks if self.groups.attributes else ()

    def sums(self, values: FloatArray, rows: IntArray | slice = slice(None)) -> FloatArray:
        """Sums of the values of some rows by label and group, shape (2, groups)."""
        positive, group = self.positive[rows], self.group[rows]
        if group.ndim == 2:
            return np.stack([(values * (positive == label)) @ group for label in (False, True)])
        code = group + self.n_groups * positive
        return np.asarray(np.bincount(code, values, minlength=2 * self.n_groups), dtype=float).reshape(2, -1)

    @cached_property
    def counts(self) -> FloatArray:
        """Sums of the weights by label and group."""
        return self.sums(self.weight)

    @cached_property
    def squares(self) -> FloatArray:
        """Sums of the squared weights by label and group."""
        return self.sums(self.weight**2)

    def sizes(self, cells: Cells) -> FloatArray:
        """Kish's effective sizes of the cells, shape (events, groups)."""
        sums, squares = (cells.means(np.vstack([table, table]))[1] for table in (self.counts, self.squares))
        return np.asarray(sums**2 / squares)

    def observed(self, cells: Cells, accepted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Observed rates and their sampling variances, shapes (events, groups).

        `accepted` has the weights of the rows predicted as the target, by label and group. A rate of too few rows tells
        nothing: its variance is infinite.
        """
        losses = np.stack([accepted[0], self.counts[1] - accepted[1]])
        rates, n = cells.means(np.vstack([self.counts, losses]))[0], self.sizes(cells)
        smooth = (n * rates + 1) / (n + 2)  # none out of three is not certainty
        return rates, np.where(n < TOO_FEW, np.inf, smooth * (1 - smooth) / n)

    def correction(self, cells: Cells, estimated: FloatArray, accepted: FloatArray) -> FloatArray:
        """By how much observed rates correct the estimated ones, as far as chance allows; arguments as above.

        A difference that could be chance is shrunk: by half if it is as large as one standard error.
        """
        observed, variance = self.observed(cells, accepted)
        return np.asarray((observed - estimated) ** 3 / ((observed - estimated) ** 2 + variance))
