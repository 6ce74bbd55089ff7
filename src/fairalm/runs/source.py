"""Which data: a file or a data set by name, its columns, and how its rows are split."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm._validation import (
    ATTRIBUTES,
    MISSING,
    Attributes,
    Groups,
    Missing,
    check_choice,
    check_parameter,
    encode_groups,
    no_such,
)
from fairalm.arrays import IntArray
from fairalm.datasets import (
    Dataset,
    FrameTable,
    Table,
    load,
    load_law,
    name_of,
    names,
    one_against_rest,
    open_table,
    plain_columns,
    with_column,
)
from fairalm.exceptions import InputError
from fairalm.measures.weights import check_weights
from fairalm.runs.columns import check_columns, check_finite, column_types
from fairalm.runs.memory import check_memory
from fairalm.runs.samples import Samples
from fairalm.runs.suspects import suspects


@dataclass(frozen=True)
class Source:
    """Which data to train on: a .csv or .parquet file, or a data set by name, which has its own columns.

    >>> samples = Source("german").read()
    >>> samples.X.shape, samples.label, samples.groups.names
    ((1000, 20), 'credit = good', ('no', 'yes'))
    """

    data: str
    target: str | None = None  # column of the label
    protected: str | Sequence[str] = ()  # protected columns
    positive: str | None = None  # label that counts as positive, against all others; by default the larger of two
    drop: str | Sequence[str] = ()  # columns to leave out
    test: str | None = None  # file with the rows to test on; by default a share of `data`
    with_protected: bool | None = None  # may the model use `protected`? By default only for a data set by name
    missing: Missing = "error"  # what to do with rows without a protected value
    merge_below: int | None = None  # groups with fewer rows are merged
    attributes: Attributes = "crossed"  # several protected columns: crossed, or each on its own ("separate")
    weight: str | None = None  # column that says how many people a row stands for; not a feature
    data_dir: str | None = None  # folder with the official files of a data set by name
    download: bool = False  # fetch "law" if it is not there
    rows: int | None = None  # read a random sample of so many rows; of files, .parquet only
    image_column: str | None = None  # images only: column with the file paths, relative to the folder of `data`
    image_size: int | None = None  # images only: pixels on a side
    encoding: str = "utf-8"  # of .csv files, as `sep` and `decimal`
    sep: str = ","  # what separates the values: one character, or "tab"
    decimal: str = "."  # decimal mark: "." or ","
    rows_are: str = "people"  # what the rows are, in the plural, for the page and what is printed

    def __post_init__(self) -> None:
        check_rows_are(self.rows_are)
        check_parameter("missing", self.missing, MISSING)
        check_parameter("attributes", self.attributes, ATTRIBUTES)

    @property
    def csv(self) -> dict[str, str]:
        """How .csv files are written, as arguments of :func:`fairalm.datasets.open_table`."""
        return {name: getattr(self, name) for name in ("encoding", "sep", "decimal")}

    def read(self) -> Samples:
        """Read the table, check it, and tell features, labels and groups apart.

        Warns of columns that a model should perhaps not see.
        """
        frame, known = self._read()
        target = self.target or (known.target if known else None)
        protected = self.protected or (known.protected if known else ())
        if target is None or not protected:
            raise self.needs_columns(f"; its columns are {', '.join(frame.columns)}")
        positive = self.positive
        if positive is None and known is not None and target == known.target:
            positive = known.positive
        drop = [column for column in _listed(self.drop) if column in frame.columns]  # the others were not read
        data = Dataset.from_frame(
            frame, target=target, protected=protected, positive=positive, drop=drop, name=name_of(self.data)
        )
        if self.weight is not None:
            data = _without_feature(data, self.weight)
        table, n_train = data.frame, None
        if self.test is not None:
            table, n_train = pd.concat([table, self._test_rows(self.test, data)], ignore_index=True), len(table)
        if self.weight is not None:  # rows of weight 0 stand for nobody
            present = check_weights(table[self.weight], len(table), f"Column {self.weight!r}") > 0
            table, n_train = table[present], None if n_train is None else int(present[:n_train].sum())
        kept, groups = self.encode(table[list(data.protected)])
        data = replace(data, frame=table.iloc[kept].reset_index(drop=True))
        with_protected = known is not None if self.with_protected is None else self.with_protected
        X = data.features_frame(with_protected=with_protected)
        check_finite(X)
        found = suspects(X, data.frame[[] if with_protected else list(data.protected)])
        for warning in found:
            warnings.warn(warning, stacklevel=2)
        labels = np.array(data.frame[target].tolist())
        return Samples(
            data,
            X,
            labels,
            groups,
            n_train=None if n_train is None else int((kept < n_train).sum()),
            with_protected=with_protected,
            n_dropped=len(table) - len(kept),
            weight=self.weight,
            rows_are=self.rows_are,
            positive_guessed=positive is None and is_guess(data.positive),
            warnings=found,
        )

    def _read(self) -> tuple[pd.DataFrame, Dataset | None]:
        """Read the table without the columns to leave out, if it fits in memory."""
        table, known = open_data(self.data, self.data_dir, self.download, **self.csv)
        roles = (self.target, *_listed(self.protected))  # a column named twice is an error that comes later
        unread = [column for column in _listed(self.drop) if column not in roles]
        for column in unread:
            check_choice("column", column, table.names)
        columns = [column for column in table.names if column not in unread]
        check_memory(table, columns, self.data, self.rows)
        return table.read(columns, rows=self.rows, labels=[column for column in roles if column is not None]), known

    def _test_rows(self, test: str, data: Dataset) -> pd.DataFrame:
        """Rows of a test file, which must look like the training table."""
        frame = read_data(test, labels=(data.target, *data.protected), **self.csv)
        frame = plain_columns(frame, data.frame.columns)
        check_columns(frame, column_types(data.frame), test)
        if f"not {data.positive}" in set(data.frame[data.target]):
            frame = with_column(frame, data.target, one_against_rest(frame[data.target], data.positive))
        unknown = sorted(set(frame[data.target]) - set(data.frame[data.target]), key=str)
        if unknown:
            raise InputError(
                f"{test} has a label {unknown[0]!r} in {data.target!r} that the training table does not have."
            )
        return frame[list(data.frame.columns)]

    def needs_columns(self, columns: str = "") -> InputError:
        """The error for a file whose label or protected column is not named."""
        return InputError(
            f"{self.data} is a table of your own: name its label with {{target}} and its protected column with"
            f" {{protected}}{columns}.",
            target=None,
            protected=None,
        )

    def encode(self, protected: Any) -> tuple[IntArray, Groups]:
        """The rows that are kept, and their groups."""
        groups = encode_groups(
            protected, missing=self.missing, merge_below=self.merge_below, attributes=self.attributes
        )
        kept = np.flatnonzero(groups.codes >= 0)
        return kept, groups.take(kept)


def check_rows_are(word: str) -> None:
    """Refuse what cannot stand for the rows in a sentence."""
    if not word.strip() or not word.isprintable():
        raise InputError(f"{{rows_are}} must be a word in the plural, such as people; got {word!r}.", rows_are=None)


def read_data(data: str, data_dir: str | None = None, *, labels: Sequence[str] = (), **csv: str) -> pd.DataFrame:
    """Read a file, or a data set by name; `labels` as in :meth:`fairalm.datasets.Table.read`."""
    table, _ = open_data(data, data_dir, False, **csv)
    return table.read(table.names, labels=labels)


def open_data(
    data: str, data_dir: str | None = None, download: bool = False, **csv: str
) -> tuple[Table, Dataset | None]:
    """Open a file, or a data set by name, which is then returned as well; a folder of .parquet files is one table.

    `csv` are the arguments of :func:`fairalm.datasets.open_table`.
    """
    if data in names():
        known = load_law(data_dir, download=True) if data == "law" and download else load(data, data_dir)
        return FrameTable(known.frame[[*known.features, *known.protected, known.target]]), known
    if not Path(data).suffix and not Path(data).exists():
        raise no_such("file or data set", data, names())
    return open_table(data, **csv), None


def is_guess(positive: Any) -> bool:
    """Whether the larger of two labels is only a guess of the positive one; 1, of 0 and 1, is not."""
    return isinstance(positive, str) or bool(positive != 1)


def _listed(columns: str | Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def _without_feature(data: Dataset, column: str) -> Dataset:
    """The same data, with a column that no model sees."""
    check_choice("column", column, data.frame.columns)
    if column not in data.features:
        raise InputError(f"Column {column!r} is named twice: {{weight}} must be a column of its own.", weight=None)
    features = tuple(name for name in data.features if name != column)
    if not features:
        raise InputError("No column is left as a feature: all are target, protected, weight or dropped.")
    return replace(data, features=features)
