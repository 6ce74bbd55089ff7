"""Which group is called 0 must not matter: permuted codes permute the weights; for two groups the gap changes sign."""

import numpy as np
import pytest

from fairalm.constraints import CONSTRAINTS
from fairalm.methods import METHODS
from fairalm.moments import Moments

ORDERS = pytest.mark.parametrize("order", [(1, 0), (1, 2, 0), (2, 1, 0), (4, 2, 0, 1, 3)], ids=str)


def stream(n_groups, rounds=6):
    rng = np.random.default_rng(n_groups)
    counts = rng.integers(3, 90, (2, n_groups)).astype(float)
    for _ in range(rounds):
        yield Moments(rng.uniform(0, 1, (2, n_groups)), counts, 1.2 * counts.sum())


@pytest.mark.parametrize("rule", METHODS)
@ORDERS
def test_rules(rule, order):
    order = list(order)
    method = METHODS[rule]()
    dual = turned_dual = None
    for moments in stream(len(order)):
        turned = Moments(moments.mu[:, order], moments.counts[:, order], moments.total)
        if dual is None:
            dual, turned_dual = method.start(moments, 0.01), method.start(turned, 0.01)
        weights = method.weights(moments, dual)
        assert method.weights(turned, turned_dual) == pytest.approx(weights[:, order], abs=1e-12)
        dual, turned_dual = method.update(moments, dual), method.update(turned, turned_dual)
        lam = method.multiplier(dual)
        expected = -lam if len(order) == 2 else lam[:, order]
        assert method.multiplier(turned_dual) == pytest.approx(expected, abs=1e-12)
        assert turned.gap == pytest.approx(-moments.gap if len(order) == 2 else moments.gap[:, order], abs=1e-12)
        assert turned.max_gap == pytest.approx(moments.max_gap)


@pytest.mark.parametrize("criterion", CONSTRAINTS)
@ORDERS
def test_sample_weights(criterion, order):
    rng = np.random.default_rng(0)
    n_groups, n = len(order), 200
    y, group, loss = rng.random(n) < 0.4, rng.integers(0, n_groups, n), rng.random(n)
    new_code = np.argsort(order)  # group order[k] is now called k
    cells = CONSTRAINTS[criterion]().rows(y, group, n_groups)
    turned = CONSTRAINTS[criterion]().rows(y, new_code[group], n_groups)
    method = METHODS["augmented"](eta=2.0)
    moments, turned_moments = cells.moments(loss), turned.moments(loss)
    assert turned_moments.mu == pytest.approx(moments.mu[:, list(order)])
    dual = method.update(moments, method.start(moments, 0.0))
    turned_dual = method.update(turned_moments, method.start(turned_moments, 0.0))
    weights = cells.sample_weight(method.weights(moments, dual), moments)
    assert np.ptp(weights) > 0
    assert turned.sample_weight(method.weights(turned_moments, turned_dual), turned_moments) == pytest.approx(weights)
