"""Kinds of columns: numbers, text, and what is neither."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pandas as pd
from pandas.api.types import (
    infer_dtype,
    is_bool_dtype,
    is_complex_dtype,
    is_numeric_dtype,
    is_object_dtype,
    is_string_dtype,
)

from fairalm.exceptions import InputError

OBJECTS = ("bytes", "date", "datetime", "datetime64", "time", "timedelta", "period", "interval", "complex")


def wrong_kind(column: Any, kind: str) -> InputError:
    """The error for a column that holds neither numbers nor text."""
    return InputError(
        f"Column {column!r} has type {kind}, which is neither numbers nor text: turn it into one of them (a date into a"
        " number of days or a year, say), or leave it out with {drop}.",
        drop=column,
    )


def with_column(frame: pd.DataFrame, name: str, values: Any) -> pd.DataFrame:
    """The table with other values in a column, which may have any name: ``assign`` cannot set one called "self"."""
    frame = frame.copy(deep=False)
    frame[name] = values
    return frame


def plain_columns(frame: pd.DataFrame, columns: Container[str] | None = None) -> pd.DataFrame:
    """The table with decimals and half floats as floats; dates, bytes, lists and other objects are refused by name.

    pandas has no index of half floats, so that sorting and grouping by them would fail.

    With `columns` only these are looked at, as far as the table has them.

    >>> from decimal import Decimal
    >>> plain_columns(pd.DataFrame({"fee": [Decimal("1.5"), None]}))["fee"].tolist()
    [1.5, nan]
    """
    for name in frame.columns if columns is None else [name for name in frame.columns if name in columns]:
        column = frame[name]
        dtype = column.cat.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
        if not is_object_dtype(dtype):
            if is_complex_dtype(dtype) or not (
                is_numeric_dtype(dtype) or is_bool_dtype(dtype) or is_string_dtype(dtype)
            ):
                raise wrong_kind(name, str(dtype))
            if dtype == "float16":
                frame = with_column(frame, name, column.astype(float))
            continue
        kind = infer_dtype(column, skipna=True)
        if kind == "decimal":
            frame = with_column(frame, name, column.astype(float))
        elif kind in OBJECTS:
            raise wrong_kind(name, kind)
        elif kind == "mixed":
            for value in column:
                if isinstance(value, (list, dict, set, tuple, bytes)) or hasattr(value, "__array__"):
                    raise wrong_kind(name, type(value).__name__)
    return frame
