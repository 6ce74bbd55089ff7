"""The program's solver against an exact one, HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity, ErrorParity
from fairalm.frontier import solver as module
from fairalm.frontier.joint import Joint, Rates, populations_of
from fairalm.frontier.limits import Limits
from fairalm.frontier.program import MET, Program
from fairalm.frontier.solver import solve

CLOSE = 2e-5  # of error and rates, as shares: the solver's own accuracy and the room it gives each limit


def program_of(constraint, n=400, n_groups=3, seed=0, *, acceptance=None, steps=None, sure=False):
    """The program of a constraint on random probabilities.

    With `steps`, many rows have the same ones; with `sure`, the groups are known.
    """
    rng = np.random.default_rng(seed)
    leaning = rng.integers(n_groups, size=n)
    score = rng.normal(size=n) + leaning - (n_groups - 1) / 2
    if steps:
        score = np.round(score * steps) / steps
    members = rng.dirichlet(np.full(n_groups, 0.5), n) if not sure and not steps else np.full((n, n_groups), 0.1)
    members[np.arange(n), leaning] += 1e9 if sure else 1
    members /= members.sum(axis=1, keepdims=True)
    return program_from([constraint], 1 / (1 + np.exp(-score)), members, acceptance)


def program_from(constraints, target, members, acceptance=None):
    n, n_groups = members.shape
    joint = Joint(target, dict.fromkeys(("other", "target", "everyone"), members))
    populations = populations_of(constraints)
    parts = joint.parts(populations)
    limits = Limits(parts.shape[1])
    for constraint in constraints:
        rates = Rates.of(constraint, populations, parts.sum(axis=0).reshape(len(populations), -1), None)
        limits.compare(constraint, rates, range(n_groups), ())
    matrix, bounds = limits.arrays()
    costs = (1 - 2 * target) / n
    if acceptance is not None:
        parts = np.column_stack([parts, np.full(n, 1 / n)])
        both = np.zeros((2, parts.shape[1]))
        both[:, -1] = 1, -1
        matrix = np.vstack([np.column_stack([matrix, np.zeros(len(matrix))]), both])
        bounds = np.append(bounds, [acceptance, -acceptance])
    return Program(costs, parts, matrix, bounds)


def exact(program):
    return linprog(program.costs, program.limits @ program.parts.T, program.bounds, bounds=(0, 1), method="highs")


def assert_solved(program, solution, excess=CLOSE):
    found = exact(program)
    assert found.status == 0
    assert solution.is_feasible
    assert solution.excess < excess
    worth = solution.excess * solution.multipliers.sum()  # of the room that was given
    assert solution.value == pytest.approx(found.fun, abs=CLOSE + worth)
    assert solution.bound <= found.fun + 1e-9
    assert solution.bound == pytest.approx(found.fun, abs=CLOSE)
    assert (solution.multipliers >= 0).all()
    assert (solution.chosen >= 0).all()
    assert (solution.chosen <= 1).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tol", [0.0, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize("constraint", [EqualOpportunity, EqualizedOdds, ErrorParity, DemographicParity])
def test_the_value_is_the_exact_one(constraint, n_groups, tol, seed):
    program = program_of(constraint(tol=tol), n_groups=n_groups, seed=seed)
    assert_solved(program, solve(program))


@pytest.mark.parametrize("acceptance", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("tol", [0.0, 0.05])
@pytest.mark.parametrize("constraint", [EqualizedOdds, DemographicParity])
def test_a_sum_fixed_by_two_limits(constraint, tol, acceptance):
    program = program_of(constraint(tol=tol), acceptance=acceptance)
    solution = solve(program)
    assert_solved(program, solution)
    assert solution.chosen @ program.parts[:, -1] == pytest.approx(acceptance, abs=CLOSE)


@pytest.mark.parametrize("acceptance", [None, 0.4])
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("tol", [0.0, 0.02])
@pytest.mark.parametrize("constraint", [EqualOpportunity, EqualizedOdds, DemographicParity])
def test_ties(constraint, tol, steps, acceptance):
    program = program_of(constraint(tol=tol), steps=steps, acceptance=acceptance)
    assert len(np.unique(program.costs)) < 40
    assert_solved(program, solve(program))


@pytest.mark.parametrize("constraint", [EqualOpportunity, EqualizedOdds, DemographicParity])
def test_groups_known_for_certain(constraint):
    """Each row adds to the sums of one group only."""
    program = program_of(constraint(tol=0.0), sure=True)
    assert_solved(program, solve(program))


# Sums that depend on each other.


def few_scores(n, seed):
    return 1 / (1 + np.exp(-np.round(np.random.default_rng(seed).normal(size=n))))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("acceptance", [None, 0.3, 0.955])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_groups_that_nothing_is_known_of(n_groups, acceptance, seed):
    """All groups have the same rates, whatever the predictions."""
    members = np.full((800, n_groups), 1 / n_groups)
    program = program_from([DemographicParity(tol=0.05)], few_scores(800, seed), members, acceptance)
    assert_solved(program, solve(program))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "constraints",
    [
        [DemographicParity(tol=0.0), EqualizedOdds(tol=0.001)],
        [EqualizedOdds(tol=0.0), EqualOpportunity(tol=0.05)],
        [ErrorParity(tol=0.001)],
    ],
    ids=["two", "the same twice", "one"],
)
def test_few_scores_and_known_groups(constraints, seed):
    rng = np.random.default_rng(seed)
    members = np.eye(2)[rng.integers(2, size=400)]
    for acceptance in (None, 0.78):
        program = program_from(constraints, few_scores(400, seed), members, acceptance)
        assert_solved(program, solve(program), excess=MET)


@pytest.mark.parametrize("seed", range(10))
def test_more_accuracy_than_rounding_allows(seed):
    """The last steps can lead away from the solution: the nearest one is kept."""
    rng = np.random.default_rng(seed)
    target, members = 1 / (1 + np.exp(-rng.normal(size=200))), rng.dirichlet(np.full(5, 0.1), 200)
    for tol in (0.0, 0.001):
        program = program_from([ErrorParity(tol=tol), EqualizedOdds(tol=0.05)], target, members)
        assert_solved(program, solve(program))


def test_one_row_and_no_limit():
    program = Program(np.array([-0.3]), np.ones((1, 1)), np.zeros((0, 1)), np.zeros(0))
    assert solve(program).chosen == pytest.approx([1.0], abs=1e-4)
    assert solve(program).bound == -0.3


def test_loose_limits_have_no_price():
    program = program_of(EqualOpportunity(tol=1.0))
    solution = solve(program)
    np.testing.assert_array_equal(solution.chosen > 0.5, program.costs < 0)
    assert solution.bound == pytest.approx(np.minimum(program.costs, 0).sum(), abs=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_any_multipliers_give_a_lower_bound(seed):
    program = program_of(EqualizedOdds(tol=0.02), n=200, acceptance=0.3)
    multipliers = np.random.default_rng(seed).exponential(0.1, len(program.bounds))
    multipliers[np.random.default_rng(seed).random(len(multipliers)) < 0.5] = 0
    assert program.lower_bound(multipliers) <= exact(program).fun + 1e-9


def test_the_bound_is_not_that_of_smaller_limits():
    """A check of the check: the exact value of tighter limits lies above the bound of looser ones."""
    tight, loose = program_of(EqualOpportunity(tol=0.0)), program_of(EqualOpportunity(tol=0.1))
    assert exact(tight).fun > solve(loose).bound + 0.001


# More rows than are solved at once.


@pytest.fixture
def few_at_once(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 40)


@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("acceptance", [None, 0.3])
@pytest.mark.parametrize("tol", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("constraint", [EqualOpportunity, EqualizedOdds, DemographicParity])
def test_rows_left_out(constraint, tol, acceptance):
    for seed in range(3):
        program = program_of(constraint(tol=tol), n=500, seed=seed, acceptance=acceptance)
        assert_solved(program, solve(program))


@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("steps", [1, 3])
def test_rows_left_out_with_ties(steps):
    program = program_of(EqualizedOdds(tol=0.01), n=500, steps=steps)
    assert_solved(program, solve(program))


@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("start", ["exact", "zero", "far"])
def test_the_start_does_not_change_the_answer(start):
    program = program_of(EqualizedOdds(tol=0.01), n=500)
    m = len(program.bounds)
    multipliers = {"exact": solve(program).multipliers, "zero": np.zeros(m), "far": np.linspace(0, 5, m)}[start]
    assert_solved(program, solve(program, multipliers))


@pytest.mark.usefixtures("few_at_once")
def test_a_good_start_saves_rows(monkeypatch):
    program = program_of(EqualizedOdds(tol=0.01), n=500)
    start, solved = solve(program).multipliers, []
    real = module._of_all_rows
    monkeypatch.setattr(module, "_of_all_rows", lambda part, *how: solved.append(len(part.costs)) or real(part, *how))
    solve(program, start)
    assert solved == [40]  # as many as are solved at once, the nearest to a tie, and none was wrong


@pytest.mark.usefixtures("few_at_once")
def test_rows_that_cannot_meet_the_limits_alone_are_joined_by_as_many_others(monkeypatch):
    """From a start far off, the rows left out are predicted such that the others cannot make up for it."""
    program, solved = program_of(DemographicParity(tol=0.0), n=500, acceptance=0.3), []
    real = module._of_all_rows
    monkeypatch.setattr(module, "_of_all_rows", lambda part, *how: solved.append(len(part.costs)) or real(part, *how))
    assert_solved(program, solve(program, np.zeros(len(program.bounds))))
    assert solved[:3] == [40, 80, 160]


# Limits that contradict each other.


def contradicting(n=300):
    """Accept at most a tenth, and at least nine tenths."""
    program = program_of(DemographicParity(tol=0.05), n=n, acceptance=0.5)
    return Program(program.costs, program.parts, program.limits, np.append(program.bounds[:-2], [0.1, -0.9]))


@pytest.mark.parametrize("at_once", [40, 10_000])
def test_infeasible_limits_are_told(monkeypatch, at_once):
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    program = contradicting()
    assert exact(program).status == 2
    solution = solve(program)
    assert not solution.is_feasible
    assert solution.excess > 0.1
    assert np.isfinite(solution.chosen).all()
    assert np.isfinite(solution.multipliers).all()


def test_slightly_infeasible_limits_are_told():
    program = program_of(DemographicParity(tol=0.0), acceptance=0.5)
    program = Program(program.costs, program.parts, program.limits, np.append(program.bounds[:-2], [0.499, -0.501]))
    assert not solve(program).is_feasible
