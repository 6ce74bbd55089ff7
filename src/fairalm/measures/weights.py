"""Weights of rows: how many people each row stands for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError
from fairalm.measures.totals import Totals

Sums = dict[str, FloatArray]  # per confusion count (tp, fp, tn, fn) and group


@dataclass(frozen=True, eq=False)
class WeightSums:
    """Sums of the weights in each confusion count and group, and of their squares.

    They are in units of the largest weight, so that equal weights count exactly as rows do; `unit` is that weight.
    """

    sums: Sums
    squares: Sums
    unit: float

    @classmethod
    def of(cls, totals: Totals, names: tuple[str, ...]) -> WeightSums:
        """From totals whose entries are the confusion counts `names` of the first group, then of the second, ..."""
        mantissa, exponent = math.frexp(totals.unit)
        units = (Fraction(totals.unit), Fraction(mantissa**2) * Fraction(4) ** exponent)  # the square rounded as theirs
        sums, squares = (
            dict(zip(names, np.array([float(part / unit) for part in parts]).reshape(-1, len(names)).T, strict=True))
            for parts, unit in zip((totals.sums, totals.squares), units, strict=True)
        )
        return cls(sums, squares, totals.unit)

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
    weight = weight_numbers(sample_weight, name)
    if weight.ndim != 1:
        raise InputError(f"{name} must be one column; got shape {weight.shape}.")
    if len(weight) != n_rows:
        raise InputError(f"{name} has {len(weight)} rows, the data has {n_rows}: pass one weight per row.")
    wrong = WrongWeights()
    wrong.add(weight)
    wrong.refuse(name)
    return weight


def weight_numbers(weight: Any, name: str) -> FloatArray:
    """Weights as an array of numbers that are not checked further; `name` says in the message what they are."""
    try:
        return np.asarray(weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: {error}.") from None


class WrongWeights:
    """Counts, batch by batch, the weights that say nothing about people."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, float]] = {}  # how many, and the first
        self._n_rows, self._is_zero = 0, True

    def add(self, weight: FloatArray) -> None:
        """Look at some more weights."""
        for what, wrong in (("missing or infinite", ~np.isfinite(weight)), ("negative", weight < 0)):
            if count := int(wrong.sum()):
                before, first = self._found.get(what, (0, float(weight[np.argmax(wrong)])))
                self._found[what] = before + count, first
        self._n_rows += len(weight)
        self._is_zero = self._is_zero and not weight.any()

    def refuse(self, name: str) -> None:
        """Refuse wrong weights, and those that are all zero; `name` says in the message what they are."""
        for what in ("missing or infinite", "negative"):
            if what in self._found:
                count, first = self._found[what]
                values = f"{count} {what} value{'s' * (count > 1)}, the first is {first}"
                raise InputError(f"{name} has {values}: a weight says how many people a row stands for.")
        if self._n_rows and self._is_zero:
            raise InputError(f"{name} is zero for every row: then there is nobody to measure.")
