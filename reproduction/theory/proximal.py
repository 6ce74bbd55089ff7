"""Lemma 1: the Lagrangian and its proximal counterpart at the optimum, by a linear program and in closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from reproduction.theory.checks import Check, same
from reproduction.theory.families import Family
from reproduction.types import FloatArray

ETAS = (1e-3, 1.0, 1e3)


@dataclass(frozen=True)
class Optimum:
    """The solution of min e(q) over mixtures q with d(q) = 0."""

    value: float  # the smallest error
    multiplier: float  # a best lambda
    low: float  # the smallest of them: equal to `high` unless a classifier with gap 0 is best by itself
    high: float


def has_optimum(family: Family) -> bool:
    """Whether a mixture with gap 0 exists; if not, the dual has no maximum."""
    return bool(family.gaps.min() <= 0 <= family.gaps.max())


def optimum(family: Family) -> Optimum:
    """Solve the problem exactly, for a family with gaps on both sides of 0, or one of 0.

    >>> found = optimum(Family("two", np.array([0.1, 0.2]), np.array([0.3, -0.1])))
    >>> round(found.value, 3), round(found.multiplier, 3), found.low == found.high
    (0.175, 0.25, True)
    >>> found = optimum(Family("tie", np.array([0.1, 0.1, 0.2]), np.array([0.2, 0.0, -0.2])))
    >>> round(found.low, 3), round(found.high, 3)
    (0.0, 0.5)
    """
    equal = np.stack([family.gaps, np.ones_like(family.gaps)])
    program = linprog(family.errors, A_eq=equal, b_eq=[0.0, 1.0], method="highs")
    best, cuts = family.envelope
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    gaps = family.gaps[best]  # falling: the dual rises while they are positive
    low, high = float(edges[(gaps > 0).sum()]), float(edges[(gaps >= 0).sum()])
    return Optimum(float(np.asarray(program.x) @ family.errors), -float(program.eqlin.marginals[0]), low, high)


def proximal_value(family: Family, centre: float, eta: float) -> float:
    """The max over lambda of min over q of L_centre: on each piece of the dual function the maximum is known.

    >>> family = Family("two", np.array([0.1, 0.2]), np.array([0.3, -0.1]))
    >>> round(proximal_value(family, 0.25, eta=1.0), 3), round(proximal_value(family, 0.0, eta=0.01), 5)
    (0.175, 0.10045)
    """
    best, cuts = family.envelope
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    gaps: FloatArray = family.gaps[best]
    at = np.clip(centre + eta * gaps, edges[:-1], edges[1:])
    return float((family.errors[best] + at * gaps - (at - centre) ** 2 / (2.0 * eta)).max())


def check_lemma_1(families: Sequence[Family]) -> Check:
    """The two values at lambda*, and at both ends where there are many, for a small, a middling and a large eta."""

    def pairs() -> Iterator[tuple[str, float, float]]:
        for family in filter(has_optimum, families):
            found = optimum(family)
            ends = {found.multiplier, found.low, found.high}
            for centre in sorted(end for end in ends if np.isfinite(end)):
                for eta in ETAS:
                    value = proximal_value(family, centre, eta)
                    yield f"{family.name}, λ* = {centre:.3g}, η = {eta:g}", found.value, value

    return same("Lemma 1", "max min L = max min L_λ*", pairs())
