"""The rows of one fit: features, labels, groups and weights, all checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from fairalm._validation import Groups
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.cells import Compared, Rows
from fairalm.constraints import Constraint
from fairalm.datasets import split

ENOUGH = 10  # rows of each cell to measure on, and as many to fit


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to fit on and to measure on.

    `heldout` says which rows are for measuring; None if the user did not choose them.
    """

    X: Any
    y: Any
    positive: BoolArray
    groups: Groups
    weight: FloatArray
    heldout: BoolArray | None

    @property
    def compared(self) -> Compared | None:
        """Which groups are compared, with several protected attributes."""
        return Compared(self.groups.membership, self.groups.blocks) if self.groups.attributes else None

    def part(self, index: IntArray) -> Table:
        """Some of the rows."""
        heldout = None if self.heldout is None else self.heldout[index]
        X, groups = _safe_indexing(self.X, index), self.groups.take(index)
        return replace(
            self,
            X=X,
            y=self.y[index],
            positive=self.positive[index],
            groups=groups,
            weight=self.weight[index],
            heldout=heldout,
        )

    def rows(self, constraint: Constraint, part: BoolArray | slice = slice(None)) -> Rows:
        """The rows by label and group, all or some."""
        positive, codes, weight = self.positive[part], self.groups.codes[part], self.weight[part]
        return constraint.rows(positive, codes, self.groups.n_groups, weight, self.compared)

    def with_heldout(self, size: float, rng: np.random.RandomState) -> Table:
        """Hold out a share of the rows, alike in label and group, unless the user chose them."""
        if self.heldout is not None:
            return self
        heldout = np.zeros(len(self.positive), dtype=bool)
        heldout[split(self.positive, self.groups.codes, test_size=size, random_state=rng)[1]] = True
        return replace(self, heldout=heldout)

    def has_enough(self, constraint: Constraint) -> bool:
        """Whether every cell has rows enough, among the held-out rows and among the others."""
        if self.heldout is None:
            return False
        return all(self.rows(constraint, part).sizes.min() >= ENOUGH for part in (self.heldout, ~self.heldout))
