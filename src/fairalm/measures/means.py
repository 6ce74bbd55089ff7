"""Means of independent numbers, such as one per seed or per image, with Student's interval."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

from fairalm.exceptions import InputError
from fairalm.measures.intervals import rate_interval
from fairalm.measures.measure import Measure


def mean_interval(
    values: npt.ArrayLike, level: float = 0.95, *, bounds: tuple[float, float] | None = None
) -> tuple[float, float, float]:
    """Mean, lower and upper end of Student's interval of nominal coverage `level`, for independent numbers.

    A NaN among the values makes the result NaN. A single number has no interval: its ends are NaN. With `bounds`, the
    ends stay within them: (0, 1) for shares. That costs no coverage, since the true mean lies within them too.

    Examples
    --------
    >>> print("{:.2f} [{:.2f}, {:.2f}]".format(*mean_interval([1.0, 2.0, 3.0])))
    2.00 [-0.48, 4.48]
    >>> print("{:.2f} [{:.2f}, {:.2f}]".format(*mean_interval([0.0, 0.02, 0.03], bounds=(0, 1))))
    0.02 [0.00, 0.05]
    """
    numbers = np.asarray(values)
    n = len(numbers)
    if n == 0:
        raise InputError("`values` is empty: a mean needs at least one number.")
    mean = float(numbers.mean())
    if n == 1:
        return mean, np.nan, np.nan
    half = float(stdtrit(n - 1, (1 + level) / 2)) * float(numbers.std(ddof=1)) / n**0.5
    low, high = (-np.inf, np.inf) if bounds is None else bounds
    return mean, max(mean - half, low), min(mean + half, high)


def means_of(table: pd.DataFrame, *, note: str = "", shares: Collection[str] = ()) -> dict[str, Measure]:
    """Mean of each column with its 95 % interval over the rows.

    Rows, one per seed or image for example, are taken as independent draws. Columns of numbers get
    :func:`mean_interval`, inside [0, 1] for those named in `shares`; columns of true and false get
    :func:`fairalm.measures.rate_interval`. `note` is the note of every mean that has an interval.

    Examples
    --------
    >>> print(means_of(pd.DataFrame({"error": [0.12, 0.14, 0.13]}))["error"])
    13.0 % [10.5, 15.5]
    """
    if not isinstance(table, pd.DataFrame) or table.empty:
        raise InputError("`table` must be a table with at least one row, for example one row per seed.")
    bounds = dict.fromkeys(shares, (0.0, 1.0))
    return {str(name): _mean(str(name), part.to_numpy(), note, bounds.get(str(name))) for name, part in table.items()}


def differences_of(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, Measure]:
    """Mean of first less second, row by row, with its 95 % interval.

    The pairing takes out what the two rows have in common, such as a difficult seed or image.

    Examples
    --------
    >>> first, second = pd.DataFrame({"error": [0.3, 0.1]}), pd.DataFrame({"error": [0.2, 0.0]})
    >>> print(differences_of(first, second)["error"])
    10.0 % [10.0, 10.0]
    """
    if list(first.columns) != list(second.columns) or not first.index.equals(second.index):
        raise InputError("The two tables must have the same columns and rows, in the same order.")
    return means_of(first.astype(float) - second.astype(float))


def _mean(name: str, values: npt.NDArray[np.generic], note: str, bounds: tuple[float, float] | None) -> Measure:
    n = len(values)
    value, low, high = mean_interval(values, bounds=bounds)
    if np.isnan(value):
        return Measure(name, None, None, None, n, n, note=f"undefined in {int(np.isnan(values).sum())} of {n} rows")
    if values.dtype == bool:
        low, high = (float(end) for end in rate_interval(values.sum(), n))
    elif n == 1:
        return Measure(name, value, None, None, n, n, note="one row: no interval")
    return Measure(name, value, low, high, n, n, note=note)
