"""Tables that are read batch by batch, so that they may have more rows than fit in memory."""

from __future__ import annotations

import csv
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairalm.arrays import IntArray
from fairalm.datasets._table import (
    CSV,
    check_frame,
    check_names,
    reading_csv,
    reading_parquet,
    schema_of,
    suffix_of,
    with_index,
)
from fairalm.exceptions import InputError

BATCH = 2**17  # rows


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

    @abstractmethod
    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """Read these columns only; `numbers` is not coded."""

    @abstractmethod
    def typed(self, column: str, values: Sequence[Any]) -> pd.Series[Any]:
        """Distinct values of a column with the type that reading the whole table gives; None is a missing one."""


def open_table(path: str | os.PathLike[str]) -> Table:
    """Open a .csv or .parquet file, or a folder of .parquet files, without reading its rows.

    The files of a folder have the same columns, which may also stand in the names of folders ("year=2024").
    """
    path = Path(path)
    if path.is_dir():
        hidden = (".", "_")
        files = [file for file in sorted(path.rglob("*.parquet")) if not file.name.startswith(hidden)]
        if not files:
            raise InputError(f"{path} is a folder without .parquet files: name a file, or a folder of them.")
        return ParquetTable(path, files)
    return CsvTable(path) if suffix_of(path) == ".csv" else ParquetTable(path, [path])


class FrameTable(Table):
    """A data frame in memory, as a single batch."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame, self.names = frame, tuple(frame.columns)

    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """The only batch."""
        yield Batch(_coded(self.frame, columns), None if numbers is None else self.frame[numbers])

    def typed(self, column: str, values: Sequence[Any]) -> pd.Series[Any]:
        """Distinct values with the type of the column."""
        return pd.Series(values, dtype=self.frame[column].dtype)


class CsvTable(Table):
    """A .csv file, read as text: the type of a column is known when all of its values are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading_csv(path):
            head = pd.read_csv(path, nrows=1, dtype=str, **CSV)
        check_frame(head, str(path))
        self.names = tuple(head.columns)

    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """Read the file; all columns of a batch, because pandas finds rows that are too long only then."""
        types = {name: str for name in self.names if name != numbers or name in columns}
        with reading_csv(self.path), pd.read_csv(self.path, chunksize=BATCH, dtype=types, **CSV) as chunks:
            for chunk in chunks:
                own = None if numbers is None else chunk[numbers]
                coded = _coded(chunk, columns)
                if numbers is not None and numbers in columns:
                    values = self.typed(numbers, [*coded[numbers].values, None])
                    own = values.iloc[coded[numbers].codes]
                yield Batch(coded, own)

    def typed(self, column: str, values: Sequence[Any]) -> pd.Series[Any]:
        """Text as pandas reads it."""
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        writer.writerows([[column], *([value] for value in values)])
        text.seek(0)
        return pd.read_csv(text, low_memory=False)[column]


class ParquetTable(Table):
    """One .parquet file or several; only the columns asked for are read."""

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        self.files = files
        self._schemas = []
        for file in files:
            with reading_parquet(file):
                self._schemas.append(schema_of(file))
        with reading_parquet(files[0]):
            self._schema = self._dataset(()).schema
        head = with_index(self._schema.empty_table().to_pandas())
        check_names(list(head.columns), str(path))
        self.names = tuple(name for name in head.columns if name in self._schema.names)
        if not self.n_rows:
            check_frame(head, str(path))

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return sum(fragment.count_rows() for fragment in self._dataset(()).get_fragments())

    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """Read the files one after the other."""
        asked = [*columns, *(name for name in (numbers,) if name is not None and name not in columns)]
        self._check_same_types(asked)
        dataset = self._dataset([name for name in columns if self._is_text(name)])
        for file, fragment in zip(self.files, dataset.get_fragments(), strict=True):
            with reading_parquet(file):
                for batch in fragment.to_batches(schema=dataset.schema, columns=asked, batch_size=BATCH):
                    own = None if numbers is None else batch.column(numbers).to_pandas()
                    yield Batch({name: _coded_arrow(batch.column(name)) for name in columns}, own)

    def typed(self, column: str, values: Sequence[Any]) -> pd.Series[Any]:
        """Values as pandas reads them: whole numbers with a missing one become floats."""
        import pyarrow as pa

        field = self._schema.field(column)
        own = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        schema = pa.schema([field], metadata=self._schema.metadata)
        table = pa.Table.from_arrays([pa.array(values, own).cast(field.type)], schema=schema)
        return with_index(table.to_pandas())[column]

    def _dataset(self, coded: Sequence[str]) -> Any:
        """The files, which `coded` columns are read from as dictionaries."""
        import pyarrow.dataset

        options = pyarrow.dataset.ParquetReadOptions(dictionary_columns=coded)
        form = pyarrow.dataset.ParquetFileFormat(read_options=options)
        return pyarrow.dataset.dataset([str(file) for file in self.files], format=form, partitioning="hive")

    def _is_text(self, column: str) -> bool:
        import pyarrow as pa

        return bool(pa.types.is_string(self._schema.field(column).type))

    def _check_same_types(self, columns: Sequence[str]) -> None:
        """Refuse files that differ from the first in a column that is needed."""
        first = self._schemas[0]
        for file, schema in zip(self.files, self._schemas, strict=True):
            for column in columns:
                if column not in first.names and column not in schema.names:
                    continue  # in the names of folders
                types = [part.field(column).type if column in part.names else None for part in (schema, first)]
                if types[0] != types[1]:
                    here, there = (f"as {kind}" if kind else "nowhere" for kind in types)
                    raise InputError(
                        f"{file} has the column {column!r} {here}, {self.files[0]} {there}: write all files alike."
                    )


def _coded(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, Column]:
    coded = {}
    for name in columns:
        try:
            codes, values = pd.factorize(frame[name])
        except TypeError as error:
            raise InputError(f"The values of column {name!r} must be hashable: {error}.") from error
        coded[name] = Column(codes.astype(np.int64), values.tolist())
    return coded


def _coded_arrow(column: Any) -> Column:
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_floating(column.type):  # NaN is a missing value too
        column = compute.if_else(compute.is_nan(column), None, column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
    return Column(codes, column.dictionary.to_pylist())
