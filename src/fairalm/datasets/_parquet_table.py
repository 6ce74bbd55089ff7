"""One .parquet file or several, read batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm.datasets._batches import Batch, Column, Table, sample_rows
from fairalm.datasets._checks import check_frame, check_names, reading_parquet, schema_of, with_index
from fairalm.datasets._kinds import wrong_kind
from fairalm.exceptions import InputError


class ParquetTable(Table):
    """One .parquet file or several; only the columns asked for are read."""

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        self.path, self.files, self._schemas = path, files, []
        for file in files:
            with reading_parquet(file):
                self._schemas.append(schema_of(file))
        with reading_parquet(files[0]):
            self._schema = self._dataset().schema
            head = with_index(self._schema.empty_table().to_pandas())
        check_names(list(head.columns), str(path))
        self.names = tuple(name for name in head.columns if name in self._schema.names)
        if not self.n_rows:
            check_frame(head, str(path))

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return sum(fragment.count_rows() for fragment in self._dataset().get_fragments())

    def head(self, columns: Sequence[str]) -> pd.DataFrame:
        """The first rows."""
        with reading_parquet(self.files[0]):
            table = self._dataset().head(self.HEAD, columns=list(columns))
        return with_index(self.to_pandas(table))[list(columns)]

    def to_pandas(self, table: Any) -> pd.DataFrame:
        """A table of pyarrow as a data frame; what pandas says of its types may not be true."""
        with reading_parquet(self.path):
            frame: pd.DataFrame = table.to_pandas()
        return frame

    def tables(self) -> Iterator[Any]:
        """All columns batch by batch, as tables of pyarrow."""
        import pyarrow as pa

        for batch in self._record_batches(self.names, exact=True):
            yield pa.Table.from_batches([batch])

    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """Read the files one after the other, text as codes."""
        import pyarrow as pa

        asked = [*columns, *(name for name in (numbers,) if name is not None and name not in columns)]
        self._check_kinds(asked)
        text = [name for name in columns if pa.types.is_string(self._schema.field(name).type)]
        for batch in self._record_batches(asked, text):
            own = None if numbers is None else batch.column(numbers).to_pandas()
            yield Batch({name: _coded_arrow(batch.column(name)) for name in columns}, own)

    def read(self, columns: Sequence[str], *, rows: int | None = None, labels: Collection[str] = ()) -> pd.DataFrame:
        """Read the files one after the other."""
        import pyarrow as pa

        n_rows, start, parts = self.n_rows, 0, []
        chosen = None if rows is None or rows >= n_rows else sample_rows(n_rows, rows)
        for batch in self._record_batches(columns):
            part = pa.Table.from_batches([batch])
            if chosen is not None:
                own = slice(*np.searchsorted(chosen, (start, start + len(batch))))
                part = part.take(chosen[own] - start)
                start += len(batch)
            parts.append(part)
        table = pa.concat_tables(parts).replace_schema_metadata(self._schema.metadata)
        return with_index(self.to_pandas(table))[list(columns)]

    def typed(self, column: str, values: Sequence[Any]) -> pd.Series[Any]:
        """Values as pandas reads them: whole numbers with a missing one become floats."""
        import pyarrow as pa

        field = self._schema.field(column)
        own = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        schema = pa.schema([field], metadata=self._schema.metadata)
        table = pa.Table.from_arrays([pa.array(values, own).cast(field.type)], schema=schema)
        return with_index(table.to_pandas())[column]

    def _record_batches(
        self, columns: Sequence[str], coded: Sequence[str] = (), *, exact: bool = False
    ) -> Iterator[Any]:
        """Batches of rows, of which the `coded` columns are dictionaries; `exact` decimals are not made floats."""
        self._check_same_types(columns)
        dataset = self._dataset(coded, exact=exact)
        asked: Any = {"schema": dataset.schema, "columns": list(columns), "batch_size": self.BATCH}
        for file, fragment in zip(self.files, dataset.get_fragments(), strict=True):
            with reading_parquet(file):
                for batch in fragment.to_batches(**asked):
                    batch.validate(full=True)  # text that is not UTF-8 would be found later, without the file's name
                    if len(batch):
                        yield batch

    def _dataset(self, coded: Sequence[str] = (), *, exact: bool = False) -> Any:
        """The files, with the columns in the names of folders below `path`; `coded` columns are dictionaries."""
        from pyarrow import dataset, fs

        form = dataset.ParquetFileFormat(read_options=dataset.ParquetReadOptions(dictionary_columns=coded))
        below = self.path if self.path.is_dir() else self.path.parent
        names = dataset.FileSystemFactoryOptions(str(below), partitioning=dataset.HivePartitioning.discover())
        files = [str(file) for file in self.files]
        factory = dataset.FileSystemDatasetFactory(fs.LocalFileSystem(), files, form, names)
        return factory.finish() if exact else factory.finish(_without_decimals(factory.finish().schema))

    def _check_kinds(self, columns: Sequence[str]) -> None:
        """Refuse columns that hold neither numbers nor text."""
        from pyarrow import types

        for column in columns:
            kind = self._schema.field(column).type
            kind = kind.value_type if types.is_dictionary(kind) else kind
            is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
            if not (is_text or types.is_primitive(kind) or types.is_null(kind)) or types.is_temporal(kind):
                raise wrong_kind(column, str(kind))

    def _check_same_types(self, columns: Sequence[str]) -> None:
        """Refuse files that differ from the first in a column that is needed."""
        first = self._schemas[0]
        for file, schema in zip(self.files, self._schemas, strict=True):
            for column in columns:
                if column not in first.names and column not in schema.names:
                    continue  # in the names of folders
                types = [part.field(column).type if column in part.names else None for part in (schema, first)]
                if _kind(types[0]) != _kind(types[1]):
                    here, there = (f"as {kind}" if kind else "nowhere" for kind in types)
                    raise InputError(
                        f"{file} has the column {column!r} {here}, {self.files[0]} {there}: write all files alike."
                    )


def _kind(kind: Any) -> Any:
    """A type of pyarrow, where all types of text are one: which of them is written depends on the version of pandas."""
    from pyarrow import large_string, string, string_view

    return string() if kind in (large_string(), string_view()) else kind


def _without_decimals(schema: Any) -> Any:
    """The schema with floats for decimals, which pandas would make objects of."""
    import pyarrow as pa

    for place, field in enumerate(schema):
        if pa.types.is_decimal(field.type):
            schema = schema.set(place, field.with_type(pa.float64()))
    return schema


def _coded_arrow(column: Any) -> Column:
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_floating(column.type):  # NaN is a missing value too
        column = compute.if_else(compute.is_nan(column), None, column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
    return Column(codes, column.dictionary.to_pylist())
