"""All of it: the checks, the findings and the curves of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairalm._validation import IntArray
from fairalm.constraints import DemographicParity, EqualOpportunity
from fairalm.exceptions import InputError
from reproduction.theory.checks import Check
from reproduction.theory.families import Family, adult_models, random_game, slow_game, smooth_family
from reproduction.theory.findings import Finding, cancellation, jensen, last_play, leash, per_classifier
from reproduction.theory.linearity import check_observation_1
from reproduction.theory.proximal import check_lemma_1
from reproduction.theory.rates import lengths, saddle_curves, slopes
from reproduction.theory.reward import check_reward
from reproduction.theory.saddle import check_first_case, check_second_case

EVERY, CHECKED, PER_DECADE = 1000, 10_000, 40  # every T up to the first, then so many a decade up to the second
FIGURE_FAMILY = f"Adult, {DemographicParity.name}"  # of the two on Adult, the one whose constraint costs error
STEPS = ("fitting models on Adult", "lemma", "first case", "second case", "Lemma 1, Observation 1", "saddle gaps")


@dataclass(frozen=True, eq=False)
class Study:
    """What came out.

    Attributes
    ----------
    checks : list of Check
    findings : list of Finding
    curves, slopes : pandas.DataFrame
        Saddle gaps of :func:`saddle_curves` on three families, and their exponents.
    largest : float
        L of the family in the figure.
    n_people : int
        How many of Adult.
    """

    checks: list[Check]
    findings: list[Finding]
    curves: pd.DataFrame
    slopes: pd.DataFrame
    largest: float
    n_people: int

    @property
    def drawn(self) -> pd.DataFrame:
        """The curves of the figure."""
        return self.curves[self.curves["family"] == FIGURE_FAMILY]


def checked_rounds(rounds: int) -> IntArray:
    """The T at which the theorem is checked."""
    return np.union1d(np.arange(1, min(rounds, EVERY) + 1), lengths(min(rounds, CHECKED), per_decade=PER_DECADE))


def run_study(
    rounds: int = 100_000,
    *,
    seed: int = 0,
    n_models: int = 300,
    n_games: int = 20,
    rows: int | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Study:
    """Check the paper's theory on models of Adult, on random games and on a made-up one.

    Parameters
    ----------
    rounds : int
        The largest T of the curves. Inequalities are checked at every T up to 1,000, then at forty a decade up to
        10,000.
    seed : int
        Of the models, games and mixtures.
    n_models, n_games : int
        How many models of Adult, and random games of twenty classifiers.
    rows : int, optional
        Use fewer people of Adult.
    on_step : callable, optional
        Called with each of ``STEPS`` before it begins.
    """
    if rounds < 2:
        raise InputError(f"The largest T must be at least 2; got rounds={rounds!r}.")
    if n_games < 0:
        raise InputError(f"The number of random games must not be negative; got n_games={n_games!r}.")
    begin = on_step or (lambda _: None)
    rng = np.random.default_rng(seed)
    begin(STEPS[0])
    models = adult_models(n_models, rows=rows, seed=seed)
    opportunity, parity = models.family(EqualOpportunity()), models.family(DemographicParity())
    games = [random_game(rng, name=f"random game {i}") for i in range(n_games)]
    families: list[Family] = [opportunity, parity, *games, slow_game()]
    T = checked_rounds(rounds)
    begin(STEPS[1])
    checks = check_reward(families, min(rounds, EVERY))
    begin(STEPS[2])
    checks += check_first_case(families, T)
    begin(STEPS[3])
    checks += check_second_case(families, T)
    begin(STEPS[4])
    checks += [check_lemma_1(families), *check_observation_1(models, rng)]
    begin(STEPS[5])
    curves = pd.concat(
        [saddle_curves(family, rounds) for family in (parity, opportunity, smooth_family())], ignore_index=True
    )
    findings = [
        leash(parity, rounds),
        last_play(opportunity, rounds),
        per_classifier(models),
        cancellation(models),
        jensen(models),
    ]
    return Study(checks, findings, curves, slopes(curves), parity.largest, len(models.positive))
