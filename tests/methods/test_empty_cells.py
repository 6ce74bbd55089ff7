"""Trap 1: a group that is absent from an event is a mean of nothing. Weight 0 there, no dual step, and never a NaN."""

import numpy as np
import pytest

from fairalm.constraints import EqualizedOdds, EqualOpportunity, PredictiveParity
from fairalm.methods import METHODS
from fairalm.moments import Moments

TOL = 0.02
RULES = pytest.mark.parametrize("rule", METHODS)
DUAL_RULES = pytest.mark.parametrize("rule", [name for name, method in METHODS.items() if method.traits.has_dual])

# (groups, absent from y=1): the event y=0 always has everyone
ABSENT = pytest.mark.parametrize(
    ("n_groups", "absent"), [(2, [0]), (2, [1]), (2, [0, 1]), (3, [1]), (3, [0, 2]), (3, [0, 1, 2])]
)


def people(n_groups, absent, seed=0):
    """Labels, groups and losses in which some groups have no y=1."""
    rng = np.random.default_rng(seed)
    y = np.tile([True, True, False], 20 * n_groups)
    group = np.repeat(np.arange(n_groups), 60)
    level = np.where(y, np.array([0.2, 0.9, 0.5])[group], np.array([0.6, 0.1, 0.2])[group])
    loss = level + rng.uniform(-0.05, 0.05, len(y))
    keep = ~(y & np.isin(group, absent))
    return y[keep], group[keep], loss[keep]


def before_and_after(rule, n_groups, absent):
    """A dual that has moved, moments with the empty cells, and the dual after them."""
    method = METHODS[rule](eta=0.01) if rule == "pi-control" else METHODS[rule]()  # away from its bound
    y, group, loss = people(n_groups, [])
    full = EqualizedOdds().rows(y, group, n_groups).moments(loss)
    dual = method.start(full, TOL)
    for _ in range(2):
        dual = method.update(full, dual)
    y, group, loss = people(n_groups, absent, seed=1)
    cells = EqualizedOdds().rows(y, group, n_groups)
    return method, cells, cells.moments(loss), dual


@RULES
@ABSENT
def test_empty_cell_has_weight_zero(rule, n_groups, absent):
    method, cells, moments, dual = before_and_after(rule, n_groups, absent)
    assert (moments.counts[0, absent] == 0).all()
    weights = method.weights(moments, dual)
    assert (weights[0, absent] == 0).all()
    if rule != "unconstrained":
        assert (weights[1] != 0).all()  # the other event works on
    sample_weight = cells.sample_weight(weights, moments)
    assert np.isfinite(sample_weight).all()
    left = [k for k in range(n_groups) if k not in absent]
    if len(left) < 2 and rule != "reweight":  # nothing to compare: the event asks for nothing
        assert (weights[0] == 0).all()
    elif rule not in ("unconstrained", "reweight"):
        assert (weights[0, left] != 0).all()


@DUAL_RULES
@ABSENT
def test_row_of_an_empty_cell_keeps_its_multiplier(rule, n_groups, absent):
    method, _, moments, dual = before_and_after(rule, n_groups, absent)
    after = method.update(moments, dual)
    left = [k for k in range(n_groups) if k not in absent]
    undefined = absent if len(left) > 1 else list(range(n_groups))
    rows = [0] if n_groups == 2 else undefined
    assert dual.value[..., 0, rows].any()  # there is something to lose
    assert (after.value[..., 0, rows] == dual.value[..., 0, rows]).all()
    others = [row for row in range(moments.gap.shape[1]) if row not in rows]
    moved = after.value != dual.value
    assert moved[..., 1, :].any()
    assert moved[..., 0, others].any() == bool(others)
    assert np.isfinite(after.value).all()
    assert after.t == dual.t + 1


@pytest.mark.parametrize("rule", ["lagrangian", "augmented"])
def test_multipliers_do_not_decay_over_many_empty_rounds(rule):
    """Both would fall by eta tol a round if an empty cell counted as a gap of 0."""
    method, _, moments, dual = before_and_after(rule, 2, [1])
    kept = dual.value[..., 0, 0].copy()
    assert kept.any()
    for _ in range(200):
        dual = method.update(moments, dual)
    assert (dual.value[..., 0, 0] == kept).all()


@RULES
def test_remaining_groups_are_compared_among_themselves(rule):
    """With one of three groups absent, the other two get the weights of C built on their own sizes."""
    method, _, moments, dual = before_and_after(rule, 3, [1])
    share = moments.counts[0] / moments.counts[0].sum()
    overall = share[0] * moments.mu[0, 0] + share[2] * moments.mu[0, 2]
    assert moments.gap[0] == pytest.approx([moments.mu[0, 0] - overall, 0.0, moments.mu[0, 2] - overall])
    if rule not in ("reweight", "unconstrained", "fairalm", "l2", "augmented"):
        lam = method.multiplier(dual)[0]
        expected = [lam[0] - share[0] * (lam[0] + lam[2]), 0.0, lam[2] - share[2] * (lam[0] + lam[2])]
        assert method.weights(moments, dual)[0] == pytest.approx(expected)


@RULES
@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_batch_without_anyone_in_the_event(rule, n_groups, request):
    """A mini-batch without a single y=target: the plain weights, no step."""
    method = METHODS[rule]()
    y, group, loss = people(n_groups, list(range(n_groups)))
    cells = EqualOpportunity().rows(y, group, n_groups)
    moments = cells.moments(loss)
    assert not moments.counts.any()
    dual = method.start(moments, TOL)
    sample_weight = cells.sample_weight(method.weights(moments, dual), moments)
    assert sample_weight == pytest.approx(np.full(len(y), 1 / len(y)))
    after = method.update(moments, dual)
    assert (after.value == dual.value).all()


@pytest.mark.parametrize("rule", METHODS)
@pytest.mark.parametrize("n_groups", [2, 3])
def test_nobody_predicted_the_target_in_a_group(rule, n_groups):
    """Predictive parity's cells can be empty although the group is there."""
    y, group, _ = people(n_groups, [])
    chosen = (group > 0) & (np.arange(len(y)) % 2 == 0)
    cells = PredictiveParity().rows(y, group, n_groups)
    moments = cells.moments(chosen != y)
    assert moments.counts[0, 0] == 0
    assert moments.mu[0, 0] == 0
    method = METHODS[rule]()
    dual = method.update(moments, method.start(moments, TOL))
    weights = cells.sample_weight(method.weights(moments, dual), moments)
    assert weights[group == 0] == pytest.approx(np.full((group == 0).sum(), 1 / len(y)))
    assert np.isfinite(weights).all()


@pytest.mark.parametrize("n_groups", [2, 3])
def test_counts_of_zero_do_not_warn(n_groups):
    moments = Moments(np.zeros((1, n_groups)), np.zeros((1, n_groups)), 10.0)
    assert moments.max_gap == 0
    assert (moments.row_share == 0).all()
