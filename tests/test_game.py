"""Algorithm 1 on finite families, where the linear program and the theorem's bounds are exact."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fairalm.finite import FiniteOracle
from fairalm.game import Game, Outcome, play
from fairalm.methods import FairALMLinear, SecantALM, Unconstrained
from fairalm.moments import Moments

T = 10_000


def random_family(seed, size=200):
    """Random errors; gaps centred off zero, and larger for the accurate ones, so that the constraint binds."""
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0.1, 0.5, size)
    gaps = rng.normal(0.15, 0.1, size) + 0.2 * (0.3 - errors)
    other = rng.uniform(0.2, 0.4, size)
    return errors, gaps, np.stack([other + gaps, other], axis=-1)[:, None, :]


def exact_error(errors, gaps):
    return linprog(errors, A_eq=np.stack([np.ones_like(errors), gaps]), b_eq=[1.0, 0.0]).fun


def play_family(errors, mu, *, eta, bound=None):
    method = FairALMLinear(eta=eta, bound=bound)
    return play(FiniteOracle(errors, mu), method, tol=0.0, max_iter=T, early_stop=False, is_linear=False)


def first_case(gaps, bound=1.0):
    """The theorem's eta for |lambda| <= B, and sqrt(B² L² (log T + 1) / T), which nu is a multiple of."""
    size, log = abs(gaps).max(), np.log(T) + 1
    return np.sqrt(bound**2 * T / (size**2 * log)), np.sqrt(bound**2 * size**2 * log / T)


def augmented_saddle_gap(game: Game, errors, gaps, eta, bound=None):
    """How far the average play is from a saddle point of L_T, over the whole family and |lambda| <= bound."""
    multipliers = np.array(game.multipliers)[:, 0]
    last, mean = multipliers[-1], multipliers.mean()
    error, gap = game.errors[game.played].mean(), game.gaps[game.played, 0].mean()

    def value(e, d, multiplier):
        return e + multiplier * d - (multiplier - last) ** 2 / (2 * eta)

    best_answer = value(errors, gaps, mean).min()
    best_multiplier = last + eta * gap
    if bound is not None:
        best_multiplier = np.clip(best_multiplier, -bound, bound)
    here = value(error, gap, mean)
    return max(here - best_answer, value(error, gap, best_multiplier) - here)


@pytest.mark.parametrize("seed", range(5))
def test_average_play_reaches_the_linear_program(seed):
    errors, gaps, mu = random_family(seed)
    eta, _ = first_case(gaps)
    game = play_family(errors, mu, eta=eta, bound=1.0)
    average = game.weights("average")
    plain = errors.argmin()
    assert abs(gaps[plain]) > 0.01, "the constraint must bind for this to mean anything"
    assert average @ game.errors == pytest.approx(exact_error(errors, gaps), abs=1e-3)
    assert abs(average @ game.gaps).max() < 3e-3


@pytest.mark.parametrize("seed", range(5))
def test_theorem_first_case(seed, record_property):
    errors, gaps, mu = random_family(seed)
    eta, unit = first_case(gaps)
    game = play_family(errors, mu, eta=eta, bound=1.0)
    measured = augmented_saddle_gap(game, errors, gaps, eta, bound=1.0)
    record_property("multiple of sqrt(B²L²(log T + 1)/T)", float(measured / unit))
    assert 0 <= measured <= 5 * unit
    # The printed constant, whose proof drops a factor, is met with room to spare on every random family tried.
    assert measured <= 2 * unit


@pytest.mark.parametrize("seed", range(5))
def test_theorem_second_case(seed):
    errors, gaps, mu = random_family(seed)
    eta, size, log = 1 / T, abs(gaps).max(), np.log(T) + 1
    game = play_family(errors, mu, eta=eta)
    bound = eta * size**2 * (log**2 + log + log / T)
    assert 0 <= augmented_saddle_gap(game, errors, gaps, eta) <= bound
    # ... and yet the original problem is not solved: with eta = 1/T lambda hardly leaves 0.
    assert abs(np.array(game.multipliers)).max() < 1e-2
    assert abs(game.weights("average") @ game.gaps).max() > 0.01


def test_cumulative_reward_bound():
    errors, _gaps, mu = random_family(0)
    eta = 0.5
    game = play_family(errors, mu, eta=eta)
    multipliers, rewards = np.array(game.multipliers)[:, 0], game.gaps[game.played, 0]
    limit = eta * abs(rewards).max() ** 2 * (np.log(T) + 1)
    for candidate in np.linspace(-3, 3, 61):
        left = (candidate * rewards - (candidate - multipliers) ** 2 / (2 * eta)).sum()
        assert left <= (multipliers * rewards).sum() + limit + 1e-9


def test_saddle_gap_falls_and_bounds_the_excess():
    errors, gaps, mu = random_family(1)
    eta, _ = first_case(gaps)
    game = play_family(errors, mu, eta=eta, bound=1.0)
    measured = game.saddle_gaps()
    assert measured[-1] < 0.01 < measured[0]
    assert (measured >= -1e-12).all()
    average = game.weights("average")
    cost = average @ game.errors + abs(average @ game.gaps).sum()
    assert cost - exact_error(errors, gaps) <= measured[-1] + 1e-9


def test_a_classifier_joins_only_if_it_lowers_the_lagrangian():
    errors, _gaps, mu = random_family(2)
    game = play_family(errors, mu, eta=3.0)
    models = [outcome.model for outcome in game.classifiers]
    assert len(set(models)) == len(models)
    for t in (10, 1000, T - 1):
        here = game.errors + game.gaps @ game.multipliers[t]
        seen = np.unique(game.played[: t + 1])
        assert here[game.played[t]] == pytest.approx(here[seen].min(), abs=1e-12)


def test_secant_needs_few_answers_of_the_oracle():
    # a smooth family, dense in the gap: error rises as the gap closes
    gaps = np.linspace(-0.3, 0.3, 2001)
    errors = 0.2 + 0.4 * (gaps - 0.2) ** 2
    mu = np.stack([0.5 + gaps / 2, 0.5 - gaps / 2], axis=-1)[:, None, :]
    calls = []

    def oracle(table, last):
        calls.append(table)
        return family(table, last)

    family = FiniteOracle(errors, mu)
    game = play(oracle, SecantALM(), tol=0.01)
    single = game.weights("single")
    assert abs(single @ game.gaps).max() <= 0.01
    exact = (0.2 + 0.4 * (0.01 - 0.2) ** 2) - (0.2 + 0.4 * (0.2 - 0.2) ** 2)
    assert single @ game.errors - errors.min() <= exact + 2e-3
    assert len(calls) <= 8


def test_best_mixture_matches_the_program_on_the_whole_family():
    errors, gaps, mu = random_family(3)
    game = play(FiniteOracle(errors, mu), SecantALM(), tol=0.0, predictor="mixture")
    weights = game.weights("mixture")
    assert weights @ game.errors == pytest.approx(exact_error(errors, gaps), abs=2e-3)
    assert abs(weights @ game.gaps).max() < 1e-9
    assert (weights > 0).sum() == 2


def test_plain_model_within_tolerance_costs_one_answer():
    errors, gaps = np.array([0.1, 0.2]), np.array([0.005, -0.2])
    mu = np.stack([0.3 + gaps, np.full(2, 0.3)], axis=-1)[:, None, :]
    game = play(FiniteOracle(errors, mu), SecantALM(), tol=0.01)
    assert [outcome.model for outcome in game.classifiers] == [0]
    assert game.weights("single").tolist() == [1.0]


def test_unconstrained_returns_the_plain_model():
    errors, _, mu = random_family(4)
    game = play(FiniteOracle(errors, mu), Unconstrained(), tol=0.01)
    assert [outcome.model for outcome in game.classifiers] == [errors.argmin()]


def test_the_plain_model_is_chosen_only_if_it_was_played():
    def outcome(error, gap):
        return Outcome(error, Moments(np.array([[gap, 0.0]]), np.ones((1, 2)), 2.0))

    game = Game(outcome(0.1, 0.0), tol=0.01)
    fair = game.add(outcome(0.2, 0.005), np.array([0.3]))
    game.record(fair, np.array([0.3]))
    assert game.weights("single").tolist() == [0.0, 1.0]
    game.record(0, np.array([0.0]))
    assert game.weights("single").tolist() == [1.0, 0.0]
