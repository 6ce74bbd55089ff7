"""Columns that a model should perhaps not see, found before training: ids, and those that reveal a protected one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairalm.datasets import MOST_CATEGORIES
from fairalm.exceptions import ColumnWarning, InputError

FEWEST = 20  # rows; fewer can all differ by chance
DISTINCT = 0.9  # share of different texts from which a column is taken for an id
ID_WORDS = {"id", "ids", "index", "key", "number", "row"}
REVEALED = 0.95  # see docs/how-to/tables.md
DECIMALS = r"[+-]?\d+,\d+"


def suspects(X: pd.DataFrame, protected: pd.DataFrame) -> tuple[ColumnWarning, ...]:
    """Refuse text that is unique per row, and return the warnings; `protected` are columns hidden from the model."""
    _refuse_texts(X)
    warnings = [*_row_numbers(X), *_decimals(X), *_many_texts(X)]
    for name in protected.columns:
        warnings += _revealing(X, protected[name])
    return tuple(warnings)


def _texts(X: pd.DataFrame) -> list[str]:
    return [name for name in X.columns if not is_numeric_dtype(X[name].dtype) and not is_bool_dtype(X[name].dtype)]


def _refuse_texts(X: pd.DataFrame) -> None:
    counts = {name: (X[name].nunique(), int(X[name].notna().sum())) for name in _texts(X)}
    ids = [name for name, (distinct, n) in counts.items() if n >= FEWEST and distinct > DISTINCT * n]
    for name in ids:
        if (decimal := _decimal(X[name])) is not None:
            raise InputError(
                f"Column {name!r} holds decimal commas, such as {decimal!r}: pass {{decimal}}.", decimal=","
            )
    if ids:
        shown = ", ".join("{!r} ({:,} different texts in {:,} rows)".format(name, *counts[name]) for name in ids)
        raise InputError(f"A model learns nothing from names and ids: leave out {shown} with {{drop}}.", drop=ids)


def _row_numbers(X: pd.DataFrame) -> list[ColumnWarning]:
    """Whole numbers, all different, that are in order, are a range in any order, or are called an id."""
    found = []
    for name in X.select_dtypes("number").columns:
        column = X[name]
        if len(column) < FEWEST or not column.is_unique or column.isna().any() or (column % 1 != 0).any():
            continue
        is_range = column.max() - column.min() == len(column) - 1
        in_order = column.is_monotonic_increasing or column.is_monotonic_decreasing
        if is_range or in_order or ID_WORDS & set(_words(name)):
            found.append(
                ColumnWarning(
                    f"column {name!r} looks like a row number or an id: leave it out of the model with {{drop}}.",
                    drop=name,
                )
            )
    return found


def _many_texts(X: pd.DataFrame) -> list[ColumnWarning]:
    """Columns with more texts than a model tells apart, which a saved one holds all the same."""
    counts = {name: X[name].nunique() for name in _texts(X)}
    return [
        ColumnWarning(
            f"column {name!r} has {n:,} different texts. The model tells the {MOST_CATEGORIES - 1} most frequent apart,"
            " but its file holds all of them: if they can name a person, leave the column out with {drop}.",
            drop=name,
        )
        for name, n in counts.items()
        if n > MOST_CATEGORIES
    ]


def _decimals(X: pd.DataFrame) -> list[ColumnWarning]:
    examples = {name: _decimal(X[name]) for name in _texts(X)}
    return [
        ColumnWarning(
            f"column {name!r} holds text such as {example!r}: if these are numbers, pass {{decimal}}.", decimal=","
        )
        for name, example in examples.items()
        if example is not None
    ]


def _decimal(column: pd.Series[Any]) -> str | None:
    """The first value of a column of numbers with decimal commas; None of another."""
    values = column.dropna().astype(str).head(1000)
    return str(values.iloc[0]) if len(values) and values.str.fullmatch(DECIMALS).all() else None


def _revealing(X: pd.DataFrame, protected: pd.Series[Any]) -> list[ColumnWarning]:
    """Features from which the protected value follows, or which are named after it."""
    groups, values = pd.factorize(protected, use_na_sentinel=False)
    found = []
    for name in X.columns:
        share = revealed(X[name], groups, len(values))
        if share >= REVEALED:
            reason = f"with it, a guess makes {100 * share:.1f} % fewer mistakes"
        elif _is_named_after(str(name), str(protected.name)):
            reason = "it is named after it"
        else:
            continue
        found.append(
            ColumnWarning(
                f"column {name!r} may reveal {protected.name!r}, which is kept from the model ({reason}): leave it out"
                " with {drop}, or say that the model may use the protected columns with {with_protected}.",
                drop=name,
                with_protected=True,
            )
        )
    return found


def revealed(column: pd.Series[Any], groups: Any, n_groups: int) -> float:
    """How many fewer mistakes in guessing a row's group its value in `column` leaves, as a share.

    This is Goodman and Kruskal's lambda, leaving one out: the guess is the largest group among the *other* rows of the
    same value, so that values which occur once tell nothing.

    >>> revealed(pd.Series(["a", "a", "b", "b", "b"]), np.array([0, 0, 1, 1, 1]), 2)
    1.0
    >>> revealed(pd.Series([1.5, 2.5, 3.5, 4.5, 5.5]), np.array([0, 0, 1, 1, 1]), 2)
    0.0
    """
    codes, values = pd.factorize(column, use_na_sentinel=False)
    counts = np.bincount(codes * n_groups + groups, minlength=len(values) * n_groups).reshape(-1, n_groups)
    base, n_rows = counts.sum(0).max(), len(codes)
    if base == n_rows:
        return 0.0
    largest, second = np.sort(counts, axis=1)[:, -1], np.sort(counts, axis=1)[:, -2]
    alone = counts.sum(1) == 1
    right = np.where(largest - 1 > second, largest, 0)[~alone].sum() + alone.sum() * base / n_rows
    return float(max(0.0, (right - base) / (n_rows - base)))


def _is_named_after(name: str, protected: str) -> bool:
    words, own = _words(name), _words(protected)
    return any(words[i : i + len(own)] == own for i in range(len(words) - len(own) + 1))


def _words(name: str) -> list[str]:
    """The words of a column's name: "race-sex", "race_sex" and "raceSex" have two.

    >>> _words("raceSex_2")
    ['race', 'sex', '2']
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W\d_]+|\d+", spaced.lower())
