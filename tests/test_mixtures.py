"""Found classifiers with errors e and cell means mu: the best single one, the best mixture, and the proof of both."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from fairalm.mixtures import best_mixture, choose_single, lower_bound, penalised, saddle_gaps, size_of


def draw(seed, n, events, groups, shift=0.0):
    """Errors that rise as the spread falls, as trade-offs do; `shift` raises the first group's means in all."""
    rng = np.random.default_rng(seed)
    mu = rng.uniform(0.2, 0.5, (n, events, groups))
    mu[:, :, 0] += shift
    return rng.uniform(0.1, 0.4, n) - 0.3 * np.ptp(mu, axis=2).mean(axis=1), mu


def blocks_of(mu, blocks):
    """The groups of each attribute, as lists of columns."""
    ends = np.cumsum(blocks or (mu.shape[-1],))
    return [list(range(start, end)) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def spreads(mu, blocks=()):
    """Largest difference between any two groups of an attribute, pair by pair; mu has shape (events, groups)."""
    return [
        max(abs(row[a] - row[b]) for a, b in combinations(own, 2)) if len(own) > 1 else 0.0
        for row in mu
        for own in blocks_of(mu, blocks)
    ]


def cost(q, errors, mu, tol, bound, blocks=()):
    """e(q) + B sum of (s(q) - tol)+."""
    mixed = sum(q[i] * mu[i] for i in range(len(q)))
    total = sum(q[i] * errors[i] for i in range(len(q)))
    return total + bound * sum(max(s - tol, 0.0) for s in spreads(mixed, blocks))


def two_group_value(errors, gaps, tol, bound):
    """max over |lambda| <= B of min_i (e_i + lambda d_i) - tol |lambda|: its corners are 0, ±B and the crossings."""
    corners = [0.0, bound, -bound]
    for i in range(len(errors)):
        for j in range(i):
            if gaps[i] != gaps[j]:
                corners.append((errors[i] - errors[j]) / (gaps[j] - gaps[i]))
    return max(min(errors + lam * gaps) - tol * abs(lam) for lam in corners if abs(lam) <= bound)


def pairwise_value(errors, mu, tol, bound, blocks=()):
    """The primal program with one excess per spread, at least that of every ordered pair of its groups."""
    n, events, _ = mu.shape
    own = [(event, columns) for event in range(events) for columns in blocks_of(mu, blocks)]
    rows = []
    for k, (event, columns) in enumerate(own):
        for a in columns:
            for b in columns:
                if a != b:
                    rows.append(np.concatenate([mu[:, event, a] - mu[:, event, b], -np.eye(len(own))[k]]))
    objective = np.concatenate([errors, np.full(len(own), bound)])
    simplex = np.concatenate([np.ones(n), np.zeros(len(own))])[None]
    return linprog(objective, A_ub=np.array(rows), b_ub=np.full(len(rows), tol), A_eq=simplex, b_eq=[1.0]).fun


SHAPES = [(2, 1, 2), (5, 1, 2), (12, 1, 2), (3, 2, 2), (9, 1, 3), (12, 2, 4)]
problems = pytest.mark.parametrize(
    ("seed", "n", "events", "groups", "shift"),
    [(seed, *shape, shift) for seed in range(2) for shape in SHAPES for shift in (0.0, 0.5)],
)
limits = pytest.mark.parametrize(("tol", "bound"), [(0.0, 1.0), (0.01, 1.0), (0.1, 0.2), (0.02, 50.0)])


@problems
@limits
def test_best_mixture_is_proved_best(seed, n, events, groups, shift, tol, bound):
    """Its cost equals the lower bound at its own prices, so that nothing can be cheaper. No solver is asked."""
    errors, mu = draw(seed, n, events, groups, shift)
    found = best_mixture(errors, mu, tol=tol, bound=bound)
    assert (found.weights >= 0).all()
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.prices.shape == (events, groups)
    assert found.prices.sum(axis=1) == pytest.approx(np.zeros(events), abs=1e-9)
    sizes = abs(found.prices).sum(axis=1) / 2
    assert (sizes <= bound + 1e-9).all()
    assert found.value == pytest.approx(cost(found.weights, errors, mu, tol, bound))
    floor = min(errors[i] + (mu[i] * found.prices).sum() for i in range(n)) - tol * sizes.sum()
    assert found.value == pytest.approx(floor, abs=1e-9)


@problems
@limits
def test_value_is_that_of_the_other_program(seed, n, events, groups, shift, tol, bound):
    """For one pair of groups, the dual by enumeration; otherwise a program with every pair written out."""
    errors, mu = draw(seed, n, events, groups, shift)
    if (events, groups) == (1, 2):
        expected = two_group_value(errors, mu[:, 0, 0] - mu[:, 0, 1], tol, bound)
    else:
        expected = pairwise_value(errors, mu, tol, bound)
    assert best_mixture(errors, mu, tol=tol, bound=bound).value == pytest.approx(expected, abs=1e-9)


def two_groups(seed, n, kind):
    """Errors and means of two groups; on a coarse grid many points are alike or in line."""
    rng = np.random.default_rng(seed)
    errors, mu = rng.uniform(0.0, 0.5, n), rng.uniform(0.2, 0.8, (n, 1, 2))
    if kind == "grid":
        errors, mu = (np.round(part * 8) / 8 for part in (errors, mu))
    if kind == "one side":
        mu[:, :, 0] += 0.7
    return errors, mu


@pytest.mark.parametrize("kind", ["free", "grid", "one side"])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
@pytest.mark.parametrize("tol", [0.0, 0.01, 0.125, 2.0])  # the last is above all gaps
@pytest.mark.parametrize("bound", [0.3, 100.0])  # the first is often paid
def test_two_groups_need_no_solver(kind, n, tol, bound):
    """With the second group written twice, which changes no spread, the linear program is solved instead."""
    for seed in range(10):
        errors, mu = two_groups(seed, n, kind)
        found = best_mixture(errors, mu, tol=tol, bound=bound)
        program = best_mixture(errors, mu[:, :, [0, 1, 1]], tol=tol, bound=bound)
        assert found.value == pytest.approx(program.value, abs=1e-9)
        assert found.value == pytest.approx(cost(found.weights, errors, mu, tol, bound), abs=1e-12)
        assert lower_bound(errors, mu, found.prices, tol=tol) == pytest.approx(found.value, abs=1e-9)
        assert (found.weights >= 0).all()
        assert found.weights.sum() == pytest.approx(1.0)
        assert np.count_nonzero(found.weights) <= 2
        assert abs(found.prices).max() <= bound
        if kind == "free":  # no ties: weights and price are the only ones
            assert found.weights == pytest.approx(program.weights, abs=1e-7)
            assert found.prices[0, 0] == pytest.approx(program.prices[0, 0], abs=1e-7)


@pytest.mark.parametrize("tol", [0.0, 0.125])
def test_the_order_of_two_groups_does_not_matter(tol):
    for seed in range(20):
        errors, mu = two_groups(seed, 30, "free")
        one, other = (best_mixture(errors, part, tol=tol) for part in (mu, mu[:, :, ::-1]))
        assert one.value == pytest.approx(other.value)
        assert one.weights == pytest.approx(other.weights)
        assert one.prices == pytest.approx(other.prices[:, ::-1])


@pytest.mark.parametrize("blocks", [(2, 2), (2, 3), (3, 2, 2), (1, 3)])
@pytest.mark.parametrize("seed", range(3))
@limits
def test_several_attributes(blocks, seed, tol, bound):
    """A group is compared with those of its attribute only, and prices sum to 0 over an attribute."""
    errors, mu = draw(seed, 9, 2, sum(blocks))
    mu[:, :, -1] += 0.3  # between the attributes there is a difference that nobody asks about
    found = best_mixture(errors, mu, tol=tol, bound=bound, blocks=blocks)
    assert found.value == pytest.approx(cost(found.weights, errors, mu, tol, bound, blocks))
    assert found.value == pytest.approx(pairwise_value(errors, mu, tol, bound, blocks), abs=1e-9)
    for columns in blocks_of(mu, blocks):
        own = found.prices[:, columns]
        assert own.sum(axis=1) == pytest.approx(np.zeros(2), abs=1e-9)
        assert (abs(own).sum(axis=1) / 2 <= bound + 1e-9).all()
    floor = lower_bound(errors, mu, found.prices, tol=tol)
    assert floor == pytest.approx(found.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("groups", [2, 4])
def test_no_drawn_mixture_is_cheaper(seed, groups):
    errors, mu = draw(seed, 6, 1, groups)
    best = best_mixture(errors, mu, tol=0.02, bound=2.0).value
    rng = np.random.default_rng(seed)
    drawn = np.vstack([np.eye(6), rng.dirichlet(np.full(6, 0.3), 500)])
    costs = np.array([cost(q, errors, mu, 0.02, 2.0) for q in drawn])
    assert costs.min() >= best - 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_a_feasible_mixture_keeps_the_tolerance_by_default(seed):
    """The tolerance bounds the difference between any two groups, not that from the mean."""
    errors, mu = draw(seed, 12, 1, 3)
    found = best_mixture(errors, mu, tol=0.01)
    assert np.ptp(found.weights @ mu[:, 0]) <= 0.01 + 1e-9
    assert np.count_nonzero(found.weights > 1e-9) <= 3  # two spreads' ends are free, so as many members as groups


@pytest.mark.parametrize("bound", [0.5, 100.0])
def test_infeasible_set_pays_the_bound(bound):
    """All gaps lie on one side, out of tolerance: the price is B itself."""
    errors, gaps = np.array([0.1, 0.12, 0.3]), np.array([0.3, 0.25, 0.2])
    mu = np.stack([0.4 + gaps, np.full(3, 0.4)], axis=-1)[:, None, :]
    found = best_mixture(errors, mu, tol=0.01, bound=bound)
    costs = [errors[i] + bound * (gaps[i] - 0.01) for i in range(3)]
    assert found.value == pytest.approx(min(costs))
    assert found.weights == pytest.approx(np.eye(3)[int(np.argmin(costs))])
    assert found.prices == pytest.approx(np.array([[bound, -bound]]))


def test_the_middle_group_has_no_price():
    """Of three groups only the highest and the lowest pull."""
    mu = np.array([[[0.6, 0.4, 0.2]], [[0.3, 0.4, 0.5]]])
    found = best_mixture(np.array([0.1, 0.2]), mu, tol=0.1, bound=1.0)
    assert found.prices[0, 1] == pytest.approx(0, abs=1e-9)
    assert found.prices[0, 0] == pytest.approx(-found.prices[0, 2])
    assert found.prices[0, 0] > 0
    assert np.ptp(found.weights @ mu[:, 0]) == pytest.approx(0.1)


def test_plain_model_within_the_tolerance_costs_nothing():
    mu = np.array([[[0.3, 0.295], [0.2, 0.21]], [[0.3, 0.3], [0.3, 0.3]]])
    found = best_mixture(np.array([0.1, 0.2]), mu, tol=0.02)
    assert found.weights == pytest.approx([1, 0])
    assert found.prices == pytest.approx(np.zeros((2, 2)))
    assert found.value == pytest.approx(0.1)


@pytest.mark.parametrize(("n", "events", "groups"), [(8, 1, 2), (8, 2, 2), (12, 1, 4)])
@pytest.mark.parametrize("seed", range(4))
def test_prices_are_slopes_of_the_value(seed, n, events, groups):
    """By the tolerance: minus |nu| / 2, summed. By a shift of one cell's means: that cell's price."""
    errors, mu = draw(seed, n, events, groups)
    tol, bound, step = 0.03, 3.0, 1e-6

    def value(mu, tol):
        return best_mixture(errors, mu, tol=tol, bound=bound).value

    prices = best_mixture(errors, mu, tol=tol, bound=bound).prices
    by_tol = (value(mu, tol + step) - value(mu, tol - step)) / (2 * step)
    assert by_tol == pytest.approx(-abs(prices).sum() / 2, abs=1e-5)
    for event in range(events):
        for group in range(groups):
            shift = np.zeros_like(mu)
            shift[:, event, group] = step
            by_shift = (value(mu + shift, tol) - value(mu - shift, tol)) / (2 * step)
            assert by_shift == pytest.approx(prices[event, group], abs=1e-5)


def test_some_prices_are_not_zero():
    """The test above would pass on prices and slopes that are all 0."""
    assert all(best_mixture(*draw(seed, 8, 2, 2), tol=0.03, bound=3.0).prices.any() for seed in range(4))


@problems
@pytest.mark.parametrize("tol", [0.0, 0.05, 0.2])
def test_choose_single_is_the_best_of_a_loop(seed, n, events, groups, shift, tol):
    errors, mu = draw(seed, n, events, groups, shift)
    table = np.array([spreads(one) for one in mu])
    within = [i for i in range(n) if max(table[i]) <= tol]
    smallest_error, smallest_spread = (lambda i: errors[i]), (lambda i: max(table[i]))
    expected = min(within, key=smallest_error) if within else min(range(n), key=smallest_spread)
    assert choose_single(errors, table, tol=tol) == expected


@pytest.mark.parametrize(
    ("errors", "spread", "expected"),
    [
        ([0.2, 0.2, 0.2], [0.01, 0.005, 0.008], 1),  # same error: the smaller spread
        ([0.3, 0.2], [0.5, 0.5], 1),  # same spread, out of tolerance: the smaller error
        ([0.1, 0.4], [0.011, 0.01], 1),  # the tolerance itself is within
        ([0.2, 0.2], [0.005, 0.005], 0),  # alike: the first
    ],
)
def test_choose_single_ties(errors, spread, expected):
    assert choose_single(np.array(errors), np.array(spread)[:, None], tol=0.01) == expected


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("blocks", [(), (2, 2)])
def test_penalised_and_lower_bound(seed, blocks):
    errors, mu = draw(seed, 7, 2, 4)
    rng = np.random.default_rng(seed)
    q, nu = rng.dirichlet(np.ones(7)), rng.uniform(-1, 1, (2, 4))
    for columns in blocks_of(mu, blocks):
        nu[:, columns] -= nu[:, columns].mean(axis=1, keepdims=True)  # prices sum to 0
    expected = cost(q, errors, mu, 0.02, 2.0, blocks)
    mixed = np.einsum("n,neg->eg", q, mu)
    assert penalised(float(q @ errors), np.array(spreads(mixed, blocks)), tol=0.02, bound=2.0) == pytest.approx(
        expected
    )
    floor = min(errors[i] + (nu * mu[i]).sum() for i in range(7)) - 0.02 * abs(nu).sum() / 2
    assert lower_bound(errors, mu, nu, tol=0.02) == pytest.approx(floor)
    assert size_of(nu) == pytest.approx([sum(price for price in row if price > 0) for row in nu])
    assert (size_of(nu) <= 2.0).all()
    assert floor <= expected


@pytest.mark.parametrize("blocks", [(), (2, 2)])
def test_saddle_gaps_are_those_of_a_loop(blocks):
    """After t rounds: cost of the mean of the plays, less the best answer, among those, to the mean of the prices."""
    errors, mu = draw(3, 5, 2, 4)
    rng = np.random.default_rng(0)
    played, prices = rng.integers(0, 5, 12), rng.normal(size=(12, 2, 4))
    prices -= prices.mean(axis=2, keepdims=True)
    found = saddle_gaps(errors, mu, played, prices, tol=0.02, bound=0.7, blocks=blocks)
    for t in range(1, 13):
        q = np.bincount(played[:t], minlength=5) / t
        nu, seen = prices[:t].mean(axis=0), sorted(set(played[:t]))
        best = min(errors[i] + (nu * mu[i]).sum() for i in seen) - 0.02 * abs(nu).sum() / 2
        assert found[t - 1] == pytest.approx(cost(q, errors, mu, 0.02, 0.7, blocks) - best)


@pytest.mark.parametrize(("events", "groups", "blocks"), [(1, 4, ()), (2, 3, ()), (1, 5, (2, 3))])
@pytest.mark.parametrize("begin", [None, [0], list(range(40))])
def test_many_classifiers_are_added_as_they_improve_it(monkeypatch, events, groups, blocks, begin):
    errors, mu = draw(3, 1500, events, groups, shift=0.2)
    chosen = None if begin is None else np.array(begin)
    by_columns = best_mixture(errors, mu, tol=0.02, blocks=blocks, begin=chosen)
    monkeypatch.setattr("fairalm.mixtures.FEW", 1500)
    at_once = best_mixture(errors, mu, tol=0.02, blocks=blocks)
    assert by_columns.value == pytest.approx(at_once.value, abs=1e-8)
    assert cost(by_columns.weights, errors, mu, 0.02, 100.0, blocks) == pytest.approx(by_columns.value, abs=1e-7)
    assert lower_bound(errors, mu, by_columns.prices, tol=0.02) == pytest.approx(at_once.value, abs=1e-7)
