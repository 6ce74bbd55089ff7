"""The lemma: the bound on the cumulative reward, at every T and for all lambda."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from fairalm.game import play
from fairalm.methods import FairALMLinear
from fairalm.methods.base import clip_to
from reproduction.theory.bounds import log_term
from reproduction.theory.checks import Case, Check, check
from reproduction.theory.families import Family
from reproduction.theory.plays import Plays, plays_of
from reproduction.types import FloatArray

ETAS = (0.1, 1.0, 10.0)


def reward_excess(plays: Plays, bound: float | None = None) -> FloatArray:
    """The largest, over lambda, sum of lambda d_t - (lambda - lambda_t)² / (2 eta), less the sum of lambda_t d_t.

    The sum is a parabola in lambda, so the maximum has a closed form: it is at the mean of lambda_t plus eta d(q), or
    at the nearest lambda within ±bound.
    """
    best = clip_to(plays.mean + plays.eta * plays.gap, bound)
    squares = best**2 - 2.0 * best * plays.mean + plays.square
    return np.asarray(plays.rounds * (best * plays.gap - squares / (2.0 * plays.eta) - plays.earned))


def check_reward(families: Sequence[Family], rounds: int, *, bound: float = 1.0) -> list[Check]:
    """The lemma with either constant, for Algorithm 1 with and without |lambda| <= `bound`, at every T to `rounds`."""

    def games(limit: float | None) -> list[tuple[str, Plays]]:
        played = []
        for family, eta in product(families, ETAS):
            method = FairALMLinear(eta=eta, bound=limit)
            game = play(family.oracle(), method, tol=0.0, max_iter=rounds, early_stop=False, is_linear=False)
            played.append((f"{family.name}, η = {eta:g}", plays_of(game, eta)))
        return played

    def cases(factor: float, played: list[tuple[str, Plays]], limit: float | None = None) -> Iterator[Case]:
        for where, plays in played:
            right = factor * plays.eta * plays.largest**2 * log_term(plays.rounds)
            yield Case(where, plays.rounds, reward_excess(plays, limit), right)

    free, kept = games(None), games(bound)
    left = "max over λ of Σ λ d_t - (λ - λ_t)²/2η, less Σ λ_t d_t"
    return [
        check("lemma, appendix", f"{left} ≤ η L² (log T + 1)", cases(1.0, free)),
        check("lemma, main text", f"{left} ≤ η/2 L² (log T + 1)", cases(0.5, free)),
        check("lemma, main text, |λ_t| ≤ B", f"the same, for |λ| ≤ B = {bound:g}", cases(0.5, kept, bound)),
    ]
