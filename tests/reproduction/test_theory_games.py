"""The bounds hold at every T on small games, and a broken step, answer or constant is caught."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairalm.game import play
from fairalm.methods import FairALMLinear, ProxyLagrangian
from reproduction.theory.checks import Case, check, check_first_case, check_reward, check_second_case
from reproduction.theory.families import Family, random_game, slow_game, smooth_family
from reproduction.theory.plays import ExponentiatedStep, LinearStep, play_many, plays_of
from reproduction.theory.saddle import (
    augmented_sides,
    average_play_excess,
    exponentiated,
    first_case,
    larger,
    original_sides,
    reward_excess,
    second_case,
    zeta,
)

EVERY_T = np.arange(1, 101)
ONE = Family("one", np.array([0.2]), np.array([0.5]))
share = st.integers(-1000, 1000).map(lambda n: n / 1000)
families = (
    st.lists(st.tuples(share, share), min_size=1, max_size=6)
    .filter(lambda pairs: any(gap for _, gap in pairs))
    .map(lambda pairs: Family("drawn", *np.array(pairs).T))
)


@dataclasses.dataclass(frozen=True)
class ConstantStep(LinearStep):
    """Algorithm 1 with its division by t forgotten."""

    def move(self, state, gap, eta, t):
        return state + eta * gap


class WrongAnswer(Family):
    """Plays the worst classifier of the envelope where the best is due."""

    @property
    def envelope(self):
        best, cuts = Family(self.name, self.errors, self.gaps).envelope
        return best[::-1], cuts


def seeds(n):
    return [random_game(np.random.default_rng(seed)) for seed in range(n)]


def test_bounds_are_those_of_the_papers():
    T, L, B = np.array([1.0, 100.0]), 0.5, 2.0
    log = np.log(T) + 1
    first, second, theirs = first_case(T, L, B), second_case(T, L), exponentiated(T, L, B)
    np.testing.assert_allclose(first.eta, np.sqrt(B**2 * T / (L**2 * log)))
    np.testing.assert_allclose(first.nu, 2 * np.sqrt(B**2 * L**2 * log / T))
    np.testing.assert_allclose(second.eta, 1 / T)
    np.testing.assert_allclose(second.nu, L**2 / T * (log**2 + log + log / T))
    np.testing.assert_allclose(theirs.eta, np.sqrt(np.log(3) / T) / L)
    np.testing.assert_allclose(theirs.nu, 2 * B * L * np.sqrt(np.log(3) / T))


@given(families, share)
def test_answer_is_the_smallest_lagrangian(family, multiplier):
    costs = family.errors + multiplier * family.gaps
    assert family.floor(np.array([multiplier]))[0] == pytest.approx(costs.min(), abs=1e-12)


@pytest.mark.parametrize("bound", [None, 0.3])
@pytest.mark.parametrize("family", seeds(3), ids=str)
def test_many_games_at_once_are_the_games_of_the_library(family, bound):
    game = play(family.oracle(), FairALMLinear(eta=0.7, bound=bound), tol=0.0, max_iter=300, early_stop=False)
    one = plays_of(game, 0.7)
    many = play_many(family, LinearStep(bound), one.eta, one.rounds)
    assert len(one.rounds) > 250
    for field in one._fields:
        np.testing.assert_allclose(getattr(many, field), getattr(one, field), atol=1e-12, err_msg=field)


def test_exponentiated_gradient_is_the_proxy_lagrangian_of_the_library():
    family = random_game(np.random.default_rng(4))
    method = ProxyLagrangian(eta=2.0, B=0.8)
    one = plays_of(play(family.oracle(), method, tol=0.0, max_iter=200, early_stop=False, is_linear=False), 2.0)
    many = play_many(family, ExponentiatedStep(0.8), one.eta, one.rounds)
    np.testing.assert_allclose(many.last, one.last, atol=1e-12)
    np.testing.assert_allclose(many.error, one.error, atol=1e-12)
    assert abs(one.last).max() > 0.1
    with np.errstate(over="raise"):
        assert ExponentiatedStep(2.0).multiplier(np.array([1e4, -1e4])) == pytest.approx([2.0, -2.0])


def test_saddle_gap_of_the_library_is_the_sum_of_the_sides():
    family = random_game(np.random.default_rng(0))
    game = play(family.oracle(), FairALMLinear(eta=3.0, bound=1.0), tol=0.0, max_iter=400, early_stop=False)
    total = np.sum(original_sides(family, plays_of(game, 3.0), 1.0), axis=0)
    found = game.saddle_gaps()
    assert (found <= total + 1e-12).all()  # the library looks among the found, the theory in the whole family
    assert found[-1] == pytest.approx(total[-1], abs=1e-12)


@given(families, st.sampled_from([0.01, 0.3, 5.0]))
@settings(max_examples=40, deadline=None)
def test_cumulative_reward_is_half_the_sum_of_squares(family, eta):
    plays = play_many(family, LinearStep(), np.full(100, eta), EVERY_T)
    squares = np.diff(EVERY_T * plays.gap, prepend=0.0) ** 2  # d_t²
    np.testing.assert_allclose(reward_excess(plays), eta / 2 * np.cumsum(squares / EVERY_T), atol=1e-9)


@given(families)
@settings(max_examples=40, deadline=None)
def test_closed_form_of_the_reward_is_the_largest(family):
    plays = play_many(family, LinearStep(0.5), [0.8], [30])
    multipliers = play_many(family, LinearStep(0.5), np.full(30, 0.8), np.arange(1, 31)).last
    gaps = family.gaps[family.answer(multipliers)]
    grid = np.linspace(-0.5, 0.5, 2001)[:, None]
    sums = (grid * gaps - (grid - multipliers) ** 2 / 1.6).sum(axis=1) - (multipliers * gaps).sum()
    assert sums.max() <= reward_excess(plays, 0.5)[0] + 1e-9
    assert sums.max() >= reward_excess(plays, 0.5)[0] - 1e-4


@given(families)
@settings(max_examples=30, deadline=None)
def test_what_holds_on_every_game(family):
    for found in (*check_reward([family], 40), *check_second_case([family], EVERY_T)):
        assert found.holds, found
    for found in check_first_case([family], EVERY_T):
        assert found.holds or found.name.endswith("as written"), found


@given(families)
@settings(max_examples=20, deadline=None)
def test_exponentiated_gradient_keeps_its_own_bound(family):
    claim = exponentiated(EVERY_T, family.largest)
    plays = play_many(family, ExponentiatedStep(), claim.eta, EVERY_T)
    assert (larger(original_sides(family, plays, 1.0)) <= claim.nu + 1e-12).all()


def test_zeta_is_what_the_proof_writes():
    family, T, eta = random_game(np.random.default_rng(1)), 25, 0.6
    lambdas = play_many(family, LinearStep(), np.full(T, eta), np.arange(1, T + 1)).last
    plays = play_many(family, LinearStep(), [eta], [T])
    for at in (-0.7, 0.0, 2.0):
        squares = (at - lambdas) ** 2 - (at - lambdas[-1]) ** 2 + (lambdas - lambdas[-1]) ** 2
        assert zeta(plays, at)[0] == pytest.approx(squares.sum() / (2 * eta))


def test_sides_are_those_of_the_augmented_lagrangian():
    family, T, eta = random_game(np.random.default_rng(2)), 40, 0.6
    plays = play_many(family, LinearStep(), [eta], [T])
    last, mean = plays.last[0], plays.mean[0]

    def value(error, gap, multiplier):
        return error + multiplier * gap - (multiplier - last) ** 2 / (2 * eta)

    here, grid = value(plays.error[0], plays.gap[0], mean), np.linspace(-3, 3, 60_001)
    q_side, lambda_side = (float(side[0]) for side in augmented_sides(family, plays))
    assert q_side == pytest.approx(here - value(family.errors, family.gaps, mean).min())
    assert lambda_side == pytest.approx(value(plays.error[0], plays.gap[0], grid).max() - here, abs=1e-6)
    within = augmented_sides(family, plays, 0.1)[1][0]
    near = grid[abs(grid) <= 0.1]
    assert within == pytest.approx(value(plays.error[0], plays.gap[0], near).max() - here, abs=1e-6)


def test_first_case_fails_as_written_and_ever_more():
    worst = []
    for small in (0.2, 0.15, 0.12):
        T = np.unique(np.logspace(1, 4, 40).astype(int))
        found = {each.name: each for each in check_first_case([slow_game(small)], T)}
        assert not found["first case, as written"].holds
        assert found["first case, |λ_t| ≤ B"].holds
        worst.append(found["first case, as written"].ratio)
    assert worst[0] < worst[1] < worst[2]
    assert worst[2] > 7


def broken(measured, bound):
    return not check("", "", [Case("", EVERY_T, measured, bound)]).holds


@pytest.mark.parametrize(("step", "is_broken"), [(LinearStep(), False), (ConstantStep(), True)])
def test_a_broken_step_is_caught(step, is_broken):
    log = np.log(EVERY_T) + 1
    plays = play_many(ONE, step, 1 / EVERY_T, EVERY_T)
    assert broken(larger(augmented_sides(ONE, plays)), second_case(EVERY_T, ONE.largest).nu) == is_broken
    plays = play_many(random_game(np.random.default_rng(3)), step, 1 / EVERY_T, EVERY_T)
    assert broken(reward_excess(plays), plays.eta / 2 * plays.largest**2 * log) == is_broken


@pytest.mark.parametrize("kind", [Family, WrongAnswer])
def test_a_wrong_answer_of_the_oracle_is_caught(kind):
    family = random_game(np.random.default_rng(3))
    log, claim = np.log(EVERY_T) + 1, first_case(EVERY_T, family.largest)
    plays = play_many(kind(family.name, family.errors, family.gaps), LinearStep(1.0), claim.eta, EVERY_T)
    assert broken(larger(original_sides(family, plays, 1.0)), claim.nu) == (kind is WrongAnswer)
    plays = play_many(kind(family.name, family.errors, family.gaps), LinearStep(), 1 / EVERY_T, EVERY_T)
    right = plays.eta * family.largest**2 * log / EVERY_T
    assert broken(average_play_excess(family, plays), right) == (kind is WrongAnswer)


def test_a_wrong_constant_is_caught():
    plays = play_many(ONE, LinearStep(), np.full(100, 2.0), EVERY_T)
    limit = 2.0 * 0.5**2 * (np.log(EVERY_T) + 1)
    excess = reward_excess(plays)
    assert not broken(excess, 0.5 * limit)
    assert broken(excess, 0.49 * limit)


def test_smooth_family_is_slow_for_a_small_step():
    plays = play_many(smooth_family(), LinearStep(), [0.1, 1.0], [2000, 2000])
    gaps = larger(original_sides(smooth_family(), plays, 1.0))
    assert smooth_family().floor(np.array([0.16]))[0] == pytest.approx(0.216, abs=1e-6)
    assert gaps[0] > 100 * gaps[1]
