"""From what was typed to people: features, labels, groups, and who trains and who tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairalm._validation import Groups, IntArray, Missing, encode_groups, no_such
from fairalm.cli._models import check_choice
from fairalm.datasets import Dataset, load, load_law, names, read_table, split
from fairalm.exceptions import InputError

MISSING = ("error", "drop", "group")


@dataclass(frozen=True)
class Source:
    """The options that say which data, as typed."""

    data: str
    target: str | None = None
    protected: Sequence[str] = ()
    positive: str | None = None
    drop: Sequence[str] = ()
    test: str | None = None
    with_protected: bool | None = None
    missing: str = "error"
    merge_below: int | None = None
    data_dir: str | None = None
    download: bool = False


@dataclass(frozen=True)
class People:
    """The rows to work on. Those without a protected value are gone if that was asked for."""

    data: Dataset
    X: pd.DataFrame
    labels: npt.NDArray[Any]  # as in the table
    groups: Groups
    n_train: int | None  # with a test file, the rows before it
    with_protected: bool
    n_dropped: int

    @property
    def label(self) -> str:
        """The positive label in words: "income = >50K"."""
        return f"{self.data.target} = {self.data.positive}"

    @property
    def names(self) -> npt.NDArray[Any]:
        """Group name of each row."""
        return np.array(self.groups.names, dtype=object)[self.groups.codes]

    def groups_of(self, rows: IntArray) -> Groups:
        """The groups of some rows, absent ones kept."""
        return Groups(self.groups.codes[rows], self.groups.labels)

    def rows(self, index: IntArray) -> People:
        """Some of the people."""
        data = replace(self.data, frame=self.data.frame.iloc[index].reset_index(drop=True))
        X = self.X.iloc[index].reset_index(drop=True)
        return replace(self, data=data, X=X, labels=self.labels[index], groups=self.groups_of(index))

    def split(self, test_size: float, seed: int) -> tuple[IntArray, IntArray]:
        """Row numbers to train and to test on; the test file's if there is one."""
        if self.n_train is not None:
            rows = np.arange(len(self.X))
            return rows[: self.n_train], rows[self.n_train :]
        return split(self.data.y, self.names, test_size=test_size, random_state=seed)


def read_data(data: str, data_dir: str | None = None, download: bool = False) -> tuple[pd.DataFrame, Dataset | None]:
    """Read a file, or a data set by name, which is then returned as well."""
    if data in names():
        known = load_law(data_dir, download=True) if data == "law" and download else load(data, data_dir)
        return known.frame[[*known.features, *known.protected, known.target]], known
    if not Path(data).suffix and not Path(data).exists():
        raise no_such("file or data set", data, names())
    return read_table(data), None


def read_people(source: Source) -> People:
    """Read and check everything but the split."""
    check_choice("choice of --missing", source.missing, MISSING)
    frame, known = read_data(source.data, source.data_dir, source.download)
    target = source.target or (known.target if known else None)
    protected = tuple(source.protected) or (known.protected if known else ())
    if target is None or not protected:
        raise InputError(
            f"{source.data} is a table of your own: name its label with --target and its protected column with"
            f" --protected; its columns are {', '.join(frame.columns)}."
        )
    positive = source.positive
    if positive is None and known and target == known.target:
        positive = known.positive
    data = Dataset.from_frame(
        frame,
        target=target,
        protected=protected,
        positive=positive,
        drop=tuple(source.drop),
        name=Path(source.data).stem,
    )
    table, n_train = data.frame, None
    if source.test is not None:
        table, n_train = pd.concat([table, _test_rows(source.test, data)], ignore_index=True), len(table)
    missing: Missing = source.missing  # type: ignore[assignment]  # checked above
    groups = encode_groups(table[list(protected)], missing=missing, merge_below=source.merge_below)
    kept = np.flatnonzero(groups.codes >= 0)
    if n_train is not None:
        n_train = int((kept < n_train).sum())
    data = replace(data, frame=table.iloc[kept].reset_index(drop=True))
    with_protected = known is not None if source.with_protected is None else source.with_protected
    X = data.features_frame(with_protected=with_protected)
    _check_finite(X)
    return People(
        data,
        X,
        np.array(data.frame[target].tolist()),
        Groups(groups.codes[kept], groups.labels),
        n_train,
        with_protected,
        len(table) - len(kept),
    )


def _test_rows(test: str, data: Dataset) -> pd.DataFrame:
    """Rows of a test file, which must look like the training table."""
    frame = read_data(test)[0]
    check_columns(frame, {column: kind_of(data.frame[column]) for column in data.frame.columns}, test)
    known, found = set(data.frame[data.target]), set(frame[data.target])
    if not found <= known:
        strange = sorted(found - known, key=str)[0]
        raise InputError(f"{test} has a label {strange!r} in {data.target!r} that the training table does not have.")
    return frame[list(data.frame.columns)]


def kind_of(column: pd.Series[Any]) -> str:
    """Tell numbers from text, as :func:`fairalm.datasets.preprocess` does; "" for a column of nothing."""
    if column.isna().all():
        return ""
    return "numbers" if is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype) else "text"


def check_columns(frame: pd.DataFrame, kinds: dict[str, str], name: str) -> None:
    """Refuse a table that lacks columns a model needs, or holds text where it needs numbers."""
    absent = [column for column in kinds if column not in frame.columns]
    if absent:
        raise InputError(
            f"{name} lacks the column{'s' if len(absent) > 1 else ''} {', '.join(map(repr, absent))}"
            f" of the training table; it has: {', '.join(frame.columns)}."
        )
    for column, kind in kinds.items():
        found = kind_of(frame[column])
        if kind and found and found != kind:
            raise InputError(f"Column {column!r} of {name} holds {found}; in the training table it holds {kind}.")


def find_label(values: Sequence[Any], text: str) -> Any:
    """Return the label that was typed: "1" finds 1."""
    for value in values:
        if str(value) == text:
            return value
    raise InputError(f"positive={text!r} is not a label: there are {', '.join(repr(value) for value in values)}.")


def _check_finite(X: pd.DataFrame) -> None:
    for column in X.select_dtypes("number").columns:
        count = int(np.isinf(X[column].to_numpy(dtype=float, na_value=np.nan)).sum())
        if count:
            raise InputError(f"Column {column!r} has {count} infinite values: replace or empty them, or pass --drop.")
