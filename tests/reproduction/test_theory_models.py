"""Lemma 1, Observation 1, the findings and the curves, on exact programs and real models."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairalm.constraints import DemographicParity, EqualOpportunity, PredictiveParity
from reproduction.theory.checks import check_lemma_1, check_observation_1
from reproduction.theory.curves import BEST, BEST_EG, EG, FASTER, FIRST, SECOND, lengths, saddle_curves, slopes
from reproduction.theory.families import Family, adult_models, random_game
from reproduction.theory.findings import cancellation, jensen, last_play, leash, per_classifier
from reproduction.theory.saddle import has_optimum, optimum, proximal_value

TWO = Family("two", np.array([0.1, 0.2]), np.array([0.3, -0.1]))


@pytest.fixture(scope="module")
def models():
    return adult_models(20, rows=4000, seed=1)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_lemma_1_by_linear_program(seed):
    family = random_game(np.random.default_rng(seed), 8)
    if has_optimum(family):
        assert check_lemma_1([family]).holds
        found = optimum(family)
        assert found.low - 1e-9 <= found.multiplier <= found.high + 1e-9
        assert family.floor(np.array([found.low]))[0] == pytest.approx(found.value, abs=1e-9)


def test_lemma_1_needs_the_right_centre():
    best = optimum(TWO)
    assert proximal_value(TWO, best.multiplier, 0.5) == pytest.approx(best.value)
    assert proximal_value(TWO, best.multiplier + 0.1, 0.5) < best.value - 1e-4
    grid = np.linspace(-2, 2, 400_001)
    brute = (TWO.floor(grid) - (grid - 0.1) ** 2 / (2 * 0.05)).max()
    assert proximal_value(TWO, 0.1, 0.05) == pytest.approx(brute, abs=1e-9)


def test_lambda_is_not_unique_where_a_fair_classifier_is_best():
    tie = Family("tie", np.array([0.1, 0.12, 0.3]), np.array([0.2, 0.0, -0.2]))
    best = optimum(tie)
    assert (best.low, best.high) == pytest.approx((0.1, 0.9))
    assert check_lemma_1([tie]).tried > 3  # both ends, each with every eta
    assert check_lemma_1([tie]).holds


def test_models_are_real_and_reproducible(models):
    again = adult_models.__wrapped__(20, rows=4000, seed=1)
    assert (again.wrong == models.wrong).all()
    assert models.wrong.shape == (22, 4000)
    assert models.errors[:20].max() < 0.3
    assert models.errors[-2:].sum() == pytest.approx(1.0)
    family = models.family(EqualOpportunity())
    assert family.gaps[-2:].tolist() == [0.0, 0.0]
    assert np.ptp(family.gaps) > 0.05


def test_observation_1(models):
    linear, parity, fraction = check_observation_1(models, np.random.default_rng(0), mixtures=10)
    assert (linear.holds, parity.holds, fraction.holds) == (True, False, True)
    assert parity.measured > 1e-3
    pair = models.wrong[:2]
    mixed, *members = models.moments(PredictiveParity(), [0.5 * pair[0] + 0.5 * pair[1], *pair])
    low, high = np.sort([member.mu for member in members], axis=0)
    assert ((mixed.mu >= low) & (mixed.mu <= high)).all()  # between its members', all the same


def test_findings(models):
    family = models.family(DemographicParity())
    assert abs(leash(family, 1000).figures["gap"]) > 0.9 * abs(family.gaps[family.errors.argmin()])
    per = per_classifier(models).figures
    assert per["equation_2"] == models.errors[-2:].min()
    assert per["equation_3"] < per["equation_2"]
    cancelled = cancellation(models).figures
    assert cancelled["fnr_gap"] == pytest.approx(-cancelled["fpr_gap"], abs=1e-9)
    assert abs(cancelled["fnr_gap"]) > 0.01
    assert cancelled["error"] < cancelled["error_both"]
    bounds = jensen(models).figures
    assert 0 < bounds["zero_one"] <= 0.5 < 1 < bounds["log_loss"]


def test_last_play_keeps_its_gap():
    figures = last_play(TWO, 5000).figures
    assert abs(figures["average_gap"]) < 0.01
    assert figures["last_gap"] in (0.3, -0.1)


def test_curves_tell_the_two_problems_apart():
    curves = saddle_curves(TWO, 3000)
    last = curves[curves["T"] == 3000].set_index("step")
    assert set(last.index) == {SECOND, FASTER, FIRST, BEST, EG, BEST_EG}
    assert last.loc[SECOND, "augmented"] < 1e-3 < 0.1 < last.loc[SECOND, "original"]
    assert last.loc[FASTER, "augmented"] < 1e-2 * last.loc[SECOND, "augmented"]
    assert last.loc[BEST, "original"] < last.loc[FIRST, "original"] < 0.05
    assert last.loc[BEST_EG, "original"] <= last.loc[EG, "original"]
    assert last["augmented"].isna().sum() == 2
    fitted = slopes(curves).set_index("step")
    assert fitted.loc[SECOND, "augmented"] == pytest.approx(-1, abs=0.02)
    assert fitted.loc[SECOND, "original"] == pytest.approx(0, abs=0.05)
    assert fitted.loc[EG, "original"] == pytest.approx(-0.5, abs=0.15)


def test_slope_of_a_power_is_its_exponent():
    T = lengths(1000)
    table = pd.DataFrame({"family": "f", "step": "s", "T": T, "augmented": np.nan, "original": 3.0 * T**-0.7})
    found = slopes(table)
    assert found.loc[0, "original"] == pytest.approx(-0.7)
    assert np.isnan(found.loc[0, "augmented"])
