"""The one place where what the user passes is checked and turned into arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm.exceptions import InputError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Missing = Literal["error", "drop", "group"]

MISSING_LABEL = "missing"
OTHER_LABEL = "other"


@dataclass(frozen=True)
class Groups:
    """The protected attribute as codes 0..K-1 and the labels they stand for.

    A code of -1 marks a row to leave out (``missing="drop"``). With several protected columns a label is a
    tuple, one value per column.
    """

    codes: IntArray
    labels: tuple[Hashable, ...]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """Labels as text, crossed ones joined by " × "."""
        return tuple(group_name(label) for label in self.labels)

    @property
    def sizes(self) -> IntArray:
        """People in each group."""
        return np.bincount(self.codes[self.codes >= 0], minlength=self.n_groups).astype(np.int64)


def group_name(label: Hashable) -> str:
    """Text for a group label.

    >>> group_name(("Female", "Black"))
    'Female × Black'
    """
    if isinstance(label, tuple):
        return " × ".join(str(part) for part in label)
    return str(label)


def encode_groups(
    sensitive_features: Any,
    *,
    n_rows: int | None = None,
    missing: Missing = "error",
    merge_below: int | None = None,
    min_groups: int = 2,
) -> Groups:
    """Turn one or several protected columns into group codes.

    Parameters
    ----------
    sensitive_features : array-like, Series, data frame or dict of columns
        One value per row, of any hashable type. Several columns are crossed.
    n_rows : int, optional
        How many rows the data has; a different length is an error.
    missing : {"error", "drop", "group"}
        What to do with a missing value: refuse, mark the row -1, or make "missing" a group of its own.
    merge_below : int, optional
        Groups with fewer people than this are merged into one called "other".
    min_groups : int
        Fewer groups than this are an error.

    Examples
    --------
    >>> encode_groups(["b", "a", "b"]).labels
    ('a', 'b')
    >>> encode_groups({"sex": ["F", "M"], "race": ["x", "y"]}).names
    ('F × x', 'M × y')
    """
    if missing not in ("error", "drop", "group"):
        raise InputError(f"`missing` must be 'error', 'drop' or 'group'; got {missing!r}.")
    frame = _as_columns(sensitive_features)
    if n_rows is not None and len(frame) != n_rows:
        raise InputError(f"`sensitive_features` has {len(frame)} rows, the data has {n_rows}: pass one group per row.")
    absent = frame.isna()
    if missing == "error" and absent.to_numpy().any():
        columns = ", ".join(str(c) for c in frame.columns[absent.any()])
        raise InputError(
            f"{int(absent.any(axis=1).sum())} of {len(frame)} rows have no value in the protected column"
            f" ({columns}): fill them, or pass missing='drop' or missing='group'."
        )
    codes, labels = _factorize(frame, absent)
    if missing == "drop":
        codes, labels = _recode(np.where(absent.any(axis=1).to_numpy(), -1, codes), labels)
    if merge_below is not None:
        codes, labels = _merge_small(codes, labels, merge_below)
    if len(labels) < min_groups:
        only = ", ".join(repr(group_name(label)) for label in labels) or "none"
        raise InputError(
            f"The protected attribute has {len(labels)} group ({only}): at least {min_groups} are needed to compare."
        )
    return Groups(codes, labels)


def _as_columns(sensitive_features: Any) -> pd.DataFrame:
    if sensitive_features is None:
        raise InputError("`sensitive_features` is missing: pass the protected attribute, one value per row.")
    if hasattr(sensitive_features, "to_pandas"):  # polars; to_dict needs no pyarrow
        data = sensitive_features
        sensitive_features = (
            {c: data[c].to_list() for c in data.columns} if hasattr(data, "columns") else data.to_list()
        )
    if isinstance(sensitive_features, (pd.DataFrame, pd.Series)):
        return pd.DataFrame(sensitive_features).reset_index(drop=True)
    if isinstance(sensitive_features, Mapping):
        try:
            return pd.DataFrame(dict(sensitive_features)).reset_index(drop=True)
        except ValueError as error:
            raise InputError(f"The protected columns do not fit together: {error}.") from error
    if isinstance(sensitive_features, (list, tuple)):
        # through object, so that ("F", None) keeps its None and tuples stay labels
        column = np.empty(len(sensitive_features), dtype=object)
        column[:] = sensitive_features
        return pd.DataFrame({"group": pd.Series(column, dtype=object)})
    array = np.asarray(sensitive_features)
    if array.ndim not in (1, 2):
        raise InputError(f"`sensitive_features` must have one or two dimensions; got {array.ndim}.")
    return pd.DataFrame(array)


def _factorize(frame: pd.DataFrame, absent: pd.DataFrame) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Codes over the combinations that occur, in sorted order of their labels."""
    columns = []
    for position in range(frame.shape[1]):
        values = frame.iloc[:, position].astype(object)
        columns.append(values.where(~absent.iloc[:, position], MISSING_LABEL))
    if len(columns) == 1:
        keys = pd.Series(columns[0].to_numpy(dtype=object), dtype=object)
    else:
        joined = np.empty(len(frame), dtype=object)
        joined[:] = list(zip(*columns, strict=True))
        keys = pd.Series(joined, dtype=object)
    try:
        codes, uniques = pd.factorize(keys)
    except TypeError as error:
        raise InputError(f"Group values must be hashable: {error}.") from error
    labels = list(uniques)
    try:
        order = sorted(range(len(labels)), key=lambda i: labels[i])
    except TypeError:
        order = sorted(range(len(labels)), key=lambda i: group_name(labels[i]))
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels))
    plain = [labels[i].item() if isinstance(labels[i], np.generic) else labels[i] for i in order]
    return rank[codes] if len(codes) else np.empty(0, np.int64), tuple(plain)


def _recode(codes: IntArray, labels: tuple[Hashable, ...]) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Drop labels nobody has any more; -1 stays -1."""
    used = np.unique(codes[codes >= 0])
    new = np.full(len(labels) + 1, -1, dtype=np.int64)
    new[used] = np.arange(len(used))
    return new[codes], tuple(labels[i] for i in used)


def _merge_small(
    codes: IntArray, labels: tuple[Hashable, ...], merge_below: int
) -> tuple[IntArray, tuple[Hashable, ...]]:
    sizes = np.bincount(codes[codes >= 0], minlength=len(labels))
    small = sizes < merge_below
    if not small.any():
        return codes, labels
    merged = np.where((codes >= 0) & small[codes], len(labels), codes)
    return _recode(merged, (*labels, OTHER_LABEL))


def check_binary(y: Any, *, target: Any = None) -> tuple[npt.NDArray[np.bool_], tuple[Any, Any]]:
    """Labels as booleans (True = `target`), and the two classes as (other, target).

    Without `target` the larger of the two values is the target, as scikit-learn has it.

    >>> check_binary(["no", "yes", "no"])
    (array([False,  True, False]), ('no', 'yes'))
    """
    values = np.asarray(y)
    if values.ndim != 1:
        raise InputError(f"y must be one column; got shape {values.shape}.")
    if pd.isna(values).any():
        raise InputError(f"y has {int(pd.isna(values).sum())} missing values: drop or fill those rows first.")
    classes = np.unique(values)
    if len(classes) != 2:
        shown = ", ".join(repr(c) for c in classes[:5].tolist()) + (", ..." if len(classes) > 5 else "")
        raise InputError(
            f"Only binary classification is supported. y has {len(classes)} labels ({shown}):"
            " choose one against the rest first."
        )
    low, high = classes.tolist()
    if target is None or target == high:
        return values == high, (low, high)
    if target == low:
        return values == low, (high, low)
    raise InputError(f"target={target!r} is not a label of y, whose labels are {low!r} and {high!r}.")
