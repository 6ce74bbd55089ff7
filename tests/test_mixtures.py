"""Found classifiers with errors e and gaps d: the best single one, the best mixture, and the proof of both."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fairalm.mixtures import best_mixture, choose_single, lower_bound, penalised


def draw(seed, n, rows, shift=0.0):
    """Errors that rise as the gap falls, as trade-offs do; `shift` moves all gaps to one side."""
    rng = np.random.default_rng(seed)
    gaps = rng.uniform(-0.3, 0.3, (n, rows)) + shift
    return rng.uniform(0.1, 0.4, n) - 0.3 * abs(gaps).mean(axis=1), gaps


def cost(q, errors, gaps, tol, bound):
    """e(q) + B sum of (|d(q)| - tol)+."""
    total = sum(q[i] * errors[i] for i in range(len(q)))
    for row in range(gaps.shape[1]):
        d = sum(q[i] * gaps[i, row] for i in range(len(q)))
        total += bound * max(abs(d) - tol, 0.0)
    return total


def one_row_value(errors, gaps, tol, bound):
    """max over |lambda| <= B of min_i (e_i + lambda d_i) - tol |lambda|: its corners are 0, ±B and the crossings."""
    corners = [0.0, bound, -bound]
    for i in range(len(errors)):
        for j in range(i):
            if gaps[i] != gaps[j]:
                corners.append((errors[i] - errors[j]) / (gaps[j] - gaps[i]))
    return max(min(errors + lam * gaps) - tol * abs(lam) for lam in corners if abs(lam) <= bound)


SHAPES = [(2, 1), (5, 1), (12, 1), (3, 2), (9, 3), (12, 6)]
problems = pytest.mark.parametrize(
    ("seed", "n", "rows", "shift"),
    [(seed, n, rows, shift) for seed in range(2) for n, rows in SHAPES for shift in (0.0, 0.5)],
)
limits = pytest.mark.parametrize(("tol", "bound"), [(0.0, 1.0), (0.01, 1.0), (0.1, 0.2), (0.02, 50.0)])


@problems
@limits
def test_best_mixture_is_proved_best(seed, n, rows, shift, tol, bound):
    """Its cost equals the lower bound at its own prices, so that nothing can be cheaper. No solver is asked."""
    errors, gaps = draw(seed, n, rows, shift)
    found = best_mixture(errors, gaps, tol=tol, bound=bound)
    assert (found.weights >= 0).all()
    assert found.weights.sum() == pytest.approx(1.0)
    assert (abs(found.prices) <= bound + 1e-9).all()
    assert found.value == pytest.approx(cost(found.weights, errors, gaps, tol, bound))
    floor = min(errors[i] + gaps[i] @ found.prices for i in range(n)) - tol * sum(abs(found.prices))
    assert found.value == pytest.approx(floor, abs=1e-9)


@problems
@limits
def test_value_is_that_of_the_other_program(seed, n, rows, shift, tol, bound):
    """For one gap, the dual by enumeration; for several, typed as a linear program in (v, l+, l-)."""
    errors, gaps = draw(seed, n, rows, shift)
    if rows == 1:
        expected = one_row_value(errors, gaps[:, 0], tol, bound)
    else:
        objective = np.concatenate([[-1.0], np.full(2 * rows, tol)])  # max v - tol sum of (l+ + l-)
        cuts = np.hstack([np.ones((n, 1)), -gaps, gaps])  # v <= e_i + (l+ - l-) d_i
        sides = np.hstack([np.zeros((rows, 1)), np.eye(rows), np.eye(rows)])  # l+ + l- <= B
        free = [(None, None)] + [(0, None)] * (2 * rows)
        limit = np.concatenate([errors, np.full(rows, bound)])
        expected = -linprog(objective, A_ub=np.vstack([cuts, sides]), b_ub=limit, bounds=free).fun
    assert best_mixture(errors, gaps, tol=tol, bound=bound).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rows", [1, 3])
def test_no_drawn_mixture_is_cheaper(seed, rows):
    errors, gaps = draw(seed, 6, rows)
    best = best_mixture(errors, gaps, tol=0.02, bound=2.0).value
    rng = np.random.default_rng(seed)
    drawn = np.vstack([np.eye(6), rng.dirichlet(np.full(6, 0.3), 500)])
    costs = np.array([cost(q, errors, gaps, 0.02, 2.0) for q in drawn])
    assert costs.min() >= best - 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_a_large_bound_makes_a_feasible_mixture_keep_the_tolerance(seed):
    errors, gaps = draw(seed, 10, 2)
    found = best_mixture(errors, gaps, tol=0.01, bound=1e4)
    assert abs(found.weights @ gaps).max() <= 0.01 + 1e-9
    assert np.count_nonzero(found.weights > 1e-9) <= 3  # as many members as rows, and one


@pytest.mark.parametrize("bound", [0.5, 100.0])
def test_infeasible_set_pays_the_bound(bound):
    """All gaps lie on one side, out of tolerance: the price is B itself."""
    errors, gaps = np.array([0.1, 0.12, 0.3]), np.array([[0.3], [0.25], [0.2]])
    found = best_mixture(errors, gaps, tol=0.01, bound=bound)
    costs = [errors[i] + bound * (gaps[i, 0] - 0.01) for i in range(3)]
    assert found.value == pytest.approx(min(costs))
    assert found.weights == pytest.approx(np.eye(3)[int(np.argmin(costs))])
    assert found.prices == pytest.approx([bound])


def test_plain_model_within_the_tolerance_costs_nothing():
    found = best_mixture(np.array([0.1, 0.2]), np.array([[0.005, -0.01], [0.0, 0.0]]), tol=0.02)
    assert found.weights == pytest.approx([1, 0])
    assert found.prices == pytest.approx([0, 0])
    assert found.value == pytest.approx(0.1)


@pytest.mark.parametrize(("n", "rows"), [(8, 1), (8, 2), (12, 4)])
@pytest.mark.parametrize("seed", range(4))
def test_prices_are_slopes_of_the_value(seed, n, rows):
    """By the tolerance: minus the sum of the prices' sizes. By a shift of one row's gaps: that row's price."""
    errors, gaps = draw(seed, n, rows)
    tol, bound, step = 0.03, 3.0, 1e-6

    def value(gaps, tol):
        return best_mixture(errors, gaps, tol=tol, bound=bound).value

    prices = best_mixture(errors, gaps, tol=tol, bound=bound).prices
    by_tol = (value(gaps, tol + step) - value(gaps, tol - step)) / (2 * step)
    assert by_tol == pytest.approx(-abs(prices).sum(), abs=1e-5)
    for row in range(rows):
        shift = step * np.eye(rows)[row]
        by_shift = (value(gaps + shift, tol) - value(gaps - shift, tol)) / (2 * step)
        assert by_shift == pytest.approx(prices[row], abs=1e-5)


def test_some_prices_are_not_zero():
    """The test above would pass on prices and slopes that are all 0."""
    assert all(best_mixture(*draw(seed, 8, 2), tol=0.03, bound=3.0).prices.any() for seed in range(4))


@problems
@pytest.mark.parametrize("tol", [0.0, 0.05, 0.2])
def test_choose_single_is_the_best_of_a_loop(seed, n, rows, shift, tol):
    errors, gaps = draw(seed, n, rows, shift)
    within = [i for i in range(n) if max(abs(gaps[i])) <= tol]
    smallest_error, smallest_gap = (lambda i: errors[i]), (lambda i: max(abs(gaps[i])))
    expected = min(within, key=smallest_error) if within else min(range(n), key=smallest_gap)
    assert choose_single(errors, gaps, tol=tol) == expected


@pytest.mark.parametrize(
    ("errors", "gaps", "expected"),
    [
        ([0.2, 0.2, 0.2], [0.01, -0.005, 0.008], 1),  # same error: the smaller gap
        ([0.3, 0.2], [0.5, -0.5], 1),  # same gap, out of tolerance: the smaller error
        ([0.1, 0.4], [0.011, 0.01], 1),  # the tolerance itself is within
        ([0.2, 0.2], [0.005, 0.005], 0),  # alike: the first
    ],
)
def test_choose_single_ties(errors, gaps, expected):
    assert choose_single(np.array(errors), np.array(gaps)[:, None], tol=0.01) == expected


@pytest.mark.parametrize("seed", range(5))
def test_penalised_and_lower_bound(seed):
    errors, gaps = draw(seed, 7, 3)
    rng = np.random.default_rng(seed)
    q, lam = rng.dirichlet(np.ones(7)), rng.uniform(-2, 2, 3)
    expected = cost(q, errors, gaps, 0.02, 2.0)
    assert penalised(float(q @ errors), q @ gaps, tol=0.02, bound=2.0) == pytest.approx(expected)
    floor = min(errors[i] + sum(lam[r] * gaps[i, r] for r in range(3)) for i in range(7)) - 0.02 * sum(abs(lam))
    assert lower_bound(errors, gaps, lam, tol=0.02) == pytest.approx(floor)
    assert floor <= expected  # |lambda| <= 2
