"""The default where a round fits a whole model: the dual step is measured, not given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from fairalm.arrays import Array, FloatArray
from fairalm.methods.base import Dual, Method, Traits
from fairalm.moments import Moments

INSIDE = 0.005  # the search aims half a point inside the tolerance, so that a near miss still lands within it
CLOSE = 0.1  # of that distance: a gap this close to its aim is there
FIRST_STEP = 6.0  # first guess of the response of one gap: plain weights per unit of gap
SHARED_STEP = 4.0  # the same for several gaps, which move each other
LONGEST_STEP = 1.0  # in plain weights
FARTHEST = 100.0  # in plain weights: beyond 100 times its weight a row has no further effect
RESOLUTION = 1e-3  # of the multiplier, in plain weights: a finer search finds no other model


class Search(NamedTuple):
    """What the search remembers; NaN where nothing was measured yet.

    Multipliers are in plain weights, gaps less their aim.
    """

    share: FloatArray  # one plain weight, in units of the multiplier
    near: FloatArray  # one gap: (multiplier, gap) of the last model on the plain model's side
    far: FloatArray  # one gap: (multiplier, gap) of the last model beyond its aim
    slope: FloatArray  # one gap: multiplier per unit of gap
    longest: FloatArray  # one gap: longest step that is allowed next
    gain: FloatArray  # several gaps: plain weights per unit of each gap
    before: FloatArray  # several gaps: those of the round before, less their aim


@dataclass(frozen=True)
class SecantALM(Method):
    """Weights C'lambda; lambda ← lambda + eta_t d, with an eta_t that needs no tuning.

    Algorithm 1's dual step with a measured step size instead of eta / t. Each round costs a whole fit, so few rounds
    must suffice. Multipliers are counted in plain weights of the rows they move
    (:attr:`fairalm.moments.Moments.row_share`), which makes the first step right to within a small factor on any table.

    With one gap (two groups, one event), eta_t = -Δlambda / Δd, the secant of the response measured so far, kept inside
    the bracket of the two sides once both were seen. The aim is a gap on the plain model's side of zero, half a point
    inside the tolerance: a model that gives up less of its accuracy than one that is closer to zero or beyond it.

    With several gaps, which move each other, each has that aim too, and a step of its own: it grows by half while the
    gap is above the tolerance, stays on one side of its aim and does not halve, and halves when the gap changes sides
    (`benchmarks/several_gaps.py` compares this with other steps).
    For full fits only: a mini-batch is too noisy to measure a response on.
    """

    name: ClassVar[str] = "secant"
    summary: ClassVar[str] = "the default: the multiplier's step is measured from round to round; nothing to tune"
    traits: ClassVar[Traits] = Traits(only_for="full fits")

    def start(self, moments: Moments, tol: float) -> Dual:
        """Multipliers 0; nothing measured yet."""
        share, unseen = np.asarray(moments.row_share, dtype=float), np.full(2, np.nan)
        first, gain = np.array(FIRST_STEP), np.full_like(share, SHARED_STEP)
        search = Search(share, unseen, unseen, first, np.array(LONGEST_STEP), gain, np.full_like(share, np.nan))
        return Dual(np.zeros_like(share), tol, memory=search)

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'lambda."""
        return moments.pull(dual.value)

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """Lambda + eta_t d, eta_t measured."""
        gap, search = np.asarray(moments.gap, dtype=float), dual.memory
        assert isinstance(search, Search)
        return _secant(float(gap.item()), dual, search) if gap.size == 1 else _own_steps(gap, dual, search)


def _own_steps(gap: FloatArray, dual: Dual, search: Search) -> Dual:
    """A step for each gap, which grows or shrinks with what the last one did."""
    here, aim = dual.value / np.where(search.share > 0, search.share, 1.0), dual.tol - _inside(dual.tol)
    left = gap - np.where(here == 0, np.clip(gap, -aim, aim), np.sign(here) * aim)
    flips = np.sign(left) * np.sign(search.before) < 0
    persists = ~flips & (abs(left) > 0.5 * abs(search.before)) & (abs(gap) > dual.tol)
    gain = search.gain * np.where(flips, 0.5, np.where(persists, 1.5, 1.0))
    longest = LONGEST_STEP + abs(here)
    after = here + np.clip(gain * left, -longest, longest)
    return replace(dual, value=after * search.share, memory=search._replace(gain=gain, before=left))


def _inside(tol: float) -> float:
    """How far inside the tolerance the search aims."""
    return min(INSIDE, tol / 2)


def _secant(gap: float, dual: Dual, search: Search) -> Dual:
    """One step of a bracketed secant."""
    plain_weight = float(search.share.item()) or 1.0
    here = float(dual.value.item()) / plain_weight
    if here == 0 and abs(gap) <= dual.tol:
        return dual  # the plain model is within the tolerance
    side, inside = np.sign(here) if here else np.sign(gap), _inside(dual.tol)
    point, before = np.array([here, gap - side * (dual.tol - inside)]), search.near
    if abs(point[1]) <= CLOSE * inside:
        return dual
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
