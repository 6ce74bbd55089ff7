"""The quick ways to solve the program, against the interior point (test_program.py compares that with HiGHS)."""

import numpy as np
import pytest

from fairalm.frontier.interior_point import interior_point
from fairalm.frontier.one_price import one_price
from fairalm.frontier.program import Program
from fairalm.frontier.smoothed import smoothed


def made_up(n=3000, n_groups=3, seed=0, tol=0.02, steps=None):
    """Demographic parity on random probabilities; with `steps`, many rows are alike."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n) if steps is None else np.round(steps * rng.normal(size=n)) / steps
    lean = np.outer(score, np.arange(n_groups)) + (rng.normal(size=(n, n_groups)) if steps is None else 0)
    members = np.exp(lean) / np.exp(lean).sum(axis=1, keepdims=True)
    pairs = [(a, b) for a in range(n_groups) for b in range(n_groups) if a != b]
    rate = np.eye(n_groups) / members.mean(axis=0)
    limits = np.array([rate[a] - rate[b] for a, b in pairs])
    return Program(np.tanh(-score) / n, members / n, limits, np.full(len(pairs), tol))


def assert_like_the_interior_point(program, found, accuracy):
    expected, solution = program.solution(*interior_point(program)), program.solution(*found)
    assert solution.excess < 3e-6
    assert solution.value == pytest.approx(expected.value, abs=accuracy)
    assert solution.bound == pytest.approx(expected.bound, abs=accuracy)
    assert solution.bound <= expected.value + 3e-6


@pytest.mark.parametrize("steps", [None, 2])
@pytest.mark.parametrize("tol", [0.0, 0.05, 1.0])
def test_one_price_by_sorting(tol, steps):
    for seed in range(5):
        program = made_up(n_groups=2, seed=seed, tol=tol, steps=steps)
        found = one_price(program)
        assert_like_the_interior_point(program, found, 5e-6)
        partly = (found[1] > 0) & (found[1] < 1)
        assert len(np.unique(program.costs[partly])) <= 1  # rows that are alike are predicted alike
    assert found[0].any() == (tol < 1)


def test_several_prices_are_not_one():
    assert one_price(made_up(n_groups=3)) is None


def test_limits_that_one_sum_cannot_meet():
    program = made_up(n_groups=2)
    assert one_price(Program(program.costs, program.parts, program.limits, np.array([5.0, -4.0]))) is None


@pytest.mark.parametrize("n_groups", [3, 8])
@pytest.mark.parametrize("tol", [0.0, 0.05, 1.0])
def test_smoothed(tol, n_groups):
    for seed in range(3):
        program = made_up(20_000, n_groups, seed, tol)
        found = smoothed(program, np.zeros(len(program.bounds)))
        assert_like_the_interior_point(program, found, 1e-5)


def test_a_good_start_takes_fewer_steps(monkeypatch):
    from fairalm.frontier import smoothed as module

    steps, real = [], module.newton_step
    monkeypatch.setattr(module, "newton_step", lambda *how: steps.append(1) or real(*how))
    program = made_up(20_000)
    multipliers, _ = smoothed(program, np.zeros(len(program.bounds)))
    cold = len(steps)
    smoothed(Program(program.costs, program.parts, program.limits, program.bounds + 0.001), multipliers)
    assert len(steps) - cold < cold


def test_limits_that_contradict_each_other_come_to_no_end():
    program = made_up()
    both = np.vstack([program.limits[:1], -program.limits[:1]])
    assert smoothed(Program(program.costs, program.parts, both, np.array([0.1, -0.9])), np.zeros(2)) is None
