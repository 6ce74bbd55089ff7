"""The default of the backends that fit a whole model per round: the dual step is measured, not given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fairalm.methods.base import Dual, Method, Traits, soft
from fairalm.moments import Array, Moments

AIM = 0.5  # where in the tolerance the search aims: half-way, so that a near miss still lands inside
FIRST_STEP = 6.0  # first guess of the response of one gap: plain weights per unit of gap
SHARED_STEP = 4.0  # the same for several gaps, which move each other
LONGEST_STEP = 1.0  # in plain weights
FARTHEST = 100.0  # in plain weights: whoever is fitted to a hundred times his weight will not move any more
RESOLUTION = 1e-3  # of the multiplier, in plain weights: finer than this nothing more is found


@dataclass(frozen=True)
class SecantALM(Method):
    """Weights C'lambda; lambda ← lambda + eta_t d, with an eta_t that needs no tuning.

    Algorithm 1's dual step with the step size measured in place of eta / t. A round costs a whole fit, so it must land
    in few rounds. Multipliers are counted in units of the people they move
    (:attr:`fairalm.moments.Moments.row_share`), which makes the first step right to within a small factor on any table.

    With one gap (two groups, one event), eta_t = -Δlambda / Δd, the secant of the response measured so far, kept inside
    the bracket of the two sides once both were seen. With several gaps, which move each other, eta_t is a fixed step in
    those units over sqrt(t), soft-thresholded by the tolerance (`benchmarks/several_gaps.py` compares lengths).
    For full fits only: a mini-batch is too noisy to measure a response on.
    """

    name: ClassVar[str] = "secant"
    summary: ClassVar[str] = "the default: the multiplier's step is measured from round to round; nothing to tune"
    traits: ClassVar[Traits] = Traits(only_for="full fits")

    def start(self, moments: Moments, tol: float) -> Dual:
        """Multipliers 0; nothing measured yet."""
        share = np.asarray(moments.row_share, dtype=float)
        unseen = np.full(2, np.nan)
        return Dual(np.zeros_like(share), tol, memory=(share, unseen, unseen, np.array([FIRST_STEP, LONGEST_STEP])))

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'lambda."""
        return moments.pull(dual.value)

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """Lambda + eta_t d, eta_t measured."""
        gap, share = np.asarray(moments.gap, dtype=float), dual.memory[0]
        if gap.size == 1:
            return _secant(float(gap.item()), dual)
        eta = SHARED_STEP / np.sqrt(dual.t) * share
        return replace(dual, value=soft(dual.value + eta * gap, AIM * eta * dual.tol))


def _secant(gap: float, dual: Dual) -> Dual:
    """One step of a bracketed secant. Points are (lambda in plain weights, gap less its aim).

    `near` is the last point on the plain model's side, `far` the last beyond; pace is (slope, longest step).
    """
    share, near, far, pace = dual.memory
    unit = float(share.item()) or 1.0
    here = float(dual.value.item()) / unit
    if abs(gap) <= dual.tol:
        return dual
    side = np.sign(here) if here else np.sign(gap)
    point, before = np.array([here, gap - side * AIM * dual.tol]), near
    is_first, shrinks = np.isnan(before).any(), True
    if is_first or np.sign(point[1]) == np.sign(before[1]):
        near = point
    else:
        shrinks = np.isnan(far).any() or abs(here - near[0]) < 0.5 * abs(far[0] - near[0])
        far = point
    if np.isnan(far).any():
        slope, longest = pace
        if not is_first:
            fell, moved = before[1] - near[1], near[0] - before[0]
            slope = np.clip(moved / fell, slope / 4, slope * 4) if fell * moved > 0 else slope * 4
        after = float(np.clip(here + np.clip(slope * near[1], -longest, longest), -FARTHEST, FARTHEST))
        pace = np.array([slope, 2 * longest])
    else:
        width = far[0] - near[0]
        if abs(width) < RESOLUTION:
            return dual
        share_of = near[1] / (near[1] - far[1]) if shrinks else 0.5
        after = near[0] + float(np.clip(share_of, 0.1, 0.9)) * width
    return replace(dual, value=np.full_like(dual.value, after * unit), memory=(share, near, far, pace))
