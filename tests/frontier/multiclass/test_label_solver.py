"""The program of several labels, against HiGHS on all rows, and against the program of two labels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from fairalm.frontier import solver as two_labels
from fairalm.frontier.multiclass import solver
from fairalm.frontier.multiclass.program import LabelProgram
from fairalm.frontier.program import Program


def made_up(n=300, n_labels=3, n_groups=2, seed=0, tol=0.02, kind="demographic parity", steps=None, limited=None):
    """Random probabilities of labels and groups; with `steps`, many rows are alike."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n, n_labels))
    lean = score[:, :1] * np.arange(n_groups) + 0.5 * rng.normal(size=(n, n_groups))
    if steps is not None:
        score, lean = (np.round(steps * values) / steps for values in (score, lean))
    label, members = (np.exp(part) / np.exp(part).sum(axis=1, keepdims=True) for part in (2 * score, lean))
    limited = range(n_labels) if limited is None else limited
    parts, rates = [], []
    for k in range(n_labels):
        blocks = {
            "demographic parity": [members],
            "equal opportunity": [label[:, k, None] * members],
            "equalized odds": [label[:, k, None] * members, (1 - label[:, k, None]) * members],
        }[kind]
        blocks = [block / n for block in blocks] if k in limited else []
        parts.append(np.hstack(blocks or [np.empty((n, 0))]))
        rates += [np.eye(n_groups) / block.sum(axis=0) for block in blocks]
    width = sum(part.shape[1] for part in parts)
    limits = []
    for place, rate in enumerate(rates):
        for first in range(n_groups):
            for second in range(n_groups):
                if first != second:
                    row = np.zeros(width)
                    row[place * n_groups : (place + 1) * n_groups] = rate[first] - rate[second]
                    limits.append(row)
    return LabelProgram((1 - label) / n, parts, np.array(limits), np.full(len(limits), tol))


def highs(program):
    """The least cost, by the whole linear program written out."""
    n, n_labels = program.costs.shape
    columns = np.zeros((program.limits.shape[1], n, n_labels))
    for k, (part, place) in enumerate(zip(program.parts, program.places, strict=True)):
        columns[place, :, k] = part.T
    rows = np.repeat(np.eye(n), n_labels, axis=1)
    found = linprog(
        program.costs.ravel() * n,
        A_ub=program.limits @ columns.reshape(len(columns), -1) * n,
        b_ub=program.bounds * n,
        A_eq=rows,
        b_eq=np.ones(n),
    )
    return found.fun / n if found.status == 0 else None


def assert_solved(program, found, expected, accuracy=3e-6):
    np.testing.assert_allclose(found.chosen.sum(axis=1), 1, atol=1e-9)
    assert found.chosen.min() > -1e-9
    assert found.multipliers.min(initial=0) >= 0
    assert found.excess < 3e-6
    assert found.value == pytest.approx(expected, abs=accuracy)
    assert found.bound <= expected + 1e-9  # whatever the multipliers, no predictions within the limits cost less
    assert found.bound == pytest.approx(expected, abs=accuracy)


@pytest.mark.parametrize("kind", ["demographic parity", "equal opportunity", "equalized odds"])
@pytest.mark.parametrize(("n_labels", "n_groups"), [(3, 2), (4, 3), (5, 4)])
def test_the_same_as_highs(kind, n_labels, n_groups):
    for seed, tol in enumerate((0.0, 0.02, 0.1, 1.0)):
        program = made_up(200, n_labels, n_groups, seed, tol, kind)
        assert_solved(program, solver.solve(program), highs(program), accuracy=2e-5)


@pytest.mark.parametrize("limited", [(0,), (1, 2)])
def test_limits_on_some_labels_only(limited):
    program = made_up(n_labels=4, kind="equal opportunity", limited=limited)
    assert_solved(program, solver.solve(program), highs(program), accuracy=2e-5)


def test_many_rows_that_are_alike():
    program = made_up(400, steps=1)
    assert_solved(program, solver.solve(program), highs(program), accuracy=2e-5)


@pytest.mark.parametrize("width", [0.005, 0.05])
def test_a_width_meets_the_limits_and_costs_little_more(width):
    program = made_up(5000, 4, 3)
    exact, smooth = solver.solve(program), solver.solve(program, width=width)
    assert smooth.excess < 3e-5
    assert exact.value - 1e-5 < smooth.value < exact.value + width
    assert smooth.bound <= exact.value + 1e-6
    assert ((smooth.chosen > 0) & (smooth.chosen < 1)).any()


def test_few_rows_of_many_are_solved_exactly(monkeypatch):
    sizes, real = [], solver.linprog
    monkeypatch.setattr(solver, "linprog", lambda costs, **how: sizes.append(len(costs)) or real(costs, **how))
    program = made_up(20_000, 5, 4)
    found = solver.solve(program)
    assert found.value - found.bound < 1e-5
    assert found.excess < 3e-6
    assert max(sizes) < 0.1 * program.costs.size


def test_a_start_far_away_ends_at_the_same_place():
    program = made_up(2000, 3, 3)
    start = np.random.default_rng(0).random(len(program.bounds))
    assert solver.solve(program, start).value == pytest.approx(solver.solve(program).value, abs=3e-6)


def test_where_the_smoothed_program_has_no_end_highs_takes_all_rows(monkeypatch):
    program = made_up()
    monkeypatch.setattr(solver, "smoothed", lambda *how: None)
    assert_solved(program, solver.solve(program), highs(program))
    assert_solved(program, solver.solve(program, width=0.01), highs(program))


def test_limits_that_contradict_each_other():
    program = made_up()
    both = np.vstack([program.limits[:1], -program.limits[:1]])
    assert not solver.solve(replace(program, limits=both, bounds=np.array([0.1, -0.9]))).is_feasible


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("kind", ["demographic parity", "equal opportunity"])
def test_two_labels_are_the_program_of_two_labels(kind, n_groups):
    for seed in range(3):
        program = made_up(2000, 2, n_groups, seed, kind=kind, limited=(1,))
        costs = program.costs[:, 1] - program.costs[:, 0]
        alone = two_labels.solve(Program(costs, program.parts[1], program.limits, program.bounds))
        found = solver.solve(program)
        assert found.value == pytest.approx(alone.value + program.costs[:, 0].sum(), abs=3e-6)
        certain = abs(alone.chosen - 0.5) > 0.499
        assert certain.mean() > 0.99
        np.testing.assert_array_equal(found.chosen[certain, 1] > 0.5, alone.chosen[certain] > 0.5)
