"""Finite differences through the sample weights: the one test of sign, offset, count and linearisation at once.

A logistic model with the bounded loss l_i(w) = sigmoid(-(2 y_i - 1) x_i w), so that the soft prediction is h = 1 - l
for y = 1 and h = l for y = 0. The objective is P(w) = mean loss + penalty(mu(w)), with mu(w) from the criterion's
definition in h and the penalty of the rule, both written here without the library. Its numerical gradient must equal
the gradient of the weighted loss, sum of w_i l_i(w), with the w_i that the library hands to a backend.

For predictive parity the cells' sizes (soft numbers predicted 1) move with w. The library holds C, and the 1 / n_c of
Reweight, at the last classifier's sizes, so the penalty here does too.
"""

from collections import namedtuple

import numpy as np
import pytest

from fairalm.constraints import CONSTRAINTS
from fairalm.methods import (
    METHODS,
    AugmentedLagrangian,
    Dual,
    FairALM,
    FairALMLinear,
    L2Penalty,
    Lagrangian,
    PIControl,
    ProxyLagrangian,
    Reweight,
    SecantALM,
    Unconstrained,
)

TOL, ETA, ROUND = 0.03, 0.7, 3
Data = namedtuple("Data", "x y group n_groups people")


def make_data(n_groups, weighted, seed):
    rng = np.random.default_rng(seed)
    n = 24 * n_groups
    group = np.concatenate([np.arange(n_groups).repeat(6), rng.integers(0, n_groups, n - 6 * n_groups)])
    x = rng.normal(size=(n, 3)) + 0.4 * group[:, None]
    y = np.where(np.arange(n) < 6 * n_groups, np.arange(n) % 2, rng.random(n) < 0.4).astype(
        int
    )  # every cell has people
    people = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    return Data(x, y, group, n_groups, people)


def predict(data, w):
    return 1 / (1 + np.exp(-data.x @ w))


# What each criterion compares, from its definition: numerator and denominator of the mean over a group, per person.
RATES = {
    "equal-opportunity": [lambda y, h: (y * (1 - h), y)],
    "predictive-equality": [lambda y, h: ((1 - y) * h, 1 - y)],
    "equalized-odds": [lambda y, h: (y * (1 - h), y), lambda y, h: ((1 - y) * h, 1 - y)],
    "error-parity": [lambda y, h: (y * (1 - h) + (1 - y) * h, 1.0 + 0 * h)],
    "demographic-parity": [lambda y, h: (h, 1.0 + 0 * h)],
    "predictive-parity": [lambda y, h: ((1 - y) * h, h)],
}


def sums(criterion, data, w):
    """Numerators and denominators of mu, each (events, groups)."""
    above, below = [], []
    for rate in RATES[criterion]:
        numerator, denominator = rate(data.y, predict(data, w))
        members = [data.group == k for k in range(data.n_groups)]
        above.append([(data.people * numerator)[member].sum() for member in members])
        below.append([(data.people * denominator)[member].sum() for member in members])
    return np.array(above), np.array(below)


def contrasts(sizes):
    if sizes.shape[1] == 2:
        return np.array([[[1.0, -1.0]] for _ in sizes])
    return np.array([np.eye(len(row)) - np.outer(np.ones(len(row)), row / row.sum()) for row in sizes])


# The penalties as functions of mu, with C, the sizes and the multipliers held fixed. `state` is what the dual holds.


def no_penalty(mu, d, C, sizes, state):
    return 0.0


def l2(mu, d, C, sizes, state):
    return ETA * (d**2).sum()


def reweight(mu, d, C, sizes, state):
    return (mu / sizes).sum() / (1 / sizes).sum()


def lagrangian(mu, d, C, sizes, state):
    plus, minus = state
    return (plus * (d - TOL) + minus * (-d - TOL)).sum()


def proxy(mu, d, C, sizes, state):
    below = 1 + np.exp(state[0]) + np.exp(state[1])
    plus, minus = 2.0 * np.exp(state[0]) / below, 2.0 * np.exp(state[1]) / below
    return (plus * (d - TOL) + minus * (-d - TOL)).sum()


def linear(mu, d, C, sizes, state):
    return (state * d).sum()


def fairalm(mu, d, C, sizes, state):
    eta = ETA * 1.2 ** (ROUND - 1)
    if mu.shape[1] == 2:
        return sum((lam + eta) * m0 - (lam - eta) * m1 for lam, (m0, m1) in zip(state[:, 0], mu, strict=True))
    return (state * d).sum() + eta * sum((abs(C[e]) @ mu[e]).sum() for e in range(len(mu)))


def augmented(mu, d, C, sizes, state):
    return (state * d).sum() + ETA / 2 * (d**2).sum()


RULES = {
    "unconstrained": (Unconstrained(), no_penalty),
    "l2": (L2Penalty(ETA), l2),
    "reweight": (Reweight(), reweight),
    "lagrangian": (Lagrangian(ETA), lagrangian),
    "proxy-lagrangian": (ProxyLagrangian(ETA, B=2.0), proxy),
    "fairalm": (FairALM(ETA, eta_beta=0.2), fairalm),
    "fairalm-linear": (FairALMLinear(ETA), linear),
    "augmented": (AugmentedLagrangian(ETA), augmented),
    "secant": (SecantALM(), linear),
    "pi-control": (PIControl(), linear),
}


def test_every_rule_and_criterion_is_here():
    assert RULES.keys() == METHODS.keys()
    assert RATES.keys() == CONSTRAINTS.keys()


def numerical_gradient(f, w, step=1e-5):
    return np.array([(f(w + step * e) - f(w - step * e)) / (2 * step) for e in np.eye(len(w))])


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize("criterion", RATES)
@pytest.mark.parametrize("rule", RULES)
def test_weighted_loss_has_the_gradient_of_the_penalised_objective(rule, criterion, n_groups, weighted):
    method, penalty = RULES[rule]
    data = make_data(n_groups, weighted, seed=n_groups)
    rng = np.random.default_rng(7)
    w0 = rng.normal(size=3)
    sizes = sums(criterion, data, w0)[1]
    C = contrasts(sizes)
    state = rng.normal(size=C.shape[:2])
    if rule in ("lagrangian", "proxy-lagrangian"):
        state = abs(rng.normal(size=(2, *C.shape[:2])))

    def objective(w):
        h = predict(data, w)
        loss = np.where(data.y == 1, 1 - h, h)
        above, below = sums(criterion, data, w)
        mu = above / below
        d = np.array([C[e] @ mu[e] for e in range(len(mu))])
        return (data.people * loss).sum() / data.people.sum() + penalty(mu, d, C, sizes, state)

    sign = 2 * data.y - 1
    loss = 1 / (1 + np.exp(sign * (data.x @ w0)))
    loss_gradient = -(sign * loss * (1 - loss))[:, None] * data.x
    cells = CONSTRAINTS[criterion]().rows(data.y == 1, data.group, n_groups, data.people if weighted else None)
    moments = cells.moments(loss)
    weights = cells.sample_weight(method.weights(moments, Dual(state, TOL, ROUND)), moments)
    assert weights.shape == data.y.shape
    assert weights @ loss_gradient == pytest.approx(numerical_gradient(objective, w0), rel=1e-6, abs=1e-9)
