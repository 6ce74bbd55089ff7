"""What the columns of a table hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairalm._validation import nearest
from fairalm.exceptions import InputError

LARGEST = 1e100  # of a number: a variance is a sum of squares, and floats end at 1e308


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
        near = {column: nearest(column, frame.columns) for column in absent}
        listed = ", ".join(repr(column) + (f" (is it {near[column]!r}?)" if near[column] else "") for column in absent)
        raise InputError(
            f"{name} lacks the column{'s' if len(absent) > 1 else ''} {listed} of the training table; it has:"
            f" {', '.join(frame.columns)}."
        )
    for column, here in column_types(frame[list(types)]).items():
        if types[column] and here and here != types[column]:
            raise InputError(
                f"Column {column!r} of {name} holds {here}; in the training table it holds {types[column]}."
            )


def check_finite(X: pd.DataFrame, *, advice: str = "replace or empty them, or pass {drop}") -> None:
    """Refuse infinite numbers, and those too large to take the square of."""
    for column in X.select_dtypes("number").columns:
        size = np.abs(X[column].to_numpy(dtype=float, na_value=np.nan))
        for what, wrong in (("infinite values", np.isinf(size)), (f"values beyond {LARGEST:g}", size > LARGEST)):
            if wrong.any():
                raise InputError(f"Column {column!r} has {int(wrong.sum())} {what}: {advice}.", drop=None)
