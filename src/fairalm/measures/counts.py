"""How many rows have each label, prediction and protected values: all that the measures need to know of a table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from fairalm._validation import Attributes, Groups, Missing, check_choice, encode_groups
from fairalm.arrays import FloatArray, IntArray
from fairalm.exceptions import InputError
from fairalm.measures.rates import GroupRates, binarize, count
from fairalm.measures.totals import Totals
from fairalm.measures.weights import WrongWeights, weight_numbers

Column = tuple[IntArray, Sequence[Hashable]]  # the place of each row's value among the distinct ones; -1 if missing


@dataclass(frozen=True, eq=False)
class Counts:
    """A table of counts: one line per combination of values that occurs.

    Examples
    --------
    >>> table = pd.DataFrame({"paid": [1, 0, 1], "granted": [1, 0, 0], "sex": ["F", "F", "M"]})
    >>> counts = Counts(table, np.array([60, 20, 40]), "paid", "granted", ("sex",))
    >>> counts.rates(counts.groups(), 1).value("tpr").tolist()
    [1.0, 0.0]
    """

    table: pd.DataFrame  # the columns of the label, of the prediction and of the protected attributes
    rows: IntArray  # how many rows of data have these values, at least 1
    target: str | None  # None if the outcome is not known
    prediction: str | None
    protected: tuple[str, ...]
    weights: Totals | None = None  # of these rows; None if every row counts the same

    def __post_init__(self) -> None:
        for column in filter(None, (self.target, self.prediction, *self.protected)):
            check_choice("column", column, self.table.columns)
        rows = np.asarray(self.rows)
        if rows.shape != (len(self.table),) or rows.dtype.kind not in "iu" or (rows < 1).any():
            raise InputError(
                f"`rows` must have a whole number from 1 for each of the {len(self.table)} lines of counts."
            )
        object.__setattr__(self, "rows", rows.astype(np.int64))

    @property
    def n_rows(self) -> int:
        """Rows of data."""
        return int(self.rows.sum())

    @property
    def sums(self) -> FloatArray | None:
        """Sums of the weights."""
        return None if self.weights is None else self.weights.sums.astype(float)

    def sorted_table(self) -> pd.DataFrame:
        """The table with its rows and weights, in an order that is not that of the data."""
        more = {"rows": self.rows}
        if self.weights is not None:
            more |= {"weight": self.weights.sums.astype(float), "square": self.weights.squares.astype(float)}
        table = self.table.reset_index(drop=True)
        text = table.astype(object).map(str)
        lines = text.sort_values(list(text.columns), kind="stable").index
        return pd.concat([table, pd.DataFrame(more)], axis=1).loc[lines]

    def rows_without(self, column: str) -> int:
        """Rows of data without a value in a column."""
        return int(self.rows[self.table[column].isna()].sum())

    def groups(
        self,
        *,
        missing: Missing = "error",
        merge_below: int | None = None,
        attributes: Attributes = "crossed",
        min_groups: int = 2,
    ) -> Groups:
        """The group of each line, as :func:`fairalm.measures.group_rates` compares them."""
        return encode_groups(
            self.table[list(self.protected)],
            missing=missing,
            merge_below=merge_below,
            attributes=attributes,
            min_groups=min_groups,
            rows=self.rows,
        )

    def rates(self, groups: Groups, target: Any = None) -> GroupRates:
        """Confusion counts per group, where `target` is the label that counts as positive."""
        if self.target is None or self.prediction is None:
            raise InputError("Confusion counts need a label and a prediction: name the columns of both.")
        true, pred, target = binarize(self.table[self.target], self.table[self.prediction], target=target)
        return count(true, pred, groups, target, self.weights)


class Tally:
    """Counts rows batch by batch; its memory grows with the combinations of values, not with the rows.

    `more` are columns that are counted apart as well. Without a label or a prediction, the name is None.
    """

    MOST = 250_000  # combinations of values; with more, a column is an id or a score

    def __init__(
        self,
        target: str | None,
        prediction: str | None,
        protected: Sequence[str],
        weight: str | None = None,
        more: Sequence[str] = (),
    ) -> None:
        self.target, self.prediction, self.protected, self.weight = target, prediction, tuple(protected), weight
        self.columns = tuple(dict.fromkeys(filter(None, (target, prediction, *protected, *more))))
        self._values: dict[str, dict[Hashable, int]] = {name: {} for name in self.columns}
        self._lines: dict[tuple[int, ...], int] = {}
        self._rows: list[int] = []
        self._sums: list[Fraction] = []
        self._squares: list[Fraction] = []
        self._unit, self._wrong = 0.0, WrongWeights()

    @property
    def is_full(self) -> bool:
        """Whether there are so many combinations that a column must be an id or a score."""
        return len(self._lines) > self.MOST

    def add(self, columns: Mapping[str, Column], weight: Any = None) -> None:
        """Count some more rows; those of weight 0 stand for nobody."""
        codes, first = _combine([columns[name] for name in self.columns])
        of_line = [self._global(name, *columns[name])[first].tolist() for name in self.columns]
        keys = zip(*of_line, strict=True)
        lines = [self._lines.setdefault(key, len(self._lines)) for key in keys]
        n_new = len(self._lines) - len(self._rows)
        self._rows += [0] * n_new
        self._sums += [Fraction(0)] * n_new
        self._squares += [Fraction(0)] * n_new
        if weight is not None:
            numbers = weight_numbers(weight, f"Column {self.weight!r}")
            self._wrong.add(numbers)
            kept = np.isfinite(numbers) & (numbers > 0)
            numbers, codes = numbers[kept], codes[kept]
            totals = Totals.of(numbers, codes, len(lines))
            self._unit = max(self._unit, numbers.max(initial=0.0))
            for line, own, square in zip(lines, totals.sums, totals.squares, strict=True):
                self._sums[line] += own
                self._squares[line] += square
        for line, rows in zip(lines, np.bincount(codes, minlength=len(lines)).tolist(), strict=True):
            self._rows[line] += rows

    def counts(self, typed: Callable[[str, Sequence[Any]], pd.Series[Any]]) -> Counts:
        """The table of counts; `typed` gives the values of a column their type, in which None is a missing one."""
        self._wrong.refuse(f"Column {self.weight!r}")
        lines = np.array(list(self._lines), dtype=np.int64).reshape(-1, len(self.columns))
        table = {}
        for name, codes in zip(self.columns, lines.T, strict=True):
            values = typed(name, [*self._values[name], *([None] if (codes < 0).any() else [])])
            table[name] = values.iloc[codes].reset_index(drop=True)
        rows = np.array(self._rows, dtype=np.int64)
        kept = rows > 0
        weights = None
        if self.weight is not None:
            sums, squares = (np.array(part, dtype=object) for part in (self._sums, self._squares))
            weights = Totals(sums, squares, self._unit or 1.0).take(kept)
        frame = pd.DataFrame(table)[kept].reset_index(drop=True)
        return Counts(frame, rows[kept], self.target, self.prediction, self.protected, weights)

    def _global(self, name: str, codes: IntArray, values: Sequence[Hashable]) -> IntArray:
        """Places among all distinct values of a column so far, in place of those of this batch."""
        known = self._values[name]
        places = [known.setdefault(value, len(known)) for value in values]
        return np.array([*places, -1], dtype=np.int64)[codes]


def _combine(columns: Sequence[Column]) -> tuple[IntArray, IntArray]:
    """A code for the combination of values in each row, and the first row that has it."""
    n_rows = len(columns[0][0])
    key, span = np.zeros(n_rows, dtype=np.int64), 1
    for codes, values in columns:
        if span * (len(values) + 1) >= 2**63:
            key, span = pd.factorize(key)[0], n_rows
        key, span = key * (len(values) + 1) + codes + 1, span * (len(values) + 1)
    combined, distinct = pd.factorize(key)
    first = np.empty(len(distinct), dtype=np.int64)
    first[combined[::-1]] = np.arange(n_rows - 1, -1, -1)
    return combined, first
