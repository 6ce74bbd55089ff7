"""Confidence intervals for rates, their differences and their ratios.

Everything starts from one interval for a single rate: the union of Wilson's score interval and Jeffreys'
equal-tailed one. Differences and ratios are built from its two ends (MOVER: Newcombe's square-and-add for
differences, Donner and Zou's form for ratios), without search or iteration. ``benchmarks/coverage.py``
measures the coverage, and ``benchmarks/interval_alternatives.py`` compares it with that of other intervals.

Every function takes counts, `k` out of `n`, and the nominal coverage `level`, and returns the ends low and high.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtr, ndtri

from fairalm.arrays import BoolArray, FloatArray
from fairalm.exceptions import InputError

Interval = tuple[FloatArray, FloatArray]
CELLS = (-3, -2, -1)  # axes of tables over all pairs: events, groups, groups


def rate_interval(k: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Interval for one rate, `k` out of `n`: from the lower of Wilson's and Jeffreys' ends to the higher.

    Counts broadcast. With ``n == 0`` both ends are NaN.

    Examples
    --------
    >>> low, high = rate_interval(0, 10)
    >>> print(f"[{low:.3f}, {high:.3f}]")
    [0.000, 0.278]
    """
    _, low, high = rate_and_ends(k, n, critical_value(level))
    return low[()], high[()]


def difference_interval(
    k0: npt.ArrayLike, n0: npt.ArrayLike, k1: npt.ArrayLike, n1: npt.ArrayLike, level: float = 0.95
) -> Interval:
    """Interval for the difference of two rates, p0 - p1.

    With d = p0 - p1 and the ends l, u of :func:`rate_interval`::

        low  = d - sqrt((p0 - l0)^2 + (u1 - p1)^2)
        high = d + sqrt((u0 - p0)^2 + (p1 - l1)^2)

    Counts broadcast. An empty cell gives NaN.

    Examples
    --------
    >>> low, high = difference_interval(56, 70, 48, 80)
    >>> print(f"[{low:.3f}, {high:.3f}]")
    [0.051, 0.336]
    """
    z = critical_value(level)
    p0, l0, u0 = rate_and_ends(k0, n0, z)
    p1, l1, u1 = rate_and_ends(k1, n1, z)
    low = p0 - p1 - np.hypot(p0 - l0, u1 - p1)
    high = p0 - p1 + np.hypot(u0 - p0, p1 - l1)
    return low[()], high[()]


def range_interval(
    k: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95, *, pairs: BoolArray | None = None
) -> Interval:
    """Interval for the largest minus the smallest rate, and for the largest such range over several events.

    The lower end is the largest lower end over all pairs, at Šidák's critical value for the number of pairs:
    any pair could exceed by chance. The upper end is the largest upper end without correction: it covers as
    soon as the one pair that is truly widest does. With two groups and one event this is the signed interval
    folded at 0.

    Counts have shape (groups,) or (..., events, groups), the ends the leading shape. Cells with ``n == 0`` are left
    out, and so is an event with fewer than two others; where no two cells can be compared, the ends are NaN. With
    `pairs`, shape (..., events, groups, groups), only those groups are compared: the first one's rate minus the
    second's.

    Examples
    --------
    >>> low, high = range_interval([80, 70, 75], [100, 100, 100])
    >>> print(f"[{low:.3f}, {high:.3f}]")
    [0.000, 0.218]
    """
    k, n, pair, simultaneous = _cells(k, n, level, pairs)
    p, low, high = rate_and_ends(k, n, simultaneous)
    lower = _outer(np.subtract, p, p) - _outer(np.hypot, p - low, high - p)
    p, low, high = rate_and_ends(k, n, critical_value(level))
    upper = _outer(np.subtract, p, p) + _outer(np.hypot, high - p, p - low)
    largest_low, largest_high = (np.where(pair, ends, -np.inf).max(axis=CELLS) for ends in (lower, upper))
    return _where_any(pair, np.maximum(largest_low, 0.0), np.minimum(largest_high, 1.0))


def ratio_interval(
    k: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95, *, pairs: BoolArray | None = None
) -> Interval:
    """Interval for the smallest over the largest rate, and for the smallest such ratio over several events.

    The mirror image of :func:`range_interval`, for counts of the same shape: here the upper end is corrected for the
    number of pairs. Where every rate is 0 the data say nothing: [0, 1]. With `pairs`, it is the first one's rate over
    the second's, and 1 if that is more.

    Examples
    --------
    >>> low, high = ratio_interval([30, 45], [100, 100])
    >>> print(f"[{low:.3f}, {high:.3f}]")
    [0.457, 0.961]
    """
    k, n, pair, simultaneous = _cells(k, n, level, pairs)
    smallest_low = np.where(pair, _ratio_low(k, n, critical_value(level)), np.inf).min(axis=CELLS)
    # the upper end of p_i / p_j is one over the lower end of p_j / p_i
    largest_inverse = np.where(pair.swapaxes(-1, -2), _ratio_low(k, n, simultaneous), -np.inf).max(axis=CELLS)
    return _where_any(pair, np.minimum(smallest_low, 1.0), 1.0 / np.maximum(largest_inverse, 1.0))


def quotient_interval(
    k0: npt.ArrayLike, n0: npt.ArrayLike, k1: npt.ArrayLike, n1: npt.ArrayLike, level: float = 0.95
) -> Interval:
    """Interval for the ratio of two rates, p0 / p1, which may be above 1.

    With r = p0 / p1 and the ends l, u of :func:`rate_interval`, the lower end is the smaller root r of
    ``(p0 - r p1)^2 = (p0 - l0)^2 + r^2 (u1 - p1)^2``; the upper end is one over the lower end of p1 / p0, and infinite
    where that is 0. Counts broadcast. An empty cell gives NaN.

    Examples
    --------
    >>> low, high = quotient_interval(48, 80, 56, 70)
    >>> print(f"[{low:.3f}, {high:.3f}]")
    [0.600, 0.929]
    """
    z = critical_value(level)
    k, n = (
        np.stack(np.broadcast_arrays(*(np.asarray(part, float) for part in pair)), -1) for pair in ((k0, k1), (n0, n1))
    )
    lows = _ratio_low(k, n, z)
    with np.errstate(divide="ignore"):
        return lows[..., 0, 1][()], (1.0 / lows[..., 1, 0])[()]


def critical_value(level: float, n_pairs: Any = 1) -> Any:
    """Two-sided normal critical value, at Šidák's level when `n_pairs` intervals must hold together."""
    if not 0 < level < 1:
        raise InputError(f"`level` must lie between 0 and 1, for example 0.95; got {level!r}.")
    return -ndtri((1.0 - level ** (1.0 / np.maximum(n_pairs, 1))) / 2.0)


def rate_and_ends(k: npt.ArrayLike, n: npt.ArrayLike, z: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rate, lower and upper end: the union of Wilson's and Jeffreys' intervals."""
    k, n, z = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float), np.asarray(z, float))
    n = np.where(n > 0, n, np.nan)
    p = k / n
    centre = (k + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * np.sqrt(n * p * (1 - p) + z**2 / 4)
    tail = ndtr(-z)
    low = np.minimum(centre - half, betaincinv(k + 0.5, n - k + 0.5, tail))
    # by symmetry: 1 - tail would lose digits
    high = np.maximum(centre + half, 1.0 - betaincinv(n - k + 0.5, k + 0.5, tail))
    return p, np.where(k == 0, 0.0 * p, low), np.where(k == n, p, high)


def _cells(
    k: npt.ArrayLike, n: npt.ArrayLike, level: float, pairs: BoolArray | None
) -> tuple[FloatArray, FloatArray, Any, Any]:
    """Return counts as (..., events, groups), which pairs can be compared, and their joint critical value."""
    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    if k.ndim == 1:
        k, n = k[None], n[None]
    pair = (n > 0)[..., :, None] & (n > 0)[..., None, :] & ~np.eye(n.shape[-1], dtype=bool)
    pair = pair if pairs is None else pair & pairs
    either = pair | pair.swapaxes(-1, -2)
    n_pairs = either.sum(axis=CELLS, keepdims=True)[..., 0] // 2
    return k, n, pair, critical_value(level, n_pairs)


def _outer(operation: np.ufunc, left: FloatArray, right: FloatArray) -> Any:
    return operation(left[..., :, None], right[..., None, :])


def _ratio_low(k: FloatArray, n: FloatArray, z: Any) -> Any:
    """Lower ends of p_i / p_j over all pairs."""
    p, low, high = rate_and_ends(k, n, z)
    first, second = (p, p - low), (p, high - p)
    return lower_quotient(*(part[..., :, None] for part in first), *(part[..., None, :] for part in second))


def lower_quotient(p_i: FloatArray, a: FloatArray, p_j: FloatArray, b: FloatArray) -> Any:
    """Lower end of p_i / p_j, for intervals that reach a = p_i - l_i downwards and b = u_j - p_j upwards.

    It is the smaller root r of (p_i - r p_j)^2 = a^2 + r^2 b^2.
    """
    root = np.sqrt(np.maximum((p_i * b) ** 2 + a**2 * (p_j**2 - b**2), 0.0))
    return np.where(p_i == 0, 0.0, (p_i**2 - a**2) / np.where(p_i == 0, 1.0, p_i * p_j + root))


def _where_any(pair: Any, low: FloatArray, high: FloatArray) -> Interval:
    is_defined = pair.any(axis=CELLS)
    return np.where(is_defined, low, np.nan)[()], np.where(is_defined, high, np.nan)[()]
