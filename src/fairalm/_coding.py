"""Codes for the values of protected columns: 0, 1, ... in sorted order, -1 for rows to leave out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairalm.arrays import IntArray
from fairalm.exceptions import InputError

MISSING_LABEL = "missing"
OTHER_LABEL = "other"
MOST_GROUPS = 200  # the largest of so many differences is chance, and tables of pairs of groups get large
SOME_GROUPS, FEWEST_ROWS = 50, 10  # with more groups of fewer rows on average, a cell has fewer than 5: is it an id?
Labels = tuple[Hashable, ...]


def group_name(label: Hashable) -> str:
    """Text for a group label.

    >>> group_name(("Female", "Black"))
    'Female × Black'
    """
    if isinstance(label, tuple):
        return " × ".join(str(part) for part in label)
    return str(label)


def group_names(labels: Iterable[Hashable]) -> tuple[str, ...]:
    """Texts for group labels, all different: where two would be the same, their parts are quoted.

    >>> group_names([("a × b", "c"), ("a", "b × c"), ("a", "b")])
    ("'a × b' × 'c'", "'a' × 'b × c'", 'a × b')
    >>> group_names(["1", 1, 2])
    ("'1'", '1', '2')
    """
    names = {label: group_name(label) for label in labels}
    times = Counter(names.values())
    for label, name in names.items():
        if times[name] > 1:
            parts = label if isinstance(label, tuple) else (label,)
            names[label] = unused(" × ".join(map(repr, parts)), (own for own in names.values() if times[own] == 1))
    return tuple(names.values())


def unused(label: str, taken: Iterable[Any]) -> str:
    """The label, with stars appended until no value in `taken` has that name."""
    present = {str(value) for value in taken}
    while label in present:
        label += "*"
    return label


def factorize(frame: pd.DataFrame, absent: pd.DataFrame) -> tuple[IntArray, Labels]:
    """Codes over the combinations that occur, in sorted order of their labels."""
    columns = []
    for i in range(frame.shape[1]):
        values, holes = frame.iloc[:, i].to_numpy(dtype=object), absent.iloc[:, i].to_numpy()
        if holes.any():
            values = np.where(holes, unused(MISSING_LABEL, values[~holes]), values)
        columns.append(values)
    keys = columns[0]
    if len(columns) > 1:
        keys = np.empty(len(frame), dtype=object)
        keys[:] = list(zip(*columns, strict=True))
    try:
        codes, uniques = pd.factorize(keys)
    except TypeError as error:
        raise InputError(f"Group values must be hashable: {error}.") from error
    labels = list(uniques)
    try:
        order = sorted(range(len(labels)), key=lambda i: labels[i])
    except TypeError:
        order = sorted(range(len(labels)), key=lambda i: (group_name(labels[i]), type(labels[i]).__name__))
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels))
    plain = [labels[i].item() if isinstance(labels[i], np.generic) else labels[i] for i in order]
    return rank[codes] if len(codes) else np.empty(0, np.int64), tuple(plain)


def object_frame(names: list[Any], columns: list[list[Any]]) -> pd.DataFrame:
    """A frame of object columns, in which 0 beside None stays 0 and tuples stay labels."""
    lengths = sorted({len(column) for column in columns})
    if len(lengths) != 1:
        raise InputError(f"The protected columns must have one length; got {lengths or 'no column'}.")
    values = np.empty((lengths[0], len(columns)), dtype=object)
    for i, column in enumerate(columns):
        try:
            values[:, i] = column
        except ValueError:  # labels that are sequences themselves
            for row, value in enumerate(column):
                values[row, i] = value
    return pd.DataFrame(values, columns=names, dtype=object)


class Distinct(NamedTuple):
    """The combinations of values that occur in some columns."""

    columns: list[list[Any]]  # the values; None for a missing one
    rows: IntArray  # how many rows have each combination
    of: IntArray  # the combination of each row


def distinct(columns: Sequence[Any]) -> Distinct | None:
    """The combinations that occur in arrays and pandas columns of one length; None for anything else.

    >>> distinct([np.array(["b", "a", "b"])])
    Distinct(columns=[['b', 'a']], rows=array([2, 1]), of=array([0, 1, 0]))
    """
    kinds = (pd.Series, pd.Categorical)
    if not all(isinstance(own, kinds) or (isinstance(own, np.ndarray) and own.dtype != object) for own in columns):
        return None
    if len({np.shape(own) for own in columns}) != 1 or np.ndim(columns[0]) != 1 or not len(columns[0]):
        return None
    of, values = None, list[list[Any]]()
    for own in columns:
        try:
            codes, uniques = pd.factorize(own)
        except TypeError:  # values that cannot be hashed
            return None
        labels = [*pd.Series(uniques).tolist(), None]
        codes[codes < 0] = len(labels) - 1
        if of is None:
            of, values = codes, [labels]
            continue
        of, combinations = pd.factorize(of * len(labels) + codes)
        before, last = np.divmod(np.asarray(combinations), len(labels))
        values = [[column[i] for i in before] for column in values] + [[labels[i] for i in last]]
    assert of is not None
    rows = np.bincount(of, minlength=len(values[0]))
    if len(columns) == 1 and not rows[-1]:  # nothing is missing
        rows, values = rows[:-1], [values[0][:-1]]
    return Distinct(values, rows, np.asarray(of))


def recode(codes: IntArray, labels: Labels) -> tuple[IntArray, Labels]:
    """Codes without gaps, after dropping labels that no row has; -1 stays -1."""
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(labels)))
    new = np.full(len(labels) + 1, -1, dtype=np.int64)
    new[used] = np.arange(len(used))
    return new[codes], tuple(labels[i] for i in used)


def merge_small(codes: IntArray, labels: Labels, merge_below: int, rows: IntArray) -> tuple[IntArray, Labels]:
    """Merge the labels of fewer rows than `merge_below` into one, "other", the last; a code stands for `rows`."""
    sizes = np.bincount(codes[codes >= 0], rows[codes >= 0], len(labels))
    small = sizes < merge_below
    if not small.any():
        return codes, labels
    merged = np.where((codes >= 0) & small[codes], len(labels), codes)
    return recode(merged, (*labels, unused(OTHER_LABEL, labels)))


def cross(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Codes of the combinations that occur, and for each column its code in every combination.

    >>> codes, of = cross([np.array([0, 1, 1, -1]), np.array([2, 0, 2, 1])])
    >>> codes.tolist(), of.tolist()
    ([0, 1, 2, -1], [[0, 1, 1], [2, 0, 2]])
    """
    table = np.stack(columns)
    kept = (table >= 0).all(axis=0)
    of, inverse = np.unique(table[:, kept], axis=1, return_inverse=True)
    codes = np.full(table.shape[1], -1, dtype=np.int64)
    codes[kept] = inverse.reshape(-1)
    return codes, of


def check_not_ids(columns: Iterable[Any], n_rows: int, n_groups: int) -> None:
    """Refuse more groups than can be compared."""
    if n_groups > SOME_GROUPS and n_rows < FEWEST_ROWS * n_groups:
        why = f"{n_rows / n_groups:.1f} rows per group: is it an id?"
    elif n_groups > MOST_GROUPS:
        why = f"more than the {MOST_GROUPS} that can be compared: among so many, some differ by chance."
    else:
        return
    raise InputError(
        f"The protected column {' × '.join(repr(name) for name in columns)} has {n_groups:,} groups in {n_rows:,} rows,"
        f" {why} Name another column, or merge small groups ({{merge_below}}).",
        merge_below=...,
    )
