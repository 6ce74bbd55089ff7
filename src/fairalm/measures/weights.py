"""Weights of rows: how many people each row stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError

Sums = dict[str, FloatArray]  # per confusion count (tp, fp, tn, fn) and group


@dataclass(frozen=True, eq=False)
class WeightSums:
    """Sums of the weights in each confusion count and group, and of their squares.

    They are in units of the largest weight, so that equal weights count exactly as rows do; `unit` is that weight.
    """

    sums: Sums
    squares: Sums
    unit: float

    def map(self, change: Callable[[FloatArray], FloatArray]) -> WeightSums:
        """The same with every array changed."""
        sums, squares = ({name: change(part) for name, part in table.items()} for table in (self.sums, self.squares))
        return WeightSums(sums, squares, self.unit)

    def rate(self, above: tuple[str, ...], below: tuple[str, ...]) -> FloatArray:
        """The weighted rate per group, sum(w h) / sum(w), of the counts above over those below; NaN without rows."""
        total = _sum(self.sums, below)
        return np.asarray(_sum(self.sums, above) / np.where(total > 0, total, np.nan))

    def effective(self, above: tuple[str, ...], below: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
        """That rate as k out of n people of equal weight, where n is Kish's effective size; 0 out of 0 without rows.

        The size is ``(sum of w)^2 / (sum of w^2)``: the number of rows if all weights of the cell are equal, and fewer
        if they are not.
        """
        total, squares = _sum(self.sums, below), _sum(self.squares, below)
        scale = total / np.where(squares > 0, squares, 1.0)
        return _sum(self.sums, above) * scale, total * scale


def _sum(table: Sums, names: tuple[str, ...]) -> FloatArray:
    return np.asarray(np.sum([table[name] for name in names], axis=0))


def check_weights(sample_weight: Any, n_rows: int, name: str = "`sample_weight`") -> FloatArray:
    """Weights as an array, one per row: numbers of at least 0, not all of them 0.

    >>> check_weights([1, -2], 2)
    Traceback (most recent call last):
    ...
    fairalm.exceptions.InputError: `sample_weight` has 1 negative value, the first is -2.0: a weight says how many\
 people a row stands for.
    """
    try:
        weight = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: {error}.") from None
    if weight.ndim != 1:
        raise InputError(f"{name} must be one column; got shape {weight.shape}.")
    if len(weight) != n_rows:
        raise InputError(f"{name} has {len(weight)} rows, the data has {n_rows}: pass one weight per row.")
    for what, wrong in (("missing or infinite", ~np.isfinite(weight)), ("negative", weight < 0)):
        if count := int(wrong.sum()):
            values = f"{count} {what} value{'s' * (count > 1)}, the first is {weight[np.argmax(wrong)]}"
            raise InputError(f"{name} has {values}: a weight says how many people a row stands for.")
    if n_rows and not weight.any():
        raise InputError(f"{name} is zero for every row: then there is nobody to measure.")
    return weight
