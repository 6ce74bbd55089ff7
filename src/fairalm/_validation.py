"""Checks of what the user passes: names, protected attributes and labels, which are turned into arrays."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._coding import check_not_ids, cross, distinct, factorize, group_names, merge_small, object_frame, recode
from fairalm.arrays import FloatArray, IntArray
from fairalm.exceptions import InputError

Missing = Literal["error", "drop", "group"]
Attributes = Literal["crossed", "separate"]
Named = TypeVar("Named")

MISSING: tuple[Missing, ...] = get_args(Missing)
ATTRIBUTES: tuple[Attributes, ...] = get_args(Attributes)


def no_such(what: str, name: Any, known: Iterable[str]) -> InputError:
    """The error for an unknown name, with the nearest known one, whatever its case.

    >>> raise no_such("column", "sex", ["AGE", "SEX"])
    Traceback (most recent call last):
    ...
    fairalm.exceptions.InputError: There is no column 'sex', did you mean 'SEX'? There are: AGE, SEX.
    """
    known = list(known)
    near = nearest(str(name), known)
    hint = "; there are" if near is None else f", did you mean {near!r}? There are"
    return InputError(f"There is no {what} {name!r}{hint}{': ' if known else ' '}{', '.join(known) or 'none'}.")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one: the same in another case, else the same but for some letters.

    >>> nearest("Sex", ["race", "SEX", "sax"]), nearest("race_sex", ["Race-Sex"]), nearest("income", ["race"])
    ('SEX', 'Race-Sex', None)
    """
    by_case = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), by_case, n=1)
    return by_case[near[0]] if near else None


def check_choice(what: str, name: Any, known: Iterable[str]) -> None:
    """Refuse a name that is not known."""
    known = list(known)
    if name not in known:
        raise no_such(what, name, known)


def by_name(what: str, name: str, known: Mapping[str, Named]) -> Named:
    """What a known name stands for."""
    check_choice(what, name, known)
    return known[name]


def check_parameter(parameter: str, value: Any, known: Iterable[str]) -> None:
    """Refuse a value that a parameter cannot have."""
    if value not in known:
        message = f"{{{parameter}}} must be one of {', '.join(known)}; got {value!r}."
        raise InputError(message, **{parameter: None})


def check_same_index(**arguments: Any) -> None:
    """Refuse pandas objects of one length whose indexes differ: by position, their rows do not belong together.

    The first with an index is the reference; what has none is taken by position.
    """
    indexes: dict[str, pd.Index[Any]] = {}
    for name, value in arguments.items():
        is_dict = isinstance(value, Mapping) and not hasattr(value, "shape")  # a sparse matrix can be a dict too
        columns = {f"{name}[{key!r}]": value[key] for key in value} if is_dict else {name: value}
        indexes |= {key: part.index for key, part in columns.items() if isinstance(part, (pd.Series, pd.DataFrame))}
    for name, own in indexes.items():
        first, expected = next(iter(indexes.items()))
        if len(own) != len(expected) or own.equals(expected):
            continue
        row = bisect_left(range(len(own)), True, key=lambda i: not own[: i + 1].equals(expected[: i + 1]))
        here, there = (index[row : row + 1].tolist()[0] for index in (own, expected))
        raise InputError(
            f"{name} and {first} have different indexes: row {row} is {here!r} in {name}, {there!r} in {first}. Put the"
            f" rows of {name} in the order of {first} with {name}.loc[{first}.index] or, if they are in that order"
            f" already, pass {name}.to_numpy()."
        )


@dataclass(frozen=True)
class Attribute:
    """A protected column on its own: its name and values, and the value `of` each crossed group, as a code."""

    name: str
    labels: tuple[Hashable, ...]
    of: IntArray


@dataclass(frozen=True)
class Groups:
    """The protected attribute as codes 0..K-1 and the labels they stand for.

    A code of -1 marks a row to leave out (``missing="drop"``). With several protected columns a label is a
    tuple, one value per column. These crossed groups are compared, unless there are `attributes`: then each of them is
    compared on its own, its values with one another. Without `rows` each code is one row of data.
    """

    codes: IntArray
    labels: tuple[Hashable, ...]
    attributes: tuple[Attribute, ...] = ()
    rows: IntArray | None = None  # how many rows each code stands for, in a table of counts

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """Labels as text, crossed ones joined by " × "."""
        return group_names(self.labels)

    @property
    def sizes(self) -> IntArray:
        """Rows in each group."""
        kept = self.codes >= 0
        return np.bincount(self.codes[kept], self.rows_each[kept], self.n_groups).astype(np.int64)

    @property
    def rows_each(self) -> IntArray:
        """How many rows each code stands for."""
        return np.ones(len(self.codes), np.int64) if self.rows is None else self.rows

    def take(self, rows: Any) -> Groups:
        """The groups of some rows; a group that has none is kept."""
        return replace(self, codes=self.codes[rows], rows=None if self.rows is None else self.rows[rows])

    @property
    def apart(self) -> tuple[Groups, ...]:
        """The groups that are compared with one another: those of each attribute, "sex = Female"; itself if crossed."""
        return tuple(
            Groups(
                np.where(self.codes >= 0, attribute.of[self.codes], -1),
                tuple(f"{attribute.name} = {name}" for name in group_names(attribute.labels)),
                rows=self.rows,
            )
            for attribute in self.attributes
        ) or (self,)

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many groups each attribute has."""
        return tuple(groups.n_groups for groups in self.apart)

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of the groups of all attributes, one attribute after the other."""
        names = [name for groups in self.apart for name in groups.names]
        return tuple(name + "*" * names[:place].count(name) for place, name in enumerate(names))

    @property
    def membership(self) -> FloatArray:
        """Which crossed group (row) belongs to which compared group (column): 1 or 0."""
        parts = [np.eye(len(attribute.labels))[attribute.of] for attribute in self.attributes]
        return np.hstack(parts or [np.eye(self.n_groups)])


def encode_groups(
    sensitive_features: Any,
    *,
    n_rows: int | None = None,
    missing: Missing = "error",
    merge_below: int | None = None,
    min_groups: int = 2,
    attributes: Attributes = "crossed",
    refuse_ids: bool = True,
    rows: IntArray | None = None,
) -> Groups:
    """Turn one or several protected columns into group codes.

    Parameters
    ----------
    sensitive_features : array-like, Series, data frame or dict of columns
        One value per row, of any hashable type.
    n_rows : int, optional
        How many rows the data has; a different length is an error.
    missing : {"error", "drop", "group"}
        What to do with a missing value: refuse it, mark the row -1, or make "missing" a group of its own.
    merge_below : int, optional
        Groups with fewer rows than this are merged into one called "other".
    min_groups : int
        Fewer groups than this are an error.
    attributes : {"crossed", "separate"}
        Several columns: compare the combinations of their values, or the values of each column on its own. Then
        the other settings are about each column.
    refuse_ids : bool
        Refuse so many groups that the column seems to be an id; False where the groups are known or only listed.
    rows : ndarray of int, optional
        In a table of counts: how many rows of data each row of the table stands for.

    Examples
    --------
    >>> encode_groups(["b", "a", "b"]).labels
    ('a', 'b')
    >>> encode_groups({"sex": ["F", "M"], "race": ["x", "y"]}).names
    ('F × x', 'M × y')
    >>> encode_groups({"sex": ["F", "M"], "race": ["x", "y"]}, attributes="separate").compared
    ('sex = F', 'sex = M', 'race = x', 'race = y')
    """
    check_parameter("missing", missing, MISSING)
    check_parameter("attributes", attributes, ATTRIBUTES)
    names, columns = _named_columns(sensitive_features)
    if rows is None and (table := distinct(columns)) is not None:  # each combination of values is looked at once
        if n_rows is not None and len(table.of) != n_rows:
            raise _wrong_length(len(table.of), n_rows)
        settings: Any = {"missing": missing, "merge_below": merge_below, "min_groups": min_groups}
        settings |= {"attributes": attributes, "refuse_ids": refuse_ids, "rows": table.rows}
        groups = encode_groups(object_frame(names, table.columns), **settings)
        return replace(groups, codes=groups.codes[table.of], rows=None)
    frame = object_frame(names, [_as_list(column) for column in columns])
    if n_rows is not None and len(frame) != n_rows:
        raise _wrong_length(len(frame), n_rows)
    absent, each = frame.isna(), np.ones(len(frame), np.int64) if rows is None else rows
    if missing == "error" and absent.to_numpy().any():
        listed = ", ".join(str(c) for c in frame.columns[absent.any()])
        raise InputError(
            f"{int(each[absent.any(axis=1)].sum())} of {int(each.sum())} rows have no value in the protected column"
            f" ({listed}): fill them, or pass {{missing}} to leave these rows out ('group' makes them a group).",
            missing="drop",
        )
    left_out = absent.any(axis=1).to_numpy() & (missing == "drop")
    n_columns = frame.shape[1] if attributes == "separate" else 1
    if n_columns > 1 and not frame.columns.is_unique:
        raise InputError(f"The protected columns must have different names; got {', '.join(map(str, frame.columns))}.")
    coded = []
    for places in np.array_split(np.arange(frame.shape[1]), n_columns):
        codes, labels = factorize(frame.iloc[:, places], absent.iloc[:, places])
        codes, labels = recode(np.where(left_out, -1, codes), labels)
        if merge_below is not None:
            codes, labels = merge_small(codes, labels, merge_below, each)
        if refuse_ids:
            check_not_ids(frame.columns[places], int(each[codes >= 0].sum()), len(labels))
        if len(labels) < min_groups:
            which = f" {frame.columns[places[0]]!r}" if n_columns > 1 else ""
            only = ", ".join(map(repr, group_names(labels))) or "none"
            raise InputError(
                f"The protected attribute{which} has {len(labels)} group ({only}): at least {min_groups} are needed to"
                " compare."
            )
        coded.append((codes, labels))
    if len(coded) == 1:
        return Groups(*coded[0], rows=rows)
    codes, of = cross([codes for codes, _ in coded])
    parts = [
        Attribute(str(name), labels, values) for name, (_, labels), values in zip(frame.columns, coded, of, strict=True)
    ]
    crossed = zip(*([part.labels[value] for value in part.of] for part in parts), strict=True)
    return Groups(codes, tuple(crossed), tuple(parts), rows)


def _wrong_length(n_groups: int, n_rows: int) -> InputError:
    return InputError(f"`sensitive_features` has {n_groups} rows, the data has {n_rows}: pass one group per row.")


def _named_columns(sensitive_features: Any) -> tuple[list[Any], list[Any]]:
    """The protected columns and their names."""
    data = sensitive_features
    if data is None:
        raise InputError("`sensitive_features` is missing: pass the protected attribute, one value per row.")
    names: list[Any]
    columns: list[Any]
    if isinstance(data, pd.DataFrame):  # its names may repeat, which narwhals does not allow
        names, columns = list(data.columns), [data.iloc[:, i] for i in range(data.shape[1])]
    elif isinstance(table := nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame):
        names, columns = table.columns, [column.to_list() for column in table.iter_columns()]
    elif isinstance(data, Mapping):
        names, columns = list(data), list(data.values())
        check_same_index(sensitive_features=data)
    elif isinstance(data, np.ndarray) and data.ndim == 2:
        names, columns = list(range(data.shape[1])), list(data.T)
    else:
        names, columns = [getattr(data, "name", None) or "group"], [data]
    return names, columns


def _as_list(column: Any) -> list[Any]:
    if isinstance(column, (pd.Series, pd.Index, pd.Categorical)):
        return list(pd.Series(column).tolist())
    if isinstance(column, (list, tuple)):
        return list(column)
    series = nw.from_native(column, series_only=True, pass_through=True)
    array = np.asarray(series.to_list() if isinstance(series, nw.Series) else column, dtype=object)
    if array.ndim != 1:
        raise InputError(f"`sensitive_features` must be a column, or several; got {array.ndim} dimensions.")
    return list(array.tolist())


def check_binary(y: Any, *, target: Any = None) -> tuple[npt.NDArray[np.bool_], tuple[Any, Any]]:
    """Labels as booleans (True = `target`), and the two classes as (other, target).

    Without `target`, the larger of the two values is the target, as in scikit-learn.

    >>> check_binary(["no", "yes", "no"])
    (array([False,  True, False]), ('no', 'yes'))
    """
    values = np.asarray(y)
    if values.ndim != 1:
        raise InputError(f"y must be one column; got shape {values.shape}.")
    if pd.isna(values).any():
        raise InputError(f"y has {int(pd.isna(values).sum())} missing values: drop or fill those rows first.")
    try:
        classes = list(np.unique(values))
    except TypeError as error:
        raise InputError(f"The labels of y are of several types, which cannot be ordered: {error}.") from error
    plain = [c.item() if isinstance(c, np.generic) and not isinstance(c, np.datetime64) else c for c in classes]
    if len(classes) != 2:
        shown = ", ".join(repr(c) for c in plain[:5]) + (", ..." if len(classes) > 5 else "")
        raise InputError(
            f"Only binary classification is supported. y has {len(classes)} labels ({shown}):"
            " choose one against the rest first, or use fairalm.FrontierClassifier, which takes several."
        )
    low, high = plain
    if target is None or target == high:
        return values == classes[1], (low, high)
    if target == low:
        return values == classes[0], (high, low)
    raise InputError(f"{{target}} is not a label of y, whose labels are {low!r} and {high!r}.", target=target)


def kebab(name: str) -> str:
    """A class name as the command line spells it.

    >>> kebab("EqualOpportunity"), kebab("L1Penalty")
    ('equal-opportunity', 'l1-penalty')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def first_line(documented: object) -> str:
    """First line of a docstring, without its full stop."""
    return (documented.__doc__ or "").strip().partition("\n")[0].rstrip(".")
