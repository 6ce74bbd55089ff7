"""A .csv file, read batch by batch."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.datasets._batches import Batch, Table, coded_columns
from fairalm.datasets._checks import check_frame
from fairalm.datasets._csv_format import OPENERS, CsvFormat
from fairalm.exceptions import InputError


class CsvTable(Table):
    """A .csv file, read as text: the type of a column is known when all of its values are."""

    def __init__(self, path: Path, form: CsvFormat) -> None:
        self.path, self.form = path, form
        with form.reading(path):
            head = pd.read_csv(path, nrows=1, dtype=str, **form.options)
        check_frame(head, str(path))
        self.names = tuple(head.columns)

    @property
    def n_rows(self) -> int:
        """As many lines as the first ones suggest."""
        with self.path.open("rb") as file:
            opener = OPENERS.get(self.path.suffix.lower())
            lines = (file if opener is None else opener(file)).read(2**20)
            return int(self.path.stat().st_size * lines.count(b"\n") / file.tell())  # which counts packed bytes

    def head(self, columns: Sequence[str]) -> pd.DataFrame:
        """The first rows."""
        with self.form.reading(self.path):
            frame: pd.DataFrame = pd.read_csv(self.path, nrows=self.HEAD, **self.form.options)[list(columns)]
        return frame

    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """Read the file; all columns of a batch, because pandas finds rows that are too long only then."""
        types = {name: str for name in self.names if name != numbers or name in columns}
        options: Any = {"chunksize": self.BATCH, "dtype": types, **self.form.options}
        with self.form.reading(self.path), pd.read_csv(self.path, **options) as chunks:
            for chunk in chunks:
                own = None if numbers is None else chunk[numbers]
                coded = coded_columns(chunk, columns)
                if numbers is not None and numbers in columns:
                    values = self.typed(numbers, [*coded[numbers].values, None])
                    own = values.iloc[coded[numbers].codes]
                yield Batch(coded, own)

    def read(self, columns: Sequence[str], *, rows: int | None = None) -> pd.DataFrame:
        """Read the file."""
        if rows is not None:
            raise InputError(
                f"{{rows}} is for .parquet files, of which a sample can be read, not for {self.path}: leave it out.",
                rows=rows,
            )
        with self.form.reading(self.path):
            frame: pd.DataFrame = pd.read_csv(self.path, **self.form.options)[list(columns)]
        return frame

    def typed(self, column: str, values: Sequence[Any]) -> pd.Series[Any]:
        """Text as pandas reads it."""
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        writer.writerows([[column], *([value] for value in values)])
        text.seek(0)
        return pd.read_csv(text, low_memory=False, decimal=self.form.decimal)[column]
