"""Confidence intervals for changes from one model to another on the same rows.

The change of one rate, p1 - p0, is the share of rows that enter its numerator minus the share that leave it, so it has
the interval of a difference of two exclusive shares. Contrasts of several rates are combined by MOVER, as in
:mod:`fairalm.measures.intervals`.

A gap is the largest of several differences. Its change is not smooth where two of them tie, or where a difference is 0.
With c_s the differences of the second model and d_t those of the first, and s* and t* the largest of each::

    change = c_s* - d_t* <= c_s* - d_t  for every t

Each c_s - d_t has a smooth interval. So each t gives an upper end, the largest of those of c_s - d_t over s, and the
smallest of these ends is taken. Another upper end is the largest of those of c_s - d_s: no gap changes by more than the
difference that changes most. It is the shorter one where several differences tie and few predictions change. The ends
are at Šidák's level for the pairs of groups that may have the largest difference before; the lower end mirrors all
this. ``benchmarks/coverage.py`` simulates the coverage.

Arrays have the cells in their last axis; contrasts are given by the places of their two cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.measures.intervals import Interval, critical_value, lower_quotient, rate_and_ends

INFINITE = 1e6  # in place of the ratio to a rate of 0
NEAR = 0.5  # level of the intervals that say which pairs may have the largest difference; from benchmarks/coverage.py
Contrasts = tuple[IntArray, IntArray]  # cells of the first and the second rate of each


@dataclass(frozen=True, eq=False)
class PairedCells:
    """Counts of cells under two models, k0 out of n0 before and k1 out of n1 after.

    Where both rates are taken over the same rows (`is_same`), `both` is the number in the two numerators; elsewhere
    `correlation` is that of the two rates.
    """

    k0: FloatArray
    n0: FloatArray
    k1: FloatArray
    n1: FloatArray
    both: FloatArray
    correlation: FloatArray
    is_same: BoolArray

    def at(self, z: Any) -> Reaches:
        """The rates, and how far their intervals reach, at a critical value."""
        (p0, low0, high0), (p1, low1, high1) = rate_and_ends(self.k0, self.n0, z), rate_and_ends(self.k1, self.n1, z)
        down0, up0, down1, up1 = p0 - low0, high0 - p0, p1 - low1, high1 - p1
        outcomes = (self.k1 - self.both, self.k0 - self.both, self.both, self.n0 - self.k0 - self.k1 + self.both)
        # clipped, since sums of weights are rounded
        entered, left, both, neither = (np.where(self.is_same, np.maximum(part, 0.0), 0.0) for part in outcomes)
        change_down, change_up = _exclusive(entered, left, self.n0, z)
        sum_down, sum_up = _exclusive(both, neither, self.n0, z)  # p0 + p1 = 1 + both - neither

        def square(of_same: FloatArray, a: FloatArray, b: FloatArray, sign: float) -> FloatArray:
            other = a**2 + b**2 - 2 * sign * self.correlation * a * b
            return np.where(self.is_same, of_same**2, other)

        return Reaches(
            (p0, down0, up0),
            (p1, down1, up1),
            change=(square(change_down, down1, up0, 1.0), square(change_up, up1, down0, 1.0)),
            total=(square(sum_down, down1, down0, -1.0), square(sum_up, up1, up0, -1.0)),
            relative=(_relative(self.k0, self.n0), _relative(self.k1, self.n1)),
        )


@dataclass(frozen=True, eq=False)
class Reaches:
    """Rates before and after, each with how far its interval reaches down and up.

    `change` and `total` are the squares of how far the intervals of p1 - p0 and p1 + p0 reach down and up; `relative`
    has the standard deviations of the two rates over the rates.
    """

    before: tuple[FloatArray, FloatArray, FloatArray]
    after: tuple[FloatArray, FloatArray, FloatArray]
    change: tuple[FloatArray, FloatArray]
    total: tuple[FloatArray, FloatArray]
    relative: tuple[FloatArray, FloatArray]

    def crossed(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Cross terms of MOVER: of the change and the sum, downwards and upwards."""
        (_, down0, up0), (_, down1, up1) = self.before, self.after
        ends = ((down1, up0), (up1, down0), (down1, down0), (up1, up0))
        squares = (*self.change, *self.total)
        down, up, both_down, both_up = (square - a**2 - b**2 for square, (a, b) in zip(squares, ends, strict=True))
        return down, up, both_down, both_up

    def correlations(self) -> tuple[FloatArray, ...]:
        """The correlations that the cross terms stand for, in the same order; 0 where an interval reaches nowhere."""
        (_, down0, up0), (_, down1, up1) = self.before, self.after
        products = (down1 * up0, up1 * down0, -down1 * down0, -up1 * up0)
        return tuple(
            np.clip(-cross / 2 / np.where(product == 0, np.inf, product), -1.0, 1.0)
            for cross, product in zip(self.crossed(), products, strict=True)
        )


def rate_changes(cells: PairedCells, level: float = 0.95) -> Interval:
    """Interval for the change of each cell's rate, p1 - p0; NaN where a cell is empty.

    Examples
    --------
    >>> k0, n, k1, both = (np.array([count]) for count in (40.0, 100.0, 46.0, 38.0))
    >>> cells = PairedCells(k0, n, k1, n, both, np.zeros(1), np.ones(1, dtype=bool))
    >>> low, high = rate_changes(cells)
    >>> print(f"[{low[0]:.3f}, {high[0]:.3f}]")
    [-0.006, 0.132]
    """
    reaches = cells.at(critical_value(level))
    value, (down, up) = reaches.after[0] - reaches.before[0], reaches.change
    return np.maximum(value - np.sqrt(down), -1.0), np.minimum(value + np.sqrt(up), 1.0)


def gap_change(cells: PairedCells, before: Contrasts, after: Contrasts, level: float = 0.95) -> Interval:
    """Interval for the change of the largest difference over the contrasts, first rate minus second."""
    near = cells.at(critical_value(NEAR))
    n_before = _n_near(_difference(near.before, before), before)
    n_after = _n_near(_difference(near.after, after), after)
    low, _ = _gap_ends(cells.at(critical_value(level, n_after)), before, after)
    _, high = _gap_ends(cells.at(critical_value(level, n_before)), before, after)
    same = _same_contrasts(before, after)
    return np.maximum(-_upper_end(-low.swapaxes(-2, -1), same.T), -1.0), np.minimum(_upper_end(high, same), 1.0)


def ratio_change(
    cells: PairedCells, before: Contrasts, after: Contrasts, level: float = 0.95, *, most: float = INFINITE
) -> Interval:
    """Interval for the change of the smallest ratio over the contrasts, first rate over second; at most `most`."""
    near = cells.at(critical_value(NEAR))
    n_before, n_after = (
        _n_near((-high, -low), pair)
        for pair, (_, low, high) in (
            (before, _ratio(near.before, before, most)),
            (after, _ratio(near.after, after, most)),
        )
    )
    low, _ = _ratio_ends(cells.at(critical_value(level, n_before)), before, after, most)
    _, high = _ratio_ends(cells.at(critical_value(level, n_after)), before, after, most)
    same = _same_contrasts(before, after)
    return np.maximum(-_upper_end(-low, same), -1.0), np.minimum(_upper_end(high.swapaxes(-2, -1), same.T), 1.0)


def _upper_end(high: FloatArray, same: BoolArray) -> FloatArray:
    """The upper end of max_s c_s - max_t d_t, from those of c_s - d_t; `same` is where s and t are one contrast."""
    each = high.max(axis=-2).min(axis=-1)
    if not same.any(axis=1).all():
        return np.asarray(each)
    return np.asarray(np.minimum(each, np.where(same, high, -np.inf).max(axis=(-2, -1))))


def _same_contrasts(before: Contrasts, after: Contrasts) -> BoolArray:
    """Where a contrast after (rows) compares the cells of one before (columns)."""
    (i, j), (k, m) = after, before
    return np.asarray((i[:, None] == k) & (j[:, None] == m))


def _exclusive(k0: FloatArray, k1: FloatArray, n: FloatArray, z: Any) -> Interval:
    """How far the interval of q0 - q1 reaches down and up, for the shares of two outcomes that exclude each other."""
    (q0, low0, high0), (q1, low1, high1) = rate_and_ends(k0, n, z), rate_and_ends(k1, n, z)
    others = (1 - q0) * (1 - q1)
    correlation = -np.sqrt(q0 * q1 / np.where(others > 0, others, 1.0))

    def reach(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(np.sqrt(a**2 - 2 * correlation * a * b + b**2))

    return reach(q0 - low0, high1 - q1), reach(high0 - q0, q1 - low1)


def _difference(rates: Any, contrasts: Contrasts) -> Interval:
    (p, down, up), (i, j) = rates, contrasts
    value = p[..., i] - p[..., j]
    return value - np.hypot(down[..., i], up[..., j]), value + np.hypot(up[..., i], down[..., j])


def _n_near(ends: Interval, contrasts: Contrasts) -> IntArray:
    """How many pairs of cells have a contrast whose interval reaches the largest lower end."""
    low, high = ends
    near = high >= low.max(axis=-1, keepdims=True)
    pairs = np.stack([np.minimum(*contrasts), np.maximum(*contrasts)])
    _, place = np.unique(pairs, axis=1, return_inverse=True)
    of_pair = np.arange(place.max() + 1)[:, None] == place.ravel()
    return np.asarray((near[..., None, :] & of_pair).any(axis=-1).sum(axis=-1))[..., None]


def _gap_ends(reaches: Reaches, before: Contrasts, after: Contrasts) -> Interval:
    """Ends of c_s - d_t for every contrast s after and t before."""
    (i, j), (k, m) = after, before
    p0, down0, up0 = (_across(values) for values in reaches.before)
    p1, down1, up1 = (_along(values) for values in reaches.after)
    down, up, both_down, both_up = (_shared(term) for term in reaches.crossed())
    value = p1(i) - p1(j) - p0(k) + p0(m)
    below = down1(i) ** 2 + up1(j) ** 2 + up0(k) ** 2 + down0(m) ** 2
    below = below + down(i, k) + up(j, m) + both_down(i, m) + both_up(j, k)
    above = up1(i) ** 2 + down1(j) ** 2 + down0(k) ** 2 + up0(m) ** 2
    above = above + up(i, k) + down(j, m) + both_up(i, m) + both_down(j, k)
    return value - np.sqrt(np.maximum(below, 0.0)), value + np.sqrt(np.maximum(above, 0.0))


def _ratio(rates: Any, contrasts: Contrasts, most: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ratio of the two rates of each contrast with its ends, each at most `most`."""
    (p, down, up), (i, j) = rates, contrasts
    low = lower_quotient(p[..., i], down[..., i], p[..., j], up[..., j])
    inverse = lower_quotient(p[..., j], down[..., j], p[..., i], up[..., i])
    with np.errstate(divide="ignore", invalid="ignore"):
        value, high = np.where(p[..., j] > 0, p[..., i] / p[..., j], np.inf), 1.0 / inverse
    return np.minimum(value, most), np.minimum(low, most), np.minimum(high, most)


def _ratio_ends(reaches: Reaches, before: Contrasts, after: Contrasts, most: float) -> Interval:
    """Ends of r_s - q_t for every ratio s after and t before."""
    (i, j), (k, m) = after, before
    ratio0, low0, high0 = _ratio(reaches.before, before, most)
    ratio1, low1, high1 = _ratio(reaches.after, after, most)
    relative0, relative1 = reaches.relative
    product = relative0 * relative1
    down, up, both_down, both_up = (_shared(part * product) for part in reaches.correlations())
    spread = np.hypot(*(_along(relative1)(part) for part in after)) * np.hypot(
        *(_across(relative0)(part) for part in before)
    )
    below = (down(i, k) + up(j, m) - both_down(i, m) - both_up(j, k)) / spread
    above = (up(i, k) + down(j, m) - both_up(i, m) - both_down(j, k)) / spread

    def reach(a: FloatArray, b: FloatArray, correlation: FloatArray) -> FloatArray:
        a, b = a[..., :, None], b[..., None, :]
        return np.asarray(np.sqrt(np.maximum(a**2 - 2 * correlation * a * b + b**2, 0.0)))

    value = ratio1[..., :, None] - ratio0[..., None, :]
    low, high = reach(ratio1 - low1, high0 - ratio0, below), reach(high1 - ratio1, ratio0 - low0, above)
    return value - low, value + high


def _relative(k: FloatArray, n: FloatArray) -> FloatArray:
    """Standard deviation of a rate over the rate; one row is added to numerator and rest, so that it is finite."""
    p = (k + 1) / (n + 2)
    return np.asarray(np.sqrt((1 - p) / p / (n + 2)))


def _along(values: FloatArray) -> Callable[[IntArray], FloatArray]:
    """Take cells for the contrasts after, the first of the two last axes."""
    return lambda cells: values[..., cells][..., :, None]


def _across(values: FloatArray) -> Callable[[IntArray], FloatArray]:
    """Take cells for the contrasts before, the last axis."""
    return lambda cells: values[..., cells][..., None, :]


def _shared(values: FloatArray) -> Callable[[IntArray, IntArray], FloatArray]:
    """Take cells where those after are those before, and 0 elsewhere: only then are the rates of the same rows."""
    return lambda after, before: np.where(after[:, None] == before, values[..., after][..., :, None], 0.0)
