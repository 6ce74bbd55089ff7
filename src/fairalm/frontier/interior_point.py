"""Mehrotra's interior point method, for programs with many unknowns and few sums.

Each step solves a system as small as the number of sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.frontier.program import ACCURACY, ROOM, Program

MAX_STEPS = 60
MOST = 1e9  # multipliers above this, in the units of the steps, are on their way to infinity: no predictions will do
WORSE = 1e3  # times as far off as before: rounding has taken over
DEPENDENT = 1e-14  # variances of combinations of the sums below this share are rounding
SHARE_OF_STEP = 0.995  # of the step that would reach a bound


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


def interior_point(program: Program) -> tuple[FloatArray, FloatArray]:
    """Multipliers and predictions."""
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
