"""Statistics over seeds: means as columns and as text, and comparisons seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

from fairalm.measures import Measure
from fairalm.measures.chance import chance_gap
from fairalm.measures.text import interval, with_interval
from reproduction.experiment import Table


def columns(measures: Mapping[str, Measure | Mapping[str, Any]], *, scale: float = 1.0) -> dict[str, float]:
    """Each value and the ends of its interval as ``NAME``, ``NAME_low`` and ``NAME_high``; NaN where there is none.

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


def text_table(
    table: pd.DataFrame, heads: Mapping[str, str], digits: Mapping[str, tuple[int, int]] | None = None
) -> Table:
    """Columns of a table under these heads, numbers with their interval; `digits` by column of a number and the ends.

    >>> text_table(pd.DataFrame([{"model": "ours", "deo": 1.12, "deo_low": 0, "deo_high": 5.6}]), {"deo": "DEO"}).rows
    [['1.1 [0.0, 5.6]']]
    """

    def text(line: Mapping[Any, Any], name: str) -> str:
        value, low, high = (line.get(name + end, np.nan) for end in ("", "_low", "_high"))
        if not isinstance(value, float):
            return str(value)
        if np.isnan(low):
            return "" if np.isnan(value) else f"{value:.1f}"
        own, ends = (digits or {}).get(name, (1, 1))
        return f"{value:.{own}f} {interval(low, high, ends, scale=1)}"

    return Table(list(heads.values()), [[text(line, name) for name in heads] for line in table.to_dict("records")])


def chance_of(entry: Mapping[str, Any]) -> float:
    """The DEO that a model without any gap shows on as many rows as an entry of a page has."""
    groups = entry["groups"].values()
    positives = [group["tp"] + group["fn"] for group in groups]
    return chance_gap(sum(group["tp"] for group in groups) / sum(positives), *positives)


def paired(tables: Mapping[str, pd.DataFrame], reference: str) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Each table but one with its name, and that one, both with the seeds (their index) that the two share."""
    other = tables.get(reference, pd.DataFrame())
    for name, table in tables.items():
        seeds = table.index.intersection(other.index)
        if name != reference and not seeds.empty:
            yield name, table.loc[seeds], other.loc[seeds]


def variance_ratio(first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95) -> tuple[float, float, float]:
    """The variance of `first` over that of `second`, with the interval of Pitman and Morgan; NaN where undefined.

    Two variances are equal where sums and differences of the pairs are not correlated; the interval holds the ratios
    that this test does not reject.

    >>> print("{:.2f} [{:.2f}, {:.2f}]".format(*variance_ratio([1, 2, 3, 4, 6], [2, 5, 6, 9, 10])))
    0.36 [0.13, 1.01]
    """
    x, y = (np.asarray(values, dtype=float) for values in (first, second))
    n = len(x)
    if n < 3 or not x.var() or not y.var():
        return np.nan, np.nan, np.nan
    value, unexplained = float(x.var() / y.var()), 1 - float(np.corrcoef(x, y)[0, 1]) ** 2
    k = 1 + 2 * unexplained * float(stdtrit(n - 2, (1 + level) / 2)) ** 2 / (n - 2)
    root = float(np.sqrt(max(k * k - 1, 0.0)))
    return value, value * (k - root), value * (k + root)
