"""One .parquet file or several, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm.datasets._batches import Batch, Column, Table, sample_rows
from fairalm.datasets._checks import check_frame, check_names, reading_parquet, schema_of, with_index
from fairalm.exceptions import InputError


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

    def head(self, columns: Sequence[str]) -> pd.DataFrame:
        """The first rows."""
        with reading_parquet(self.files[0]):
            table = self._dataset(()).head(self.HEAD, columns=list(columns))
            return with_index(table.to_pandas())[list(columns)]

    def tables(self) -> Iterator[Any]:
        """All columns batch by batch, as tables of pyarrow."""
        import pyarrow as pa

        self._check_same_types(self.names)
        dataset = self._dataset(())
        for file, fragment in zip(self.files, dataset.get_fragments(), strict=True):
            with reading_parquet(file):
                for batch in fragment.to_batches(
                    schema=dataset.schema, columns=list(self.names), batch_size=self.BATCH
                ):
                    if len(batch):
                        yield pa.Table.from_batches([batch])

    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """Read the files one after the other."""
        asked = [*columns, *(name for name in (numbers,) if name is not None and name not in columns)]
        self._check_same_types(asked)
        dataset = self._dataset([name for name in columns if self._is_text(name)])
        for file, fragment in zip(self.files, dataset.get_fragments(), strict=True):
            with reading_parquet(file):
                for batch in fragment.to_batches(schema=dataset.schema, columns=asked, batch_size=self.BATCH):
                    own = None if numbers is None else batch.column(numbers).to_pandas()
                    yield Batch({name: _coded_arrow(batch.column(name)) for name in columns}, own)

    def read(self, columns: Sequence[str], *, rows: int | None = None) -> pd.DataFrame:
        """Read the files one after the other."""
        import pyarrow as pa

        self._check_same_types(columns)
        n_rows, start, parts = self.n_rows, 0, []
        chosen = None if rows is None or rows >= n_rows else sample_rows(n_rows, rows)
        dataset = self._dataset(())
        asked: Any = {"schema": dataset.schema, "columns": list(columns)}
        for file, fragment in zip(self.files, dataset.get_fragments(), strict=True):
            with reading_parquet(file):
                if chosen is None:
                    parts.append(fragment.to_table(**asked))
                    continue
                for batch in fragment.to_batches(**asked, batch_size=self.BATCH):
                    own = chosen[slice(*np.searchsorted(chosen, (start, start + len(batch))))] - start
                    parts.append(pa.Table.from_batches([batch]).take(own))
                    start += len(batch)
        table = pa.concat_tables(parts).replace_schema_metadata(self._schema.metadata)
        return with_index(table.to_pandas())[list(columns)]

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


def _coded_arrow(column: Any) -> Column:
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_floating(column.type):  # NaN is a missing value too
        column = compute.if_else(compute.is_nan(column), None, column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
    return Column(codes, column.dictionary.to_pylist())
