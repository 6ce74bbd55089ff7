"""What a game can return, of the classifiers found, their shifts and the constants: one of them, or a mixture."""

import numpy as np
import pytest

from fairalm import EqualizedOdds, EqualOpportunity, PredictiveParity
from fairalm.candidates import Candidates, selected_by_group
from fairalm.cells import Cells, Compared, Rows
from fairalm.moments import Moments
from fairalm.shifts import Shifts

INF = np.inf


def people(n=600, n_groups=3, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    positive, group = rng.random(n) < 0.4, rng.integers(0, n_groups, n)
    margins = [rng.normal(size=n) + positive * scale + 0.5 * group for scale in (2.0, 1.0)]
    return positive, group, margins, rng.uniform(0.1, 3, n) if weighted else None


def measured(rows, margins):
    wrong = [rows.sums(rows.weight * ((margin > 0) != rows.positive)) for margin in margins]
    return Candidates.measured(rows, wrong, [Shifts.of(rows, margin) for margin in margins])


def by_hand(errors, gaps, by, fit=None):
    """Candidates of two groups, given their gaps."""
    gaps = np.array(gaps, dtype=float)
    mu = np.stack([0.4 + gaps / 2, 0.4 - gaps / 2], axis=-1)[:, None, :]
    fit = np.zeros(len(gaps), dtype=int) if fit is None else np.array(fit)
    return Candidates(np.array(errors), mu, abs(gaps)[:, None], fit, np.array(by, dtype=float))


def single(found, *, tol=0.01, bound=1.0, eligible=None):
    eligible = np.ones(len(found.errors), dtype=bool) if eligible is None else np.array(eligible)
    return found.single(eligible, tol=tol, bound=bound)


@pytest.mark.parametrize("constraint", [EqualOpportunity(), EqualizedOdds(), PredictiveParity()], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_those_of_each_threshold(constraint, weighted):
    """Error, means and spread of each candidate, from the predictions it stands for."""
    positive, group, margins, weight = people(weighted=weighted)
    rows = constraint.rows(positive, group, 3, weight)
    found = measured(rows, margins)
    assert found.fit[:2].tolist() == [0, 1]
    assert found.by[:2].tolist() == [0, 0]
    assert found.as_fitted.sum() == 2
    assert found.is_constant.sum() == 4
    for i, (fit, by) in enumerate(zip(found.fit, found.by, strict=True)):
        loss = (margins[fit] > by) != positive
        moments = rows.moments(loss)
        assert found.errors[i] == pytest.approx(np.average(loss, weights=weight))
        is_empty = np.array([not (margins[fit] > by)[group == g].any() for g in range(3)])
        if isinstance(constraint, PredictiveParity) and is_empty.any():
            assert found.spread[i] == (0.0 if is_empty.all() else 1.0)
        else:
            assert found.mu[i] == pytest.approx(moments.mu)
            assert found.spread[i] == pytest.approx(np.ptp(moments.mu, axis=1))
        selected = [(rows.weight * (margins[fit] > by))[group == g].sum() for g in range(3)]
        assert selected_by_group(rows, found.wrong[i]) == pytest.approx(selected)


def test_spread_is_the_largest_possible_where_a_cell_is_empty():
    """Nobody of the second group is predicted the target: the share of errors among them is unknown, not 0."""
    positive, group = np.array([1, 0, 1, 0], dtype=bool), np.array([0, 0, 1, 1])
    rows = PredictiveParity().rows(positive, group, 2)
    found = measured(rows, [np.array([2.0, 1.0, -1.0, -2.0])])
    assert found.spread[0].tolist() == [1.0]
    assert single(found, tol=0.0) == 0  # no shift is within the tolerance by accident


def test_attributes_are_compared_each_on_its_own():
    """Two sexes and two races in four groups."""
    positive, group, margins, _ = people(n_groups=4)
    sex, race = np.divmod(group, 2)
    membership = np.array([[g // 2 == 0, g // 2 == 1, g % 2 == 0, g % 2 == 1] for g in range(4)], dtype=float)
    rows = Rows(Cells.of(EqualizedOdds(), 4, Compared(membership, (2, 2))), positive, group)
    found = measured(rows, margins)
    assert found.blocks == (2, 2)
    for i in (0, 1, 5, 60):
        loss = (margins[found.fit[i]] > found.by[i]) != positive
        spreads = []
        for label in (True, False):
            for attribute in (sex, race):
                rates = [loss[(positive == label) & (attribute == a)].mean() for a in (0, 1)]
                spreads.append(abs(rates[0] - rates[1]))
        assert found.spread[i] == pytest.approx(spreads)
    mixture = found.mixture(0.02)
    assert found.spread_of(mixture.weights).max() <= 0.02 + 1e-9


def test_without_rows_there_are_no_shifts():
    means = [np.array([[0.5, 0.2, 0.9, 0.8]]), np.array([[0.3, 0.28, 0.9, 0.86]])]
    found = Candidates.of(np.array([0.1, 0.2]), [Moments(mu, np.ones((1, 4)), 4.0, (2, 2)) for mu in means])
    assert found.as_fitted.all()
    assert not found.is_nearly_constant().any()
    assert found.spread == pytest.approx(np.array([[0.3, 0.1], [0.02, 0.04]]))


# The single classifier


@pytest.mark.parametrize(("moved", "expected"), [(0.2975, 1), (0.2985, 0), (0.2, 1), (0.31, 0)])
def test_a_moved_threshold_must_be_clearly_better(moved, expected):
    """By a fifth of a point of error."""
    assert single(by_hand([0.3, moved], [0.005, 0.005], [0, 0.7])) == expected


def test_a_moved_threshold_must_be_within_the_tolerance():
    """Even where none as fitted is: its gap costs B per unit, and that of a shift counts as out."""
    assert single(by_hand([0.3, 0.1], [0.005, 0.011], [0, 0.7])) == 0
    assert single(by_hand([0.3, 0.1], [0.05, 0.02], [0, 0.7])) == 0
    assert single(by_hand([0.3, 0.1], [0.05, 0.01], [0, 0.7])) == 1


def test_above_the_tolerance_the_gap_is_part_of_the_cost():
    found = by_hand([0.30, 0.33], [0.05, 0.005], [0, 0.7])
    assert single(found, bound=1.0) == 1  # 0.30 + 0.04 against 0.33
    assert single(found, bound=0.5) == 0  # 0.30 + 0.02


@pytest.mark.parametrize("by", [-INF, INF])
def test_a_constant_is_never_the_single_classifier(by):
    assert single(by_hand([0.4, 0.1], [0.005, 0.0], [0, by])) == 0
    assert single(by_hand([0.4, 0.1], [0.3, 0.0], [0, by])) == 0


def test_as_fitted_the_smallest_error_within_the_tolerance_else_the_smallest_spread():
    found = by_hand([0.2, 0.25, 0.24, 0.3], [0.3, 0.01, 0.009, 0.002], [0, 0, 0, 0], fit=[0, 1, 2, 3])
    assert single(found) == 2
    assert single(found, tol=0.001) == 3
    assert single(found, eligible=[True, True, False, True]) == 1
    assert found.best_as_fitted(np.array([True, False, False, False]), tol=0.01) == 0


def test_a_nearly_constant_threshold_is_left_out():
    """The plain model selects half of the rows; where less than a twentieth is left there is no gap, and no use."""
    rng = np.random.default_rng(0)
    positive, group = np.arange(4000) % 2 == 0, rng.integers(0, 2, 4000)
    margin = rng.normal(size=4000) + 0.05 * positive + 0.8 * (group - 0.5)
    found = measured(EqualOpportunity().rows(positive, group, 2), [margin])
    shares = np.array([(margin > by).mean() for by in found.by])
    plain = min(shares[0], 1 - shares[0])
    expected = np.minimum(shares, 1 - shares) <= 0.1 * plain
    np.testing.assert_array_equal(found.is_nearly_constant(), expected)
    assert expected[found.is_constant].all()
    assert expected.sum() > found.is_constant.sum()
    fair = (found.spread[:, 0] <= 0.06) & ~found.is_constant
    assert fair.any()  # some threshold has a small gap, but only since nearly all, or none, are selected
    assert expected[fair].all()
    assert single(found, tol=0.06) == 0


def test_shifts_of_a_constant_model_may_be_used_but_not_the_other_constant():
    """A plain model that predicts one class throughout, as strong regularisation gives."""
    rng = np.random.default_rng(0)
    positive, group = np.arange(1000) < 300, rng.integers(0, 2, 1000)
    rows = EqualOpportunity().rows(positive, group, 2)
    useful = measured(rows, [np.where(positive, -1.0, -2.0) + rng.normal(size=1000) / 10])
    chosen = single(useful)
    assert 0 < chosen < len(useful.by)
    assert not useful.is_constant[chosen]
    useless = measured(rows, [np.full(1000, 1.0)])  # predicts the rarer class for all
    assert useless.errors.min() < useless.errors[0] - 0.3  # the other constant
    assert single(useless) == 0


# The mixture


def test_the_mixture_draws_on_the_constants():
    """The plain model as often as the tolerance allows, otherwise the better constant."""
    found = by_hand([0.2, 0.35, 0.45, 0.55], [0.25, 0.01, 0.0, 0.0], [0, 0, INF, -INF], fit=[0, 1, 0, 0])
    mixture = found.mixture(0.05)
    # the plain one and the fair one: gap 0.01 + w (0.25 - 0.01) = 0.05
    share = 0.04 / 0.24
    assert mixture.weights == pytest.approx([share, 1 - share, 0, 0])
    poor = by_hand([0.2, 0.60, 0.45, 0.55], [0.25, 0.01, 0.0, 0.0], [0, 0, INF, -INF], fit=[0, 1, 0, 0])
    mixture = poor.mixture(0.05)
    assert mixture.weights == pytest.approx([0.2, 0, 0.8, 0])
    assert mixture.value == pytest.approx(0.2 * 0.2 + 0.8 * 0.45)
    assert poor.spread_of(mixture.weights) == pytest.approx([0.05])
    assert poor.errors[single(poor, tol=0.05)] - mixture.value == pytest.approx(0.60 - 0.4)  # which no single one may


def test_the_mixture_of_some():
    found = by_hand([0.2, 0.3, 0.25, 0.5], [0.25, 0.01, 0.0, 0.0], [0, 0, 0.4, INF], fit=[0, 1, 0, 0])
    assert found.mixture(0.02).weights[2] > 0.5
    mixture = found.mixture(0.02, among=found.as_fitted | found.is_constant)
    assert mixture.weights[2] == 0
    assert mixture.weights.sum() == pytest.approx(1)
    assert mixture.weights @ found.errors == pytest.approx(mixture.value)


def test_cost_of_a_mixture():
    found = by_hand([0.2, 0.3], [0.3, -0.1], [0, 0], fit=[0, 1])
    weights = np.array([0.75, 0.25])
    assert found.cost(weights, tol=0.05, bound=0.5) == pytest.approx(0.225 + 0.5 * (0.2 - 0.05))
    assert found.cost(np.array([0.0, 1.0]), tol=0.05, bound=0.5) == pytest.approx(0.3 + 0.5 * 0.05)
