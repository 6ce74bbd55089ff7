"""The default of the backends that fit a whole model per round: the dual step is measured, not given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fairalm._validation import FloatArray
from fairalm.methods.base import Dual, Method
from fairalm.moments import Array, Moments

AIM = 0.5  # where in the tolerance the search aims: half-way, so that a near miss still lands inside
FIRST_STEP = 6.0  # first guess of the response: plain weights per unit of gap
LONGEST_STEP = 1.0  # in plain weights
RESOLUTION = 1e-3  # of the multiplier, in plain weights: finer than this nothing more is found


@dataclass(frozen=True)
class SecantALM(Method):
    """Weights C'lambda; lambda ← lambda + eta_t d, with eta_t from the response measured in the rounds before.

    Algorithm 1's dual step with eta_t = -Δlambda / Δd in place of eta / t. A round costs a whole fit here, so the step
    must need no tuning and few rounds. Multipliers are counted in units of the people they move
    (:attr:`fairalm.moments.Moments.row_share`), which makes the first step right to within a small factor on any table.

    With one gap (two groups, one event) the secant is kept inside the bracket of the two sides once both were seen.
    With several, each row of C has a secant slope of its own, and a step that makes the largest gap worse is taken back
    and halved. For full fits only: a mini-batch is too noisy to measure a response on.
    """

    name: ClassVar[str] = "secant"

    def start(self, moments: Moments, tol: float) -> Dual:
        """Multipliers 0; nothing measured yet."""
        share = np.asarray(moments.row_share, dtype=float)
        blank = np.full((2, share.size), np.nan)
        slope = np.full(share.size, FIRST_STEP)
        return Dual(np.zeros_like(share), tol, memory=(share, blank, blank, slope, np.array(LONGEST_STEP)))

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'lambda."""
        return moments.pull(dual.value)

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """Lambda + eta_t (d - aim), eta_t the measured secant."""
        share = dual.memory[0]
        unit = np.where(share > 0, share, 1.0)
        position = (dual.value / unit).ravel()
        gap = np.asarray(moments.gap, dtype=float).ravel()
        if gap.size == 1:
            half_person = 0.5 / float(np.min(moments.counts))  # no model can be asked for less
            position, memory = _one_gap(position, gap, dual, max(dual.tol, half_person))
        else:
            position, memory = _several_gaps(position, gap, dual)
        return replace(dual, value=(position.reshape(share.shape) * unit), memory=(share, *memory))


def _excess(position: FloatArray, gap: FloatArray, tol: float) -> FloatArray:
    """How far each gap is from its aim; 0 for a row that needs no multiplier."""
    side = np.where(position != 0, np.sign(position), np.sign(gap))
    return np.where((position == 0) & (abs(gap) <= tol), 0.0, gap - side * AIM * tol)


def _one_gap(
    position: FloatArray, gap: FloatArray, dual: Dual, reached: float
) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """A secant inside a bracket: `near` has the plain model's sign of excess, `far` the other."""
    _, near, far, slope, longest = dual.memory
    if abs(gap[0]) <= reached:
        return position, (near, far, slope, longest)
    point = np.stack([position, _excess(position, gap, dual.tol)])
    away = np.sign(near[1]) if not np.isnan(near).any() else np.sign(point[1])
    before = near if not np.isnan(near).any() else None
    shrunk = True
    if np.sign(point[1]) == away:
        near = point
    else:
        shrunk = np.isnan(far).any() or abs(point[0] - near[0]) < 0.5 * abs(far[0] - near[0])
        far = point
    if np.isnan(far).any():  # one side seen: go on by the slope between the last two points, or the first guess
        if before is not None and (before[1] - near[1]) * away > 0:
            slope = np.clip((near[0] - before[0]) / (before[1] - near[1]), slope / 4, slope * 4)
        elif before is not None:
            slope = slope * 4
        step = np.clip(slope * near[1], -longest, longest)
        return position + step, (near, far, slope, longest * 2)
    width = far[0] - near[0]
    if (abs(width) < RESOLUTION).all():
        return position, (near, far, slope, longest)
    share = near[1] / (near[1] - far[1])
    if not np.all(shrunk) or not np.isfinite(share).all():
        share = np.full_like(share, 0.5)
    return near[0] + np.clip(share, 0.1, 0.9) * width, (near, far, slope, longest)


def _several_gaps(position: FloatArray, gap: FloatArray, dual: Dual) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """A secant slope per row; `best` is the point the next step starts from."""
    _, best, spare, slope, radius = dual.memory
    if not np.isnan(best).any():
        moved, fell = position - best[0], best[1] - gap
        measured = (abs(moved) > RESOLUTION) & (moved * fell > 0)
        ratio = np.divide(moved, fell, out=slope.copy(), where=measured)
        slope = np.clip(np.where(measured, np.clip(ratio, slope / 4, slope * 4), slope), 0.25, 64.0)
    if np.isnan(best).any() or abs(gap).max() < abs(best[1]).max():
        best, radius = np.stack([position, gap]), radius * 1.5
    else:
        radius = abs(position - best[0]).max() / 2
    step = slope * _excess(best[0], best[1], dual.tol)
    longest = abs(step).max()
    if abs(best[1]).max() <= dual.tol or radius < RESOLUTION or longest == 0:
        return best[0], (best, spare, slope, np.asarray(radius))
    after = best[0] + step * min(1.0, float(radius) / longest)
    side = np.where(best[0] != 0, np.sign(best[0]), np.sign(best[1]))
    return np.where(after * side < 0, 0.0, after), (best, spare, slope, np.asarray(radius))
