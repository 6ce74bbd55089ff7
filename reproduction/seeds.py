"""Means over seeds as columns and as text, and pairs of tables with the same seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairalm.measures import Measure
from fairalm.measures.text import with_interval


def columns(measures: Mapping[str, Measure | Mapping[str, Any]], *, scale: float = 1.0) -> dict[str, float]:
    """Each value and the ends of its interval as ``NAME``, ``NAME_low`` and ``NAME_high``; NaN where there is none.

    The measures may be plain JSON, as of ``Measure.to_dict()``.

    >>> columns({"error": Measure("error", 0.25, 0.125, 0.5, n=9, n_min=9)}, scale=100)
    {'error': 25.0, 'error_low': 12.5, 'error_high': 50.0}
    """
    entries = {
        f"{name}{end}": (measure.to_dict() if isinstance(measure, Measure) else measure)[key]
        for name, measure in measures.items()
        for end, key in (("", "value"), ("_low", "low"), ("_high", "high"))
    }
    return {name: np.nan if value is None else scale * value for name, value in entries.items()}


def column_text(row: Mapping[Any, Any], name: str, digits: int = 1, **form: Any) -> str:
    """A value with its interval, from :func:`columns`; "" if there is none. `form` as of :func:`with_interval`.

    >>> column_text({"deo": 5.93, "deo_low": 1.2, "deo_high": 11.04}, "deo", scale=1)
    '5.9 [1.2, 11.0]'
    """
    if pd.isna(row[name]):
        return ""
    return with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], digits, **{"unit": "", **form})


def measure_text(measure: Measure, **form: Any) -> str:
    """The same from a measure."""
    return column_text(columns({"value": measure}), "value", **form)


def paired(tables: Mapping[str, pd.DataFrame], reference: str) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Each table but one with its name, and that one, both with the seeds (their index) that the two share."""
    other = tables.get(reference, pd.DataFrame())
    for name, table in tables.items():
        seeds = table.index.intersection(other.index)
        if name != reference and not seeds.empty:
            yield name, table.loc[seeds], other.loc[seeds]
