"""The linear program behind every point of the frontier, and its solver.

Each row of data is predicted as the target with probability ``h`` in [0, 1]. A prediction costs ``costs`` and adds to a
few sums, which are bounded:

    minimise  costs · h   subject to   limits @ (sums of the rows' parts, each times h) <= bounds

There are as many unknowns as rows but few sums, so each step of the interior point method (Mehrotra's) solves a system
as small as the number of sums. Rows whose prediction is beyond doubt are left out of the steps and checked at the end,
so that the answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fairalm.arrays import BoolArray, FloatArray

ACCURACY = 1e-6  # of the error and of the rates, as shares
ROOM = 1e-6  # by which each limit is loosened: two that leave nothing between them have multipliers without bound
MET = 1e-4  # limits that are exceeded by less are met
MAX_STEPS = 60
MOST = 1e9  # multipliers above this, in the units of the steps, are on their way to infinity: no predictions will do
AT_ONCE, DOUBTFUL = 5_000, 0.05  # rows that are solved without leaving any out; of more, this share to begin with
WORSE = 1e3  # times as far off as before: rounding has taken over
DEPENDENT = 1e-14  # variances of combinations of the sums below this share are rounding
SHARE_OF_STEP = 0.995  # of the step that would reach a bound


@dataclass(frozen=True, eq=False)
class Program:
    """A linear program over the predictions of all rows.

    Parameters
    ----------
    costs : array of shape (n,)
        What it costs to predict a row as the target.
    parts : array of shape (n, sums)
        What that adds to each sum.
    limits, bounds : arrays of shape (m, sums) and (m,)
        ``limits @ sums <= bounds``.
    """

    costs: FloatArray
    parts: FloatArray
    limits: FloatArray
    bounds: FloatArray

    def margins(self, multipliers: FloatArray) -> FloatArray:
        """What predicting each row as the target costs, the limits' prices included: below 0 where it pays."""
        return np.asarray(self.costs + self.parts @ (multipliers @ self.limits))

    def lower_bound(self, multipliers: FloatArray) -> float:
        """No predictions within the limits cost less, whatever the multipliers (at least 0)."""
        return float(np.minimum(self.margins(multipliers), 0.0).sum() - multipliers @ self.bounds)

    def excess(self, chosen: FloatArray) -> float:
        """By how much predictions exceed a limit."""
        return float((self.limits @ (chosen @ self.parts) - self.bounds).max(initial=0.0))

    def remaining(self, free: BoolArray, fixed: FloatArray) -> Program:
        """The program over the `free` rows, the others being predicted as `fixed` says."""
        bounds = self.bounds - self.limits @ (fixed @ self.parts)
        return Program(self.costs[free], self.parts[free], self.limits, bounds)


@dataclass(frozen=True, eq=False)
class Solution:
    """The best predictions, and what proves it.

    Parameters
    ----------
    multipliers : array of shape (m,)
        What it would save to loosen each limit by one.
    chosen : array of shape (n,)
        Probability of predicting each row as the target: 0 or 1 but for ties.
    value, bound : float
        What these predictions cost, and what no predictions within the limits can be below.
    excess : float
        By how much they exceed a limit: next to 0, unless the limits contradict each other.
    """

    multipliers: FloatArray
    chosen: FloatArray
    value: float
    bound: float
    excess: float

    @property
    def is_feasible(self) -> bool:
        """Whether the limits can be met together."""
        return self.excess < MET


def solve(program: Program, start: FloatArray | None = None) -> Solution:
    """Solve the program; `start` is a guess of the multipliers, such as those of a neighbouring tolerance.

    Examples
    --------
    >>> costs, parts = np.array([-0.5, -0.3, 0.2]), np.ones((3, 1))
    >>> solve(Program(costs, parts, limits=np.ones((1, 1)), bounds=np.ones(1))).chosen.round(3)
    array([1., 0., 0.])
    """
    n = len(program.costs)
    if n <= AT_ONCE:
        return _solution(program, *_interior_point(program))
    if start is None:
        few = np.random.RandomState(0).choice(n, max(AT_ONCE, n // 10), replace=False)
        scale = n / len(few)
        part = replace(program, costs=program.costs[few] * scale, parts=program.parts[few] * scale)
        start = solve(part).multipliers
    multipliers, free, n_doubtful = start, np.zeros(n, dtype=bool), max(AT_ONCE, round(DOUBTFUL * n))
    while True:
        margins = program.margins(multipliers)
        free[np.argpartition(abs(margins), n_doubtful - 1)[:n_doubtful]] = True
        chosen = np.where(free, 0.0, margins < 0)
        remaining = program.remaining(free, chosen)
        found, chosen[free] = _interior_point(remaining)
        if free.all() or remaining.excess(chosen[free]) < MET:  # else the rows left out leave too little to the others
            multipliers = found
            wrong = ~free & ((program.margins(multipliers) < 0) != (chosen > 0))
            if not wrong.any():
                return _solution(program, multipliers, chosen)
            free |= wrong
        n_doubtful = min(n, 2 * n_doubtful)


def _solution(program: Program, multipliers: FloatArray, chosen: FloatArray) -> Solution:
    bound, excess = program.lower_bound(multipliers), program.excess(chosen)
    return Solution(multipliers, chosen, float(program.costs @ chosen), bound, excess)


class _State(NamedTuple):
    """The unknowns of the interior point method, or a step: all positive but in a step."""

    chosen: FloatArray
    rest: FloatArray  # 1 - chosen
    slack: FloatArray  # what is left to each bound
    low: FloatArray  # multipliers of chosen >= 0
    high: FloatArray  # and of chosen <= 1
    multipliers: FloatArray  # of the limits

    def moved(self, step: _State, share: float) -> _State:
        """After the longest step that keeps everything positive, or `share` of it."""
        primal = share * min(_room(value, by) for value, by in zip(self[:3], step[:3], strict=True))
        dual = share * min(_room(value, by) for value, by in zip(self[3:], step[3:], strict=True))
        lengths = [min(1.0, primal)] * 3 + [min(1.0, dual)] * 3
        return _State(*(value + length * by for value, by, length in zip(self, step, lengths, strict=True)))

    @property
    def products(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """All 0 at the solution."""
        return self.chosen * self.low, self.rest * self.high, self.slack * self.multipliers


def _room(value: FloatArray, step: FloatArray) -> float:
    """How often the step can be made before a value is 0."""
    fastest = float((step / value).min(initial=0.0))
    return np.inf if fastest == 0 else -1 / fastest


def _interior_point(program: Program) -> tuple[FloatArray, FloatArray]:
    """Multipliers and predictions, by Mehrotra's predictor and corrector."""
    n, scale = len(program.costs), float(abs(program.costs).mean()) or 1.0  # costs of about 1
    costs, parts, limits = program.costs / scale, program.parts, program.limits
    half, m = np.full(n, 0.5), len(limits)
    slack = np.maximum(program.bounds - limits @ (half @ parts), 0.1)
    state = _State(half, half, slack, np.maximum(costs, 0) + 1, np.maximum(-costs, 0) + 1, np.full(m, float(n)))
    best = np.inf, state
    for _ in range(MAX_STEPS):
        dual = costs + parts @ (state.multipliers @ limits) - state.low + state.high
        primal = limits @ (state.chosen @ parts) + state.slack - program.bounds - ROOM
        left = sum(float(product.sum()) for product in state.products)
        off = max(left / n, abs(primal).max(initial=0.0), abs(dual).max())
        if off < best[0]:
            best = off, state
        if off < ACCURACY or off > WORSE * best[0] or state.multipliers.max(initial=0.0) > MOST * n:
            break
        try:
            newton = _Newton(parts, limits, state, dual, primal)
            predicted = newton.step(*(-product for product in state.products))
            after = state.moved(predicted, 1.0)
            target = (sum(float(product.sum()) for product in after.products) / left) ** 3 * left / (2 * n + m)
            pairs = zip(predicted[:3], predicted[3:], state.products, strict=True)
            step = newton.step(*(target - product - first * second for first, second, product in pairs))
        except np.linalg.LinAlgError:  # as near as rounding allows, or no predictions meet the limits
            break
        state = state.moved(step, SHARE_OF_STEP)
    multipliers = best[1].multipliers * scale
    multipliers[multipliers < ACCURACY] = 0.0  # a limit that does not bind has no price
    return multipliers, best[1].chosen


class _Newton:
    """The linear system of one iteration, made once for its two steps."""

    def __init__(self, parts: FloatArray, limits: FloatArray, state: _State, dual: FloatArray, primal: FloatArray):
        self.parts, self.limits, self.state, self.dual, self.primal = parts, limits, state, dual, primal
        self.give = 1 / (state.low / state.chosen + state.high / state.rest)
        self.weighted = parts * self.give[:, None]
        curvature = parts.T @ self.weighted
        size = np.sqrt(np.diag(curvature)) + 1e-150
        values, vectors = np.linalg.eigh(curvature / np.outer(size, size))
        kept = values > DEPENDENT * len(values)  # sums can depend on each other, as where the groups are known
        self.root = size[:, None] * vectors[:, kept] * np.sqrt(values[kept])
        self.inverse = (vectors[:, kept] / np.sqrt(values[kept])).T / size
        self.stiffness = state.multipliers / state.slack
        self.system = np.eye(kept.sum()) + self.root.T @ (limits.T * self.stiffness) @ limits @ self.root

    def step(self, low: FloatArray, high: FloatArray, slack: FloatArray) -> _State:
        """The step that changes the products by these, to first order, and mends both residuals."""
        state, limits = self.state, self.limits
        push = low / state.chosen - high / state.rest - self.dual
        lift = (slack + state.multipliers * self.primal) / state.slack
        right = self.inverse @ (self.weighted.T @ push) - self.root.T @ (limits.T @ lift)
        sums = self.root @ np.linalg.solve(self.system, right)
        multipliers = lift + self.stiffness * (limits @ sums)
        chosen = self.give * (push - self.parts @ (limits.T @ multipliers))
        return _State(
            chosen,
            -chosen,
            -self.primal - limits @ sums,
            (low - state.low * chosen) / state.chosen,
            (high + state.high * chosen) / state.rest,
            multipliers,
        )
