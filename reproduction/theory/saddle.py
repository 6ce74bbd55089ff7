"""The theorem: how far the average play is from a saddle point, of the augmented Lagrangian and of the game itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairalm.methods.base import clip_to
from reproduction.theory.bounds import first_case, log_term, second_case
from reproduction.theory.checks import Case, Check, check
from reproduction.theory.families import Family
from reproduction.theory.plays import LinearStep, Plays, play_many
from reproduction.types import FloatArray, IntArray

Sides = tuple[FloatArray, FloatArray]


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


def check_first_case(families: Sequence[Family], rounds: IntArray, *, bound: float = 1.0) -> list[Check]:
    """The first case as printed, for Algorithm 1 as written and with |lambda_t| <= B, and for the game itself.

    Each T in `rounds` is a game of its own, for eta depends on it.
    """
    claims = [first_case(rounds, family.largest, bound) for family in families]

    def played(limit: float | None) -> list[Plays]:
        return [play_many(f, LinearStep(limit), c.eta, rounds) for f, c in zip(families, claims, strict=True)]

    def gaps(games: list[Plays]) -> Iterator[Case]:
        for family, claim, plays in zip(families, claims, games, strict=True):
            yield Case(family.name, rounds, larger(augmented_sides(family, plays, bound)), claim.nu)

    def zetas(games: list[Plays]) -> Iterator[Case]:
        for family, plays in zip(families, games, strict=True):
            ends = np.maximum(zeta(plays, bound), zeta(plays, -bound))  # zeta is linear in lambda
            yield Case(family.name, rounds, ends, bound**2 * rounds / plays.eta)

    def carried_over(games: list[Plays]) -> Iterator[Case]:
        for family, claim, plays in zip(families, claims, games, strict=True):
            yield Case(family.name, rounds, larger(original_sides(family, plays, bound)), 1.25 * claim.nu)

    free, kept = played(None), played(bound)
    nu = "saddle gap of L_T ≤ 2 sqrt(B² L² (log T + 1) / T)"
    ours = "saddle gap of L ≤ 2.5 sqrt(B² L² (log T + 1) / T)"
    return [
        check("first case, as written", f"{nu}, λ_t free", gaps(free)),
        check("its step on ζ, as written", "ζ_T(λ) ≤ B² T / η, λ_t free", zetas(free)),
        check("first case, |λ_t| ≤ B", nu, gaps(kept)),
        check("its step on ζ, |λ_t| ≤ B", "ζ_T(λ) ≤ B² T / η", zetas(kept)),
        check("ours: the game itself, |λ_t| ≤ B", ours, carried_over(kept)),
    ]


def check_second_case(families: Sequence[Family], rounds: IntArray) -> list[Check]:
    """The second case with the constants of its proof, the bounds it rests on, and how little it asks of eta."""

    def played(eta: FloatArray) -> list[Plays]:
        return [play_many(family, LinearStep(), eta, rounds) for family in families]

    def gaps(games: list[Plays]) -> Iterator[Case]:
        for family, plays in zip(families, games, strict=True):
            claim = second_case(rounds, family.largest, plays.eta)
            yield Case(family.name, rounds, larger(augmented_sides(family, plays)), claim.nu)

    def averages(games: list[Plays]) -> Iterator[Case]:
        for family, plays in zip(families, games, strict=True):
            share = plays.eta * family.largest**2 * log_term(rounds) / rounds
            yield Case(family.name, rounds, average_play_excess(family, plays), share)

    def multiplier_sides(games: list[Plays]) -> Iterator[Case]:
        for family, plays in zip(families, games, strict=True):
            right = plays.eta / 2.0 * family.largest**2 * (2.0 + 1.0 / rounds) ** 2
            yield Case(family.name, rounds, augmented_sides(family, plays)[1], right)

    slow = played(1.0 / rounds)
    nu = "saddle gap of L_T ≤ η L² ((log T + 1)² + (log T + 1)(1 + 1/T))"
    ours = "max L_T(q̄, ·) - L_T(q̄, λ̄) ≤ η/2 L² (2 + 1/T)²"
    return [
        check("average play, both bounds", "L_T(q̄, λ) ≤ L_T(q, λ̄) + ζ_T(λ)/T + ξ_T/T", averages(slow)),
        check("second case, η = 1/T", nu, gaps(slow)),
        check("ours: λ's side needs no log", ours, multiplier_sides(slow)),
        check("ours: η = 1/T² is no worse", nu, gaps(played(1.0 / rounds.astype(float) ** 2))),
    ]
