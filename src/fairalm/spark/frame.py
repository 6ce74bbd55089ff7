"""A Spark frame with a code for each row's label and group, and the counts of these codes, which reach the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import MapType

from fairalm._coding import MOST_GROUPS, group_name
from fairalm._validation import Attributes, Groups, check_choice, encode_groups
from fairalm.arrays import FloatArray
from fairalm.cells import Cells, Compared, CountedRows
from fairalm.constraints import Constraint, check_sizes
from fairalm.exceptions import InputError

CODE, WEIGHT, HASH = "fairalm_code", "fairalm_weight", "fairalm_hash"
HASHES = 2**31  # values of HASH; sums of them stay exact


@dataclass(frozen=True)
class Columns:
    """The columns of a frame that label, group and weight stand in."""

    label: str
    groups: tuple[str, ...]
    weight: str | None = None

    def check(self, data: DataFrame) -> None:
        """Refuse a frame without them."""
        if not self.groups:
            raise InputError("Name the protected columns: groupCols=['sex'], or several, which are crossed.")
        for name in (self.label, *self.groups, *([self.weight] if self.weight else [])):
            check_choice("column", name, data.columns)

    @property
    def weight_of_row(self) -> Column:
        """The weight of each row; 1 without a column of weights."""
        return column(self.weight).cast("double") if self.weight else F.lit(1.0)


def column(name: str) -> Column:
    """A column by its name, which may have dots."""
    return F.col(f"`{name}`")


@dataclass(frozen=True, eq=False)
class CodedFrame:
    """Rows with columns CODE (group + groups × whether the label is the target), WEIGHT and HASH.

    Parameters
    ----------
    data : DataFrame
        The rows, persisted.
    rows : CountedRows
        Their counts.
    hashes : tuple of int
        Sums of HASH by code: they change with the data.
    """

    data: DataFrame
    rows: CountedRows
    hashes: tuple[int, ...]

    @classmethod
    def of(cls, data: DataFrame, cells: Cells) -> CodedFrame:
        """Count the rows of each code in one aggregation."""
        counts, n_rows = np.zeros(2 * cells.n_groups), np.zeros(2 * cells.n_groups, dtype=np.int64)
        hashes = [0] * len(counts)
        sums = data.groupBy(CODE).agg(F.count(F.lit(1)), F.sum(WEIGHT), F.sum(HASH))
        for code, n, weight, total in sums.collect():
            counts[code], n_rows[code], hashes[code] = weight, n, int(total)
        return cls(data, CountedRows(cells, counts.reshape(2, -1), n_rows.reshape(2, -1)), tuple(hashes))

    def part(self, condition: Column) -> CodedFrame:
        """Some of the rows."""
        return CodedFrame.of(self.data.where(condition), self.rows.cells)

    def fold(self, n_folds: int) -> Column:
        """The fold of each row, which depends on the row's own values only."""
        return F.pmod(F.col(HASH), F.lit(n_folds))

    def sample(self, size: int) -> DataFrame:
        """About `size` of the rows, drawn by their hashes; all rows if there are no more."""
        n = int(self.rows.n_rows.sum())
        if n <= size:
            return self.data
        return self.data.where(self._draw(F.lit(size / n))).coalesce(1).persist(StorageLevel.MEMORY_AND_DISK)

    def even_sample(self, size: int) -> DataFrame:
        """About `size` of the rows, or all: from each label and group the same number, if it has so many.

        WEIGHT grows by as much as rows are left out.
        """
        n_rows = np.maximum(self.rows.n_rows, 1)
        if n_rows.sum() <= size:
            return self.data
        order = np.sort(n_rows.ravel())
        room = (size - np.append(0, np.cumsum(order)[:-1])) / np.arange(len(order), 0, -1)  # for each of the others
        most = room[np.argmax(order > room)]  # what smaller cells leave over goes to larger ones
        share = np.minimum(1.0, most / n_rows)
        return self.data.where(self._draw(by_code(share))).withColumn(WEIGHT, F.col(WEIGHT) / by_code(share))

    @staticmethod
    def _draw(share: Column) -> Column:
        """Whether a row is drawn with a probability of `share`, whatever its fold."""
        return F.pmod(F.xxhash64(HASH), F.lit(HASHES)) < share * F.lit(float(HASHES))


def by_code(table: FloatArray) -> Column:
    """A table of shape (2, groups) as a column: each row's entry."""
    return F.array(*(F.lit(float(value)) for value in table.ravel()))[F.col(CODE)]


def code_frame(
    data: DataFrame,
    columns: Columns,
    constraints: Sequence[Constraint],
    features: Sequence[str],
    attributes: Attributes,
    seed: int,
) -> tuple[CodedFrame, Groups]:
    """Check a frame and code its rows.

    Parameters
    ----------
    data : DataFrame
    columns : Columns
        Where label, group and weight are.
    constraints : sequence of Constraint
        The cells of the first are counted; those of all must have rows.
    features : sequence of str
        Columns to keep.
    attributes : {"crossed", "separate"}
        How several protected columns are compared.
    seed : int
        Of the hashes.
    """
    columns.check(data)
    for name in features:
        check_choice("column", name, data.columns)
    target = target_of(constraints[0])
    groups, values = _read_groups(data, columns, attributes)
    matches = [
        reduce(lambda a, b: a & b, (column(c) == F.lit(v) for c, v in zip(columns.groups, value, strict=True)))
        for value in values
    ]
    group = reduce(
        lambda case, pair: case.when(pair[0], F.lit(int(pair[1]))),
        zip(matches, groups.codes, strict=True),
        F.when(F.lit(False), F.lit(-1)),
    )
    positive = (column(columns.label).cast("double") == F.lit(target)).cast("int")
    known = [column(field.name) for field in data.schema if not isinstance(field.dataType, MapType)]
    coded = data.select(
        *map(column, features),
        (group + groups.n_groups * positive).alias(CODE),
        columns.weight_of_row.alias(WEIGHT),
        F.pmod(F.xxhash64(F.lit(seed), *known), F.lit(HASHES)).alias(HASH),
    ).persist(StorageLevel.MEMORY_AND_DISK)
    compared = Compared(groups.membership, groups.blocks) if groups.attributes else None
    cells = [Cells.of(constraint, groups.n_groups, compared) for constraint in constraints]
    frame = CodedFrame.of(coded, cells[0])
    try:
        for constraint, own in zip(constraints, cells, strict=True):
            rows = CountedRows(own, frame.rows.counts, frame.rows.n_rows)
            check_sizes(constraint, rows, groups.compared, (1 - int(target), int(target)), merging="in the data")
    except Exception:
        coded.unpersist()
        raise
    return frame, groups


def target_of(constraint: Constraint) -> float:
    """The label that is the target, 0 or 1."""
    target = 1 if constraint.target is None else constraint.target
    if target not in (0, 1):
        raise InputError(f"The target of a Spark label is 0 or 1; got {target!r}.")
    return float(target)


def _read_groups(data: DataFrame, columns: Columns, attributes: Attributes) -> tuple[Groups, list[tuple[Any, ...]]]:
    """The groups, with a code for each combination of protected values that occurs, and these combinations."""
    weight = columns.weight_of_row
    table = (
        data.groupBy(column(columns.label), *map(column, columns.groups))
        .agg(F.count(F.lit(1)), F.sum(F.when(weight >= 0, 0).otherwise(1)))  # NaN and null are no weights either
        .limit(2 * MOST_GROUPS + 3)
        .collect()
    )
    labels = {row[0] for row in table}
    if labels != {0, 1}:
        shown = ", ".join(map(str, sorted(labels, key=str)[:5])) or "none"
        raise InputError(
            f"The label column {columns.label!r} must hold 0 and 1 and nothing else; it has {shown}. Text is turned"
            " into these by pyspark.ml.feature.StringIndexer."
        )
    if refused := sum(row[-1] for row in table):
        raise InputError(
            f"{refused:,} rows of the weight column {columns.weight!r} are negative or missing: mend or drop them."
        )
    if missing := sum(row[-2] for row in table if any(_is_missing(value) for value in row[1:-2])):
        raise InputError(
            f"{missing:,} of {sum(row[-2] for row in table):,} rows have no value in the protected column"
            f" ({', '.join(columns.groups)}): fill them (data.fillna) or leave them out (data.dropna)."
        )
    values = sorted({tuple(row[1:-2]) for row in table}, key=lambda value: group_name(value))
    if len(values) > MOST_GROUPS:
        raise InputError(
            f"The protected column {' × '.join(columns.groups)} has more than the {MOST_GROUPS} groups that can be"
            " compared: is it an id? Name another column, or merge small groups in the data."
        )
    parts = dict(zip(columns.groups, map(list, zip(*values, strict=True)), strict=True))
    return encode_groups(parts, attributes=attributes, refuse_ids=False), values


def _is_missing(value: Any) -> bool:
    return value is None or value != value
