"""Which data: a file or a data set by name, its columns, and how its rows are split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

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
from fairalm.arrays import FloatArray, IntArray
from fairalm.constraints import Constraint
from fairalm.datasets import Dataset, FrameTable, Table, load, load_law, names, open_table, split
from fairalm.exceptions import InputError
from fairalm.measures import splits_entry
from fairalm.measures.weights import check_weights
from fairalm.runs.memory import check_memory


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
    positive: str | None = None  # label that counts as positive; by default the larger
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
    rows_are: str = "people"  # what the rows are, in the plural, for the page and what is printed

    def __post_init__(self) -> None:
        if not self.rows_are.strip() or not self.rows_are.isprintable():
            raise InputError(
                f"{{rows_are}} must be a word in the plural, such as people; got {self.rows_are!r}.", rows_are=None
            )
        check_parameter("missing", self.missing, MISSING)
        check_parameter("attributes", self.attributes, ATTRIBUTES)

    def read(self) -> Samples:
        """Read the table, check it, and tell features, labels and groups apart."""
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
            frame, target=target, protected=protected, positive=positive, drop=drop, name=Path(self.data).stem
        )
        if self.weight is not None:
            data = _without_feature(data, self.weight)
        table, n_train = data.frame, None
        if self.test is not None:
            table, n_train = pd.concat([table, _test_rows(self.test, data)], ignore_index=True), len(table)
        if self.weight is not None:  # rows of weight 0 stand for nobody
            present = check_weights(table[self.weight], len(table), f"Column {self.weight!r}") > 0
            table, n_train = table[present], None if n_train is None else int(present[:n_train].sum())
        kept, groups = self.encode(table[list(data.protected)])
        data = replace(data, frame=table.iloc[kept].reset_index(drop=True))
        with_protected = known is not None if self.with_protected is None else self.with_protected
        X = data.features_frame(with_protected=with_protected)
        _check_finite(X)
        return Samples(
            data,
            X,
            np.array(data.frame[target].tolist()),
            groups,
            n_train=None if n_train is None else int((kept < n_train).sum()),
            with_protected=with_protected,
            n_dropped=len(table) - len(kept),
            weight=self.weight,
            rows_are=self.rows_are,
        )

    def _read(self) -> tuple[pd.DataFrame, Dataset | None]:
        """Read the table without the columns to leave out, if it fits in memory."""
        table, known = open_data(self.data, self.data_dir, self.download)
        roles = (self.target, *_listed(self.protected))  # a column named twice is an error that comes later
        unread = [column for column in _listed(self.drop) if column not in roles]
        for column in unread:
            check_choice("column", column, table.names)
        columns = [column for column in table.names if column not in unread]
        check_memory(table, columns, self.data, self.rows)
        return table.read(columns, rows=self.rows), known

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


@dataclass(frozen=True)
class Samples:
    """The rows of a source, without those that were dropped for want of a protected value."""

    data: Dataset
    X: pd.DataFrame
    labels: npt.NDArray[Any]  # as in the table
    groups: Groups
    n_train: int | None = None  # with a test file, the rows before it
    with_protected: bool = False
    n_dropped: int = 0
    weight: str | None = None  # column of the weights
    rows_are: str = "people"  # what the rows are, in the plural

    @property
    def label(self) -> str:
        """The positive label in words: "income = >50K"."""
        return f"{self.data.target} = {self.data.positive}"

    @property
    def group_names(self) -> npt.NDArray[Any]:
        """The group of each row, of the crossed ones."""
        return np.array(self.groups.names, dtype=object)[self.groups.codes]

    @property
    def training_groups(self) -> dict[str, Any]:
        """The group of each row, as arguments of a classifier: each attribute on its own if they are compared so."""
        if not self.groups.attributes:
            return {"attributes": "crossed", "sensitive_features": self.group_names}
        codes, columns = self.groups.codes, self.groups.attributes
        values = {column.name: np.array(column.labels, dtype=object)[column.of[codes]] for column in columns}
        return {"attributes": "separate", "sensitive_features": values}

    @property
    def weights(self) -> FloatArray | None:
        """How many people each row stands for; None if every row counts the same."""
        return None if self.weight is None else self.data.frame[self.weight].to_numpy(dtype=float)

    @property
    def scaled_weights(self) -> FloatArray | None:
        """The weights scaled to a mean of 1 for training: their unit must not matter."""
        return None if self.weights is None else self.weights / self.weights.mean()

    @property
    def question(self) -> dict[str, Any]:
        """For metrics.json: what the rows are, which label, which protected columns, and whether the model sees them."""
        roles = {name: getattr(self.data, name) for name in ("target", "positive", "protected")}
        return roles | {"with_protected": self.with_protected, "rows_are": self.rows_are}

    def subset(self, rows: IntArray) -> Samples:
        """Some of the rows."""
        data = replace(self.data, frame=self.data.frame.iloc[rows].reset_index(drop=True))
        X = self.X.iloc[rows].reset_index(drop=True)
        return replace(self, data=data, X=X, labels=self.labels[rows], groups=self.groups.take(rows))

    def entry(
        self, rows: IntArray, predicted: Any, scores: Any, constraint: Constraint, *, train: bool, binary: bool = False
    ) -> dict[str, Any]:
        """The figures of predictions for some rows, as metrics.json has them; `binary` ones are 0 and 1."""
        y, target = (self.data.y, 1) if binary else (self.labels, self.data.positive)
        return splits_entry(
            y[rows],
            predicted,
            scores,
            sensitive_features=self.groups.take(rows),
            target=target,
            constraint=constraint,
            sample_weight=None if self.weights is None else self.weights[rows],
            train=train,
        )

    def split(self, test_size: float, seed: int) -> tuple[IntArray, IntArray]:
        """Row numbers to train and to test on; those of the test file if there is one."""
        if self.n_train is not None:
            rows = np.arange(len(self.X))
            return rows[: self.n_train], rows[self.n_train :]
        return split(self.data.y, self.group_names, test_size=test_size, random_state=seed)


def read_data(data: str, data_dir: str | None = None) -> pd.DataFrame:
    """Read a file, or a data set by name."""
    table, _ = open_data(data, data_dir)
    return table.read(table.names)


def open_data(data: str, data_dir: str | None = None, download: bool = False) -> tuple[Table, Dataset | None]:
    """Open a file, or a data set by name, which is then returned as well; a folder of .parquet files is one table."""
    if data in names():
        known = load_law(data_dir, download=True) if data == "law" and download else load(data, data_dir)
        return FrameTable(known.frame[[*known.features, *known.protected, known.target]]), known
    if not Path(data).suffix and not Path(data).exists():
        raise no_such("file or data set", data, names())
    return open_table(data), None


def _listed(columns: str | Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def column_types(frame: pd.DataFrame) -> dict[str, str]:
    """For each column "numbers" or "text", as :func:`fairalm.datasets.preprocess` takes it; "" if it is empty."""

    def kind(column: pd.Series[Any]) -> str:
        if column.isna().all():
            return ""
        return "numbers" if is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype) else "text"

    return {name: kind(frame[name]) for name in frame.columns}


def check_columns(frame: pd.DataFrame, types: Mapping[str, str], name: str) -> None:
    """Refuse a table that lacks columns a model needs, or holds text where it needs numbers."""
    absent = [column for column in types if column not in frame.columns]
    if absent:
        raise InputError(
            f"{name} lacks the column{'s' if len(absent) > 1 else ''} {', '.join(map(repr, absent))}"
            f" of the training table; it has: {', '.join(frame.columns)}."
        )
    for column, here in column_types(frame[list(types)]).items():
        if types[column] and here and here != types[column]:
            raise InputError(
                f"Column {column!r} of {name} holds {here}; in the training table it holds {types[column]}."
            )


def _without_feature(data: Dataset, column: str) -> Dataset:
    """The same data, with a column that no model sees."""
    check_choice("column", column, data.frame.columns)
    if column not in data.features:
        raise InputError(f"Column {column!r} is named twice: {{weight}} must be a column of its own.", weight=None)
    features = tuple(name for name in data.features if name != column)
    if not features:
        raise InputError("No column is left as a feature: all are target, protected, weight or dropped.")
    return replace(data, features=features)


def _test_rows(test: str, data: Dataset) -> pd.DataFrame:
    """Rows of a test file, which must look like the training table."""
    frame = read_data(test)
    check_columns(frame, column_types(data.frame), test)
    unknown = sorted(set(frame[data.target]) - set(data.frame[data.target]), key=str)
    if unknown:
        raise InputError(f"{test} has a label {unknown[0]!r} in {data.target!r} that the training table does not have.")
    return frame[list(data.frame.columns)]


def _check_finite(X: pd.DataFrame) -> None:
    for column in X.select_dtypes("number").columns:
        count = int(np.isinf(X[column].to_numpy(dtype=float, na_value=np.nan)).sum())
        if count:
            raise InputError(
                f"Column {column!r} has {count} infinite values: replace or empty them, or pass {{drop}}.", drop=None
            )
