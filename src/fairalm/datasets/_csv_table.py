"""A .csv file, read batch by batch."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.datasets._batches import Batch, Table, coded_columns
from fairalm.datasets._checks import check_frame
from fairalm.datasets._csv_format import OPENERS, CsvFormat
from fairalm.exceptions import InputError

PADDED = re.compile(r"0\d+")


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
            frame = pd.read_csv(self.path, nrows=self.HEAD, **self.form.options)
        return self._columns(frame, columns)

    def batches(self, columns: Sequence[str], numbers: str | None = None) -> Iterator[Batch]:
        """Read the file; all columns of a batch, because pandas finds rows that are too long only then."""
        types = {name: str for name in self.names if name != numbers or name in columns}
        options: Any = {"chunksize": self.BATCH, "dtype": types, **self.form.options}
        with self.form.reading(self.path), pd.read_csv(self.path, **options) as chunks:
            for chunk in chunks:
                self._columns(chunk, self.names)
                own = None if numbers is None else chunk[numbers]
                coded = coded_columns(chunk, columns)
                if numbers is not None and numbers in columns:
                    values = self.typed(numbers, [*coded[numbers].values, None])
                    own = values.iloc[coded[numbers].codes]
                yield Batch(coded, own)

    def read(self, columns: Sequence[str], *, rows: int | None = None, labels: Collection[str] = ()) -> pd.DataFrame:
        """Read the file."""
        if rows is not None:
            raise InputError(
                f"{{rows}} is for .parquet files, of which a sample can be read, not for {self.path}: leave it out.",
                rows=rows,
            )
        as_text: Any = {name: str for name in labels if name in columns}
        with self.form.reading(self.path):
            frame = pd.read_csv(self.path, dtype=as_text, **self.form.options)
        for name in as_text:
            codes, values = pd.factorize(frame[name])
            own = self.typed(name, [*values, None] if (codes < 0).any() else values.tolist())
            frame[name] = own.iloc[codes].set_axis(frame.index)
        return self._columns(frame, columns)

    def typed(self, column: str, values: Sequence[Any]) -> pd.Series[Any]:
        """Text as pandas reads it, unless it has numbers that begin with a zero: these are codes, "01" is not "1"."""
        if any(isinstance(value, str) and PADDED.fullmatch(value.strip()) for value in values):
            return pd.Series(values, dtype=str)
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        writer.writerows([[column], *([value] for value in values)])
        text.seek(0)
        return pd.read_csv(text, low_memory=False, decimal=self.form.decimal)[column]

    def _columns(self, frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
        """These columns, unless pandas took the first values of each row for its name."""
        if not isinstance(frame.index, pd.RangeIndex):
            raise InputError(
                f"{self.path} has rows with more values than the {len(self.names)} names in its header: write one value"
                " per name, and quote those that contain the separator."
            )
        return frame[list(columns)]
