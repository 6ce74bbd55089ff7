"""The claims of the paper: whether each held, how close it came to failing, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from fairalm.arrays import FloatArray, IntArray
from fairalm.constraints import Constraint, DemographicParity, EqualizedOdds, ErrorParity, PredictiveParity
from fairalm.game import play
from fairalm.methods import FairALMLinear
from reproduction.theory import saddle
from reproduction.theory.families import Family, Models
from reproduction.theory.plays import LinearStep, play_many, plays_of

ROUNDING = 1e-11  # what sums of thousands of terms may be off by
EQUAL = 1e-9  # two values that differ by less are called equal
STEPS = (0.1, 1.0, 10.0)  # eta of the lemma's games
CENTRES = (1e-3, 1.0, 1e3)  # eta of Lemma 1
LINEAR: tuple[Constraint, ...] = (EqualizedOdds(), ErrorParity(), DemographicParity())
MEMBERS = 5  # models in a mixture


class Case(NamedTuple):
    """Measured values and their bounds on one family, one pair per T; a T of 0 is not shown."""

    where: str
    rounds: IntArray
    measured: FloatArray
    bound: FloatArray


@dataclass(frozen=True)
class Check:
    """A claim, and the place where it came closest to failing, or failed most."""

    name: str
    formula: str
    holds: bool  # everywhere
    measured: float  # at the worst place, as the next two
    bound: float
    where: str
    tried: int  # pairs compared
    ratio: float  # measured over bound: above 1 the claim fails
    slack: float  # bound less measured


def check(name: str, formula: str, cases: Iterable[Case]) -> Check:
    """Compare measured values with their bounds and keep the worst pair.

    >>> case = Case("a game", np.array([1, 2]), np.array([0.1, 0.3]), np.array([0.2, 0.2]))
    >>> result = check("small", "x <= 0.2", [case])
    >>> result.holds, round(result.ratio, 3), result.where
    (False, 1.5, 'a game, T = 2')
    """
    holds, tried, worst = True, 0, [(-np.inf, 0.0, 0.0, "")]
    for case in cases:
        ratios = np.where(case.measured > 0, np.inf, 0.0)  # for a bound of 0
        np.divide(case.measured, case.bound, out=ratios, where=case.bound > 0)
        holds &= bool((case.measured <= case.bound + ROUNDING).all())
        tried += len(ratios)
        i = int(ratios.argmax())
        place = f"{case.where}, T = {case.rounds[i]}" if case.rounds[i] else case.where
        worst.append((float(ratios[i]), float(case.measured[i]), float(case.bound[i]), place))
    ratio, measured, bound, where = max(worst, key=itemgetter(0))
    return Check(name, formula, holds, measured, bound, where, tried, ratio, bound - measured)


def same(name: str, formula: str, pairs: Iterable[tuple[str, Any, Any]]) -> Check:
    """Check that pairs of values, or of arrays, are equal."""
    none, limit = np.zeros(1, dtype=np.int64), np.array([EQUAL])
    return check(name, formula, (Case(where, none, np.array([abs(a - b).max()]), limit) for where, a, b in pairs))


def check_reward(families: Sequence[Family], rounds: int, *, bound: float = 1.0) -> list[Check]:
    """The lemma with either constant, for Algorithm 1 with and without |lambda| <= `bound`, at every T to `rounds`."""

    def cases(limit: float | None) -> Iterator[Case]:
        for family, eta in product(families, STEPS):
            method = FairALMLinear(eta=eta, bound=limit)
            game = play(family.oracle(), method, tol=0.0, max_iter=rounds, early_stop=False, is_linear=False)
            plays = plays_of(game, eta)
            right = plays.eta * plays.largest**2 * saddle.log_term(plays.rounds)
            yield Case(f"{family.name}, η = {eta:g}", plays.rounds, saddle.reward_excess(plays, limit), right)

    free = list(cases(None))
    half, kept = ([case._replace(bound=case.bound / 2.0) for case in games] for games in (free, cases(bound)))
    left = "max over λ of Σ λ d_t - (λ - λ_t)²/2η, less Σ λ_t d_t"
    return [
        check("lemma, appendix", f"{left} ≤ η L² (log T + 1)", free),
        check("lemma, main text", f"{left} ≤ η/2 L² (log T + 1)", half),
        check("lemma, main text, |λ_t| ≤ B", f"the same, for |λ| ≤ B = {bound:g}", kept),
    ]


def check_first_case(families: Sequence[Family], rounds: IntArray, *, bound: float = 1.0) -> Iterator[Check]:
    """The first case as printed, for Algorithm 1 as written and with |lambda_t| <= B, and for the game itself.

    Each T in `rounds` is a game of its own, for eta depends on it.
    """
    nu = "saddle gap of L_T ≤ 2 sqrt(B² L² (log T + 1) / T)"
    for limit, title, free in ((None, "as written", ", λ_t free"), (bound, "|λ_t| ≤ B", "")):
        gaps, zetas, originals = [], [], []
        for family in families:
            claim = saddle.first_case(rounds, family.largest, bound)
            plays = play_many(family, LinearStep(limit), claim.eta, rounds)
            gaps.append(
                Case(family.name, rounds, saddle.larger(saddle.augmented_sides(family, plays, bound)), claim.nu)
            )
            ends = np.maximum(saddle.zeta(plays, bound), saddle.zeta(plays, -bound))  # zeta is linear in lambda
            zetas.append(Case(family.name, rounds, ends, bound**2 * rounds / plays.eta))
            original = saddle.larger(saddle.original_sides(family, plays, bound))
            originals.append(Case(family.name, rounds, original, 1.25 * claim.nu))
        yield check(f"first case, {title}", f"{nu}{free}", gaps)
        yield check(f"its step on ζ, {title}", f"ζ_T(λ) ≤ B² T / η{free}", zetas)
    yield check("ours: the game itself, |λ_t| ≤ B", "saddle gap of L ≤ 2.5 sqrt(B² L² (log T + 1) / T)", originals)


def check_second_case(families: Sequence[Family], rounds: IntArray) -> list[Check]:
    """The second case with the constants of its proof, the bounds it rests on, and how little it asks of eta."""
    averages, gaps, sides, faster = [], [], [], []
    for family in families:
        plays = play_many(family, LinearStep(), 1.0 / rounds, rounds)
        square, nu = plays.eta * family.largest**2, saddle.second_case(rounds, family.largest, plays.eta).nu
        q_side, lambda_side = saddle.augmented_sides(family, plays)
        excess = saddle.average_play_excess(family, plays)
        averages.append(Case(family.name, rounds, excess, square * saddle.log_term(rounds) / rounds))
        gaps.append(Case(family.name, rounds, np.maximum(q_side, lambda_side), nu))
        sides.append(Case(family.name, rounds, lambda_side, square / 2.0 * (2.0 + 1.0 / rounds) ** 2))
        plays = play_many(family, LinearStep(), 1.0 / rounds.astype(float) ** 2, rounds)
        nu = saddle.second_case(rounds, family.largest, plays.eta).nu
        faster.append(Case(family.name, rounds, saddle.larger(saddle.augmented_sides(family, plays)), nu))
    claim = "saddle gap of L_T ≤ η L² ((log T + 1)² + (log T + 1)(1 + 1/T))"
    return [
        check("average play, both bounds", "L_T(q̄, λ) ≤ L_T(q, λ̄) + ζ_T(λ)/T + ξ_T/T", averages),
        check("second case, η = 1/T", claim, gaps),
        check("ours: λ's side needs no log", "max L_T(q̄, ·) - L_T(q̄, λ̄) ≤ η/2 L² (2 + 1/T)²", sides),
        check("ours: η = 1/T² is no worse", claim, faster),
    ]


def check_lemma_1(families: Sequence[Family]) -> Check:
    """The two values at lambda*, and at both ends where there are many, for a small, a middling and a large eta."""
    pairs = []
    for family in filter(saddle.has_optimum, families):
        best = saddle.optimum(family)
        ends = sorted(end for end in {best.multiplier, best.low, best.high} if np.isfinite(end))
        for centre, eta in product(ends, CENTRES):
            value = np.float64(saddle.proximal_value(family, centre, eta))
            pairs.append((f"{family.name}, λ* = {centre:.3g}, η = {eta:g}", best.value, value))
    return same("Lemma 1", "max min L = max min L_λ*", pairs)


def check_observation_1(models: Models, rng: np.random.Generator, mixtures: int = 50) -> list[Check]:
    """Compare the cells' means of random mixtures of five models with the mean, and the ratio, of the members'.

    The last two models, the constants, are left out: where nobody is predicted 1 there is no rate.
    """
    size = min(MEMBERS, len(models.wrong) - 2)
    drawn = [rng.choice(len(models.wrong) - 2, size, replace=False) for _ in range(mixtures)]
    weights = rng.dirichlet(np.ones(size), mixtures)

    def pairs(constraint: Constraint, *, is_fraction: bool = False) -> Iterator[tuple[str, FloatArray, Any]]:
        for number, (chosen, share) in enumerate(zip(drawn, weights, strict=True)):
            wrong = models.wrong[chosen]
            mixed, *members = models.moments(constraint, [share @ wrong, *wrong])  # a row's chance to be wrong
            weighted = list(zip(share, members, strict=True))
            expected: Any = sum(w * m.mu for w, m in weighted)
            if is_fraction:
                expected = sum(w * m.mu * m.counts for w, m in weighted) / sum(w * m.counts for w, m in weighted)
            yield f"{models.name}, {constraint.name}, mixture {number}", mixed.mu, expected

    linear = (pair for constraint in LINEAR for pair in pairs(constraint))
    fraction = pairs(PredictiveParity(), is_fraction=True)
    return [
        same("Observation 1, EO, DP linear", "μ(q) = Σ q_i μ_i", linear),
        same("PP linear (the paper: it is not)", "μ(q) = Σ q_i μ_i", pairs(PredictiveParity())),
        same("PP linear-fractional", "μ(q) = Σ q_i n_i μ_i / Σ q_i n_i", fraction),
    ]
