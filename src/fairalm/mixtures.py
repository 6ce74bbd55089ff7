"""Choosing among the classifiers found: the single best, the best mixture, and what that proves.

All here is about a finite set of classifiers with errors ``e`` and cell means ``mu``. The spread ``s`` of an event is
the largest difference between two of its groups. The game over mixtures q of the set is the linear program

    min over q of  e(q) + B sum of (s(q) - tol)+   =   max over nu of  min over the set of  e + nu mu - tol |nu| / 2

where the prices nu, one per cell, sum to 0 over the groups of an event, and |nu| / 2, the sum of the positive ones, is
at most B. With two groups nu = (lambda, -lambda), and this is the paper's game.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from fairalm.arrays import FloatArray, IntArray
from fairalm.moments import is_pair, spread_of

FEW = 200  # classifiers that one linear program takes at once; of more, only those that improve it
ADDED = 50  # classifiers added to it at a time
IMPROVES = 1e-9  # error saved by a classifier that is worth adding
HARD = 100.0  # a price at which no spread above the tolerance pays


@dataclass(frozen=True)
class Mixture:
    """The best mixture of a set of classifiers.

    Parameters
    ----------
    weights : array of shape (classifiers,)
        Probabilities; most are 0.
    value : float
        e(q) + B sum of (s(q) - tol)+, the value of the game on the set.
    prices : array of shape (events, groups)
        The best multipliers nu: what a unit of a cell's mean costs in error.
    """

    weights: FloatArray
    value: float
    prices: FloatArray


def best_mixture(
    errors: FloatArray,
    mu: FloatArray,
    *,
    tol: float,
    bound: float = HARD,
    blocks: tuple[int, ...] = (),
    begin: IntArray | None = None,
) -> Mixture:
    """Solve the linear program above; two groups and one event need no solver.

    Parameters
    ----------
    errors : array of shape (classifiers,)
    mu : array of shape (classifiers, events, groups)
    tol, bound : float
        Tolerance on each spread, and B. By default B is so large that the tolerance is exceeded only if it must be.
    blocks : tuple of int
        Groups of each protected attribute, if there are several.
    begin : int array, optional
        Classifiers that are likely to be in it; a good guess saves time.

    Examples
    --------
    >>> mu = np.array([[[0.4, 0.1]], [[0.2, 0.3]]])
    >>> best = best_mixture(np.array([0.1, 0.2]), mu, tol=0.0)
    >>> best.weights.round(2), round(best.value, 3), best.prices.round(2)
    (array([0.25, 0.75]), 0.175, array([[ 0.25, -0.25]]))
    """
    n, n_events, n_groups = mu.shape
    if n_events == 1 and is_pair(n_groups, blocks):
        return _on_hull(errors, mu[:, 0, 0] - mu[:, 0, 1], tol=tol, bound=bound)
    program = _Program(errors, mu, tol, bound, blocks or (n_groups,))
    if begin is None:
        cells = mu.reshape(n, -1)
        begin = np.concatenate([cheapest(errors, mu), cells.argmin(0), cells.argmax(0)])
    used = np.arange(n) if n <= FEW else np.unique(begin)
    while True:
        best, reduced = program.solve(used)
        cheaper = np.flatnonzero(reduced < -IMPROVES)
        if not len(cheaper):
            return best
        used = np.union1d(used, cheaper[np.argsort(reduced[cheaper])[:ADDED]])


def cheapest(errors: FloatArray, mu: FloatArray, prices: FloatArray | float = 0.0) -> IntArray:
    """The classifiers that cost least at these prices, as many as a small linear program takes."""
    return np.argsort(errors + (mu * prices).sum((1, 2)))[: FEW // 2]


@dataclass(frozen=True, eq=False)
class _Program:
    """The linear program over a set of classifiers, solved for some of them at a time."""

    errors: FloatArray
    mu: FloatArray
    tol: float
    bound: float
    sizes: tuple[int, ...]

    def solve(self, used: IntArray) -> tuple[Mixture, FloatArray]:
        """The best mixture of those used, and what each of all classifiers would save, as negative numbers."""
        _, n_events, n_groups = self.mu.shape
        n, n_spreads = len(used), n_events * len(self.sizes)
        member = np.eye(n_spreads)[np.repeat(np.arange(n_spreads), np.tile(self.sizes, n_events))]
        cells, none, spreads = self.mu[used].reshape(n, -1).T, np.zeros_like(member), np.eye(n_spreads)
        # the unknowns: q, then for each spread its upper end, its lower end, and how far it exceeds the tolerance
        limits = np.block(
            [
                [cells, -member, none, none],
                [-cells, none, member, none],
                [np.zeros((n_spreads, n)), spreads, -spreads, -spreads],
            ]
        )
        at_most = np.concatenate([np.zeros(2 * len(cells)), np.full(n_spreads, self.tol)])
        cost = np.concatenate([self.errors[used], np.zeros(2 * n_spreads), np.full(n_spreads, self.bound)])
        simplex = (np.arange(len(cost)) < n).astype(float)[None, :]
        ranges = [(0.0, None)] * n + [(None, None)] * (2 * n_spreads) + [(0.0, None)] * n_spreads
        result = linprog(cost, A_ub=limits, b_ub=at_most, A_eq=simplex, b_eq=[1.0], bounds=ranges, method="highs")
        marginals = -result.ineqlin.marginals[: 2 * len(cells)]
        prices = (marginals[: len(cells)] - marginals[len(cells) :]).reshape(n_events, n_groups)
        reduced = self.errors + np.einsum("neg,eg->n", self.mu, prices) - float(result.eqlin.marginals[0])
        reduced[used] = 0.0
        weights = np.zeros(len(self.errors))
        weights[used] = np.clip(np.asarray(result.x)[:n], 0.0, None)
        return Mixture(weights / weights.sum(), float(cost @ np.asarray(result.x)), prices), reduced


def _on_hull(errors: FloatArray, gaps: FloatArray, *, tol: float, bound: float) -> Mixture:
    """The best mixture where there is one gap: a point of the lower convex hull of the points (gap, error).

    On the hull the cost is convex, and linear between the corners and the gaps ±tol, so one of these is best. Its price
    is minus a slope of the hull that is also a slope of B (|gap| - tol)+; the smallest, if there are several.
    """
    corners = _lower_hull(gaps, errors)
    x, y = gaps[corners], errors[corners]
    places = np.concatenate([x, [gap for gap in (-tol, tol) if x[0] < gap < x[-1]]])
    costs = np.interp(places, x, y) + bound * np.clip(abs(places) - tol, 0.0, None)
    best = np.lexsort((abs(places), costs))[0]
    gap, value = float(places[best]), float(costs[best])
    left, right = np.searchsorted(x, gap, "right") - 1, np.searchsorted(x, gap, "left")  # the same at a corner
    share = 0.0 if left == right else (gap - x[left]) / (x[right] - x[left])
    weights = np.zeros(len(errors))
    weights[corners[left]] = 1.0 - share
    weights[corners[right]] += share
    slopes = np.concatenate([[-np.inf], np.diff(y) / np.diff(x), [np.inf]])
    least = max(-slopes[left + 1], bound if gap > tol else 0.0 if gap > -tol else -bound)
    most = min(-slopes[right], -bound if gap < -tol else 0.0 if gap < tol else bound)
    price = float(np.clip(0.0, least, most))
    return Mixture(weights, value, np.array([[price, -price]]))


def _lower_hull(x: FloatArray, y: FloatArray) -> IntArray:
    """The corners of the lower convex hull, from left to right (Andrew's monotone chain)."""
    order = np.lexsort((y, x)).tolist()
    px, py, corners = x.tolist(), y.tolist(), order[:1]
    for i in order[1:]:
        if px[i] == px[corners[-1]]:
            continue  # above the one before
        while len(corners) > 1:
            a, b = corners[-2:]
            if (px[b] - px[a]) * (py[i] - py[a]) > (py[b] - py[a]) * (px[i] - px[a]):
                break  # b is below the line from a to i
            corners.pop()
        corners.append(i)
    return np.array(corners)


def choose_single(errors: FloatArray, spread: FloatArray, *, tol: float) -> int:
    """The classifier with the smallest error among those within `tol`; if none is, the one with the smallest spread.

    `spread` has shape (classifiers, spreads).

    >>> choose_single(np.array([0.10, 0.14, 0.13]), np.array([[0.3], [0.005], [0.01]]), tol=0.01)
    2
    """
    largest = spread.max(axis=1)
    within = largest <= tol + 1e-12
    if within.any():
        return int(np.flatnonzero(within)[np.lexsort((largest[within], errors[within]))[0]])
    return int(np.lexsort((errors, largest))[0])


def penalised(error: FloatArray, spread: FloatArray, *, tol: float, bound: float) -> FloatArray:
    """E + B sum of (s - tol)+: what a classifier or mixture costs against the worst multiplier."""
    return np.asarray(error + bound * np.clip(spread - tol, 0.0, None).sum(axis=-1))


def size_of(prices: FloatArray) -> FloatArray:
    """|nu| / 2 of each event, shape (..., events); with two groups |lambda|."""
    return np.asarray(abs(prices).sum(axis=-1) / 2)


def lower_bound(errors: FloatArray, mu: FloatArray, prices: FloatArray, *, tol: float) -> float:
    """Minimum over the set of e + nu mu, less tol |nu| / 2: no mixture of the set can cost less."""
    return float((errors + np.einsum("neg,eg->n", mu, prices)).min() - tol * size_of(prices).sum())


def saddle_gaps(
    errors: FloatArray,
    mu: FloatArray,
    played: IntArray,
    prices: FloatArray,
    *,
    tol: float,
    bound: float,
    blocks: tuple[int, ...] = (),
) -> FloatArray:
    """Saddle gap of the average play after each round: what it costs less the best answer to the average prices.

    The best answer is sought among the classifiers played up to that round, so the figure is about mixtures of them.

    Parameters
    ----------
    errors : array of shape (classifiers,)
    mu : array of shape (classifiers, events, groups)
    played : int array of shape (rounds,)
        Which classifier was played in each round.
    prices : array of shape (rounds, events, groups)
    tol, bound : float
        Tolerance on each spread, and B.
    blocks : tuple of int
        Groups of each protected attribute, if there are several.
    """
    rounds = np.arange(1, len(played) + 1)
    mean_error = np.cumsum(errors[played]) / rounds
    mean_mu = np.cumsum(mu[played], axis=0) / rounds[:, None, None]
    mean_prices = np.cumsum(prices, axis=0) / rounds[:, None, None]
    cost = penalised(mean_error, spread_of(mean_mu, blocks).reshape(len(rounds), -1), tol=tol, bound=bound)
    floors = np.empty(len(played))
    seen: list[int] = []
    for t, index in enumerate(played.tolist()):
        if index not in seen:
            seen.append(index)
        floors[t] = lower_bound(errors[seen], mu[seen], mean_prices[t], tol=tol)
    return np.asarray(cost - floors)
