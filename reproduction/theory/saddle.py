"""The game's optimum, how far the average play is from it, and the bounds that the papers print."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from fairalm.arrays import FloatArray
from fairalm.methods.base import clip_to
from reproduction.theory.families import Family
from reproduction.theory.plays import Plays

Sides = tuple[FloatArray, FloatArray]  # what the classifier and lambda could still gain


class Bound(NamedTuple):
    """A step size and the nu it is claimed to reach, one pair per T."""

    eta: FloatArray
    nu: FloatArray


class Optimum(NamedTuple):
    """The solution of min e(q) over mixtures q with d(q) = 0."""

    value: float  # the smallest error
    multiplier: float  # a best lambda
    low: float  # the smallest of them: equal to `high` unless a classifier with gap 0 is best by itself
    high: float


def log_term(rounds: npt.ArrayLike) -> FloatArray:
    """The sum log T + 1, which is at least 1 + 1/2 + ... + 1/T."""
    return np.asarray(np.log(rounds) + 1.0)


def first_case(rounds: npt.ArrayLike, largest: float, bound: float = 1.0) -> Bound:
    """|lambda| <= B: eta = sqrt(B² T / (L² (log T + 1))), nu = 2 sqrt(B² L² (log T + 1) / T). Appendix, step 3."""
    root = np.sqrt(log_term(rounds) / np.asarray(rounds))
    return Bound(bound / largest / root, 2.0 * bound * largest * root)


def second_case(rounds: npt.ArrayLike, largest: float, eta: npt.ArrayLike | None = None) -> Bound:
    """The step eta = 1/T, or another: nu = eta L² ((log T + 1)² + (log T + 1) + (log T + 1) / T). Appendix, step 4."""
    T, log = np.asarray(rounds, dtype=float), log_term(rounds)
    step = 1.0 / T if eta is None else np.asarray(eta, dtype=float)
    return Bound(step, step * largest**2 * (log**2 + log + log / T))


def exponentiated(rounds: npt.ArrayLike, largest: float, bound: float = 1.0) -> Bound:
    """The step eta = sqrt(log 3 / T) / L, nu = 2 B L sqrt(log 3 / T). Agarwal et al. 2018, theorem 1."""
    root = np.sqrt(np.log(3.0) / np.asarray(rounds))
    return Bound(root / largest, 2.0 * bound * largest * root)


def has_optimum(family: Family) -> bool:
    """Whether a mixture with gap 0 exists; if not, the dual has no maximum."""
    return bool(family.gaps.min() <= 0 <= family.gaps.max())


def optimum(family: Family) -> Optimum:
    """Solve the problem exactly, by a linear program, for a family that has an optimum.

    >>> best = optimum(Family("two", np.array([0.1, 0.2]), np.array([0.3, -0.1])))
    >>> round(best.value, 3), round(best.multiplier, 3), best.low == best.high
    (0.175, 0.25, True)
    """
    equal = np.stack([family.gaps, np.ones_like(family.gaps)])
    program = linprog(family.errors, A_eq=equal, b_eq=[0.0, 1.0], method="highs")
    _, gaps, edges = family.pieces  # gaps fall: the dual rises while they are positive
    low, high = float(edges[(gaps > 0).sum()]), float(edges[(gaps >= 0).sum()])
    return Optimum(float(np.asarray(program.x) @ family.errors), -float(program.eqlin.marginals[0]), low, high)


def proximal_value(family: Family, centre: float, eta: float) -> float:
    """The max over lambda of min over q of L_centre: on each piece of the dual function the maximum is known."""
    errors, gaps, edges = family.pieces
    at = np.clip(centre + eta * gaps, edges[:-1], edges[1:])
    return float((errors + at * gaps - (at - centre) ** 2 / (2.0 * eta)).max())


def reward_excess(plays: Plays, bound: float | None = None) -> FloatArray:
    """The largest, over lambda, sum of lambda d_t - (lambda - lambda_t)² / (2 eta), less the sum of lambda_t d_t.

    The sum is a parabola in lambda, so the maximum has a closed form: it is at the mean of lambda_t plus eta d(q), or
    at the nearest lambda within ±bound.
    """
    best = clip_to(plays.mean + plays.eta * plays.gap, bound)
    squares = best**2 - 2.0 * best * plays.mean + plays.square
    return np.asarray(plays.rounds * (best * plays.gap - squares / (2.0 * plays.eta) - plays.earned))


def classifier_side(family: Family, plays: Plays) -> FloatArray:
    """What the best answer to the mean lambda saves: L(q, mean) - min L(., mean), of L_T and of L alike."""
    return np.asarray(plays.error + plays.mean * plays.gap - family.floor(plays.mean))


def augmented_sides(family: Family, plays: Plays, bound: float | None = None) -> Sides:
    """L_T(q, mean) - min L_T(., mean), and max L_T(q, .) - L_T(q, mean) over |lambda| <= bound, if there is one."""
    best = clip_to(plays.last + plays.eta * plays.gap, bound)
    leash = ((best - plays.last) ** 2 - (plays.mean - plays.last) ** 2) / (2.0 * plays.eta)
    return classifier_side(family, plays), np.asarray((best - plays.mean) * plays.gap - leash)


def original_sides(family: Family, plays: Plays, bound: float) -> Sides:
    """The same of the game itself, L(q, lambda) = e(q) + lambda d(q), over |lambda| <= bound."""
    return classifier_side(family, plays), np.asarray(bound * abs(plays.gap) - plays.mean * plays.gap)


def larger(sides: Sides) -> FloatArray:
    """The nu of an approximate saddle point."""
    return np.maximum(*sides)


def zeta(plays: Plays, multiplier: FloatArray | float) -> FloatArray:
    """The proof's zeta_T(lambda). Its squares come to the sum of (lambda_T - lambda_t)(lambda - lambda_t), over eta."""
    inside = plays.last * multiplier - (plays.last + multiplier) * plays.mean + plays.square
    return np.asarray(plays.rounds / plays.eta * inside)


def average_play_excess(family: Family, plays: Plays) -> FloatArray:
    """The largest, over lambda, L_T(q, lambda) - zeta_T(lambda) / T, less min L_T(., mean). Appendix, steps 1 and 2.

    Step 2, whose proof the paper leaves out, is step 1 with q in place of the minimum: it needs no proof of its own.
    """
    best = plays.mean + plays.eta * plays.gap  # zeta is linear in lambda
    here = plays.error + best * plays.gap - (best - plays.last) ** 2 / (2.0 * plays.eta)
    floor = family.floor(plays.mean) - (plays.mean - plays.last) ** 2 / (2.0 * plays.eta)
    return np.asarray(here - zeta(plays, best) / plays.rounds - floor)
