"""The default where a round fits a whole model: the dual step is measured, not given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from fairalm.arrays import Array, FloatArray
from fairalm.methods.base import Dual, Method, Traits, soft
from fairalm.moments import Moments

AIM = 0.5  # where in the tolerance the search aims: half-way, so that a near miss still lands inside
FIRST_STEP = 6.0  # first guess of the response of one gap: plain weights per unit of gap
SHARED_STEP = 4.0  # the same for several gaps, which move each other
LONGEST_STEP = 1.0  # in plain weights
FARTHEST = 100.0  # in plain weights: beyond 100 times its weight a row has no further effect
RESOLUTION = 1e-3  # of the multiplier, in plain weights: a finer search finds no other model


class Search(NamedTuple):
    """What the search for the multiplier of one gap remembers; NaN where nothing was measured yet.

    Multipliers are in plain weights, gaps less their aim.
    """

    share: FloatArray  # one plain weight, in units of the multiplier
    near: FloatArray  # (multiplier, gap) of the last model on the plain model's side
    far: FloatArray  # (multiplier, gap) of the last model beyond zero
    slope: FloatArray  # multiplier per unit of gap
    longest: FloatArray  # longest step that is allowed next


@dataclass(frozen=True)
class SecantALM(Method):
    """Weights C'lambda; lambda ← lambda + eta_t d, with an eta_t that needs no tuning.

    Algorithm 1's dual step with a measured step size instead of eta / t. Each round costs a whole fit, so few rounds
    must suffice. Multipliers are counted in plain weights of the rows they move
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
        share, unseen = np.asarray(moments.row_share, dtype=float), np.full(2, np.nan)
        search = Search(share, near=unseen, far=unseen, slope=np.array(FIRST_STEP), longest=np.array(LONGEST_STEP))
        return Dual(np.zeros_like(share), tol, memory=search)

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'lambda."""
        return moments.pull(dual.value)

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """Lambda + eta_t d, eta_t measured."""
        gap, search = np.asarray(moments.gap, dtype=float), dual.memory
        assert isinstance(search, Search)
        if gap.size == 1:
            return _secant(float(gap.item()), dual, search)
        eta = SHARED_STEP / np.sqrt(dual.t) * search.share
        return replace(dual, value=soft(dual.value + eta * gap, AIM * eta * dual.tol))


def _secant(gap: float, dual: Dual, search: Search) -> Dual:
    """One step of a bracketed secant."""
    plain_weight = float(search.share.item()) or 1.0
    here = float(dual.value.item()) / plain_weight
    if abs(gap) <= dual.tol:
        return dual
    side = np.sign(here) if here else np.sign(gap)
    point, before = np.array([here, gap - side * AIM * dual.tol]), search.near
    is_first, shrinks = np.isnan(before).any(), True
    if is_first or np.sign(point[1]) == np.sign(before[1]):
        search = search._replace(near=point)
    else:
        width = abs(search.far[0] - search.near[0])
        shrinks = np.isnan(width) or abs(here - search.near[0]) < 0.5 * width
        search = search._replace(far=point)
    near, far = search.near, search.far
    if np.isnan(far).any():
        slope, longest = search.slope, search.longest
        if not is_first:
            fell, moved = before[1] - near[1], near[0] - before[0]
            slope = np.clip(moved / fell, slope / 4, slope * 4) if fell * moved > 0 else slope * 4
        after = float(np.clip(here + np.clip(slope * near[1], -longest, longest), -FARTHEST, FARTHEST))
        search = search._replace(slope=np.asarray(slope), longest=2 * longest)
    else:
        width = far[0] - near[0]
        if abs(width) < RESOLUTION:
            return dual
        fraction = near[1] / (near[1] - far[1]) if shrinks else 0.5
        after = near[0] + float(np.clip(fraction, 0.1, 0.9)) * width
    return replace(dual, value=np.full_like(dual.value, after * plain_weight), memory=search)
