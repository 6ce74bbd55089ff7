"""Whether one of two paired series varies more than the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from fairalm.exceptions import InputError


class Ratio(NamedTuple):
    """A ratio of variances with its 95 % interval; NaN where it is not defined."""

    value: float
    low: float
    high: float


def variance_ratio(first: npt.ArrayLike, second: npt.ArrayLike, *, level: float = 0.95) -> Ratio:
    """The variance of `first` over that of `second`, with the interval of Pitman and Morgan.

    For pairs from a normal distribution: the two variances are equal where sums and differences of the pairs are not
    correlated, and the interval holds the ratios that this test does not reject.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        The pairs.
    level : float
        Of the interval.

    Examples
    --------
    >>> print("{:.2f} [{:.2f}, {:.2f}]".format(*variance_ratio([1, 2, 3, 4, 6], [2, 5, 6, 9, 10])))
    0.36 [0.13, 1.01]
    """
    x, y = (np.asarray(values, dtype=float) for values in (first, second))
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(f"Pairs are two lists of one length; got shapes {x.shape} and {y.shape}.")
    n = len(x)
    if n < 3 or not x.var() or not y.var():
        return Ratio(np.nan, np.nan, np.nan)
    value = float(x.var() / y.var())
    unexplained = 1 - float(np.corrcoef(x, y)[0, 1]) ** 2
    k = 1 + 2 * unexplained * float(student.ppf((1 + level) / 2, n - 2)) ** 2 / (n - 2)
    root = np.sqrt(max(k * k - 1, 0.0))
    return Ratio(value, float(value * (k - root)), float(value * (k + root)))
