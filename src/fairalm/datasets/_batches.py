"""Tables that are read batch by batch, so that they may have more rows than fit in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairalm.arrays import IntArray
from fairalm.exceptions import InputError


class Column(NamedTuple):
    """A column of a batch, each distinct value once."""

    codes: IntArray  # place of each row's value among `values`, -1 where it is missing
    values: Sequence[Hashable]


class Batch(NamedTuple):
    """Some rows of a table: the columns asked for, coded, and the numbers of one more if asked for."""

    columns: Mapping[str, Column]
    numbers: Any = None


class Table(ABC):
    """A table whose rows are read batch by batch; `names` are its columns."""

    names: tuple[str, ...]
    BATCH, HEAD = 2**17, 20_000  # rows

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows there are; of a .csv file an estimate."""

    @abstractmethod
    def head(self, columns: Sequence[str]) -> pd.DataFrame:
        """The first rows."""

    @abstractmethod
    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """Read these columns only; `numbers` is not coded."""

    @abstractmethod
    def read(self, columns: Sequence[str], *, rows: int | None = None, labels: Collection[str] = ()) -> pd.DataFrame:
        """Read these columns into memory, of all rows or of a random sample of so many, in their order.

        The columns in `labels` name classes or groups: there, "01" in a .csv file is not the number 1.
        """

    @abstractmethod
    def typed(self, column: str, values: Sequence[Any]) -> pd.Series[Any]:
        """Distinct values of a column with the type that reading the whole table gives; None is a missing one."""


class FrameTable(Table):
    """A data frame in memory, as a single batch."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame, self.names = frame, tuple(frame.columns)

    @property
    def n_rows(self) -> int:
        """Its rows."""
        return len(self.frame)

    def head(self, columns: Sequence[str]) -> pd.DataFrame:
        """The first rows."""
        return self.frame[list(columns)].head(self.HEAD)

    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """The only batch."""
        yield Batch(coded_columns(self.frame, columns), None if numbers is None else self.frame[numbers])

    def read(self, columns: Sequence[str], *, rows: int | None = None, labels: Collection[str] = ()) -> pd.DataFrame:
        """Some of the columns."""
        frame = self.frame[list(columns)]
        return frame if rows is None or rows >= len(frame) else frame.iloc[sample_rows(len(frame), rows)]

    def typed(self, column: str, values: Sequence[Any]) -> pd.Series[Any]:
        """Distinct values with the type of the column."""
        return pd.Series(values, dtype=self.frame[column].dtype)


def sample_rows(n_rows: int, rows: int) -> IntArray:
    """Random places in ascending order, the same every time."""
    return np.sort(np.random.default_rng(0).choice(n_rows, rows, replace=False, shuffle=False))


def coded_columns(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, Column]:
    """Columns of a data frame, coded."""
    coded = {}
    for name in columns:
        try:
            codes, values = pd.factorize(frame[name])
        except TypeError as error:
            raise InputError(f"The values of column {name!r} must be hashable: {error}.") from error
        coded[name] = Column(codes.astype(np.int64), values.tolist())
    return coded
