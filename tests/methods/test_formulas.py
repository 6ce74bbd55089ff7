"""Each rule against the paper's appendix, "Algorithm for baselines", typed out scalar by scalar for two groups, and
against the matrix form typed out with loops for more.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from fairalm.exceptions import InputError
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
from fairalm.moments import Moments
from fairalm.schedules import Decay, Growth

ROUNDS = 6


def draw(seed, n_events, n_groups, rounds=ROUNDS):
    """Moments of several rounds: the same cells, other losses."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(3, 90, (n_events, n_groups)).astype(float)
    total = counts.sum() + float(rng.integers(0, 50))
    return [Moments(rng.uniform(0, 1, (n_events, n_groups)), counts, total) for _ in range(rounds)]


two_groups = pytest.mark.parametrize(
    ("seed", "n_events"), [(seed, n_events) for seed in range(4) for n_events in (1, 2)]
)


# Two groups: the appendix. mu0, mu1 are the paper's mu^{s_0}, mu^{s_1}; a rule's weights are their factors.


@two_groups
def test_unconstrained(seed, n_events):
    method = Unconstrained()
    stream = draw(seed, n_events, 2)
    dual = method.start(stream[0], 0.01)
    for moments in stream:
        assert (method.weights(moments, dual) == np.zeros((n_events, 2))).all()
        after = method.update(moments, dual)
        assert (after.value == dual.value).all()
        dual = after


@two_groups
@pytest.mark.parametrize("eta", [0.1, 3.0])
def test_l2_penalty(seed, n_events, eta):
    method = L2Penalty(eta)
    stream = draw(seed, n_events, 2)
    dual = method.start(stream[0], 0.01)
    for moments in stream:
        weights = method.weights(moments, dual)
        for event in range(n_events):
            mu0, mu1 = moments.mu[event]
            # d/dmu of eta (mu0 - mu1)^2
            assert weights[event] == pytest.approx([2 * eta * (mu0 - mu1), -2 * eta * (mu0 - mu1)])
        dual = method.update(moments, dual)


@two_groups
def test_reweight(seed, n_events):
    method = Reweight()
    stream = draw(seed, n_events, 2)
    dual = method.start(stream[0], 0.01)
    for moments in stream:
        cells = [(event, group) for event in range(n_events) for group in range(2)]
        scale = sum(1 / moments.counts[cell] for cell in cells)
        weights = method.weights(moments, dual)
        for cell in cells:
            assert weights[cell] == pytest.approx(1 / moments.counts[cell] / scale)
        assert weights.sum() == pytest.approx(1.0)


@two_groups
@pytest.mark.parametrize(("eta", "epsilon"), [(0.1, 0.0), (0.7, 0.05), (2.0, 0.3)])
def test_lagrangian(seed, n_events, eta, epsilon):
    method = Lagrangian(eta)
    stream = draw(seed, n_events, 2)
    dual = method.start(stream[0], epsilon)
    lambda_01, lambda_10 = [0.0] * n_events, [0.0] * n_events
    for moments in stream:
        weights = method.weights(moments, dual)
        for event in range(n_events):
            mu0, mu1 = moments.mu[event]
            # lambda_01 (mu0 - mu1 - epsilon) + lambda_10 (mu1 - mu0 - epsilon)
            assert weights[event, 0] == pytest.approx(lambda_01[event] - lambda_10[event])
            assert weights[event, 1] == pytest.approx(-lambda_01[event] + lambda_10[event])
            lambda_01[event] = max(0.0, lambda_01[event] + eta * (mu0 - mu1 - epsilon))
            lambda_10[event] = max(0.0, lambda_10[event] + eta * (mu1 - mu0 - epsilon))
        dual = method.update(moments, dual)
        assert dual.value[0][:, 0] == pytest.approx(lambda_01)
        assert dual.value[1][:, 0] == pytest.approx(lambda_10)
        assert method.multiplier(dual)[:, 0] == pytest.approx(np.subtract(lambda_01, lambda_10))


@two_groups
@pytest.mark.parametrize(("eta", "epsilon", "B"), [(1.0, 0.0, 1.0), (5.0, 0.05, 0.3), (0.2, 0.3, 7.0)])
def test_proxy_lagrangian(seed, n_events, eta, epsilon, B):
    method = ProxyLagrangian(eta, B=B)
    stream = draw(seed, n_events, 2)
    dual = method.start(stream[0], epsilon)
    theta_01, theta_10 = [0.0] * n_events, [0.0] * n_events
    for moments in stream:
        weights = method.weights(moments, dual)
        for event in range(n_events):
            mu0, mu1 = moments.mu[event]
            below = 1 + math.exp(theta_01[event]) + math.exp(theta_10[event])
            lambda_01 = B * math.exp(theta_01[event]) / below
            lambda_10 = B * math.exp(theta_10[event]) / below
            assert weights[event, 0] == pytest.approx(lambda_01 - lambda_10, abs=1e-15)
            assert weights[event, 1] == pytest.approx(lambda_10 - lambda_01, abs=1e-15)
            theta_01[event] += eta * (mu0 - mu1 - epsilon)
            theta_10[event] += eta * (mu1 - mu0 - epsilon)
        dual = method.update(moments, dual)
        assert dual.value[0][:, 0] == pytest.approx(theta_01)
        assert dual.value[1][:, 0] == pytest.approx(theta_10)


@pytest.mark.parametrize(
    ("theta", "expected"),
    [((1e4, -1e4), 2.0), ((-1e4, 1e4), -2.0), ((-1e4, -1e4), 0.0), ((1e4, 1e4), 0.0), ((800.0, 799.0), None)],
)
def test_proxy_lagrangian_does_not_overflow(theta, expected):
    if expected is None:  # exp(800) overflows; in closed form the 1 vanishes beside it
        expected = 2.0 * (1 - math.exp(-1)) / (1 + math.exp(-1))
    dual = Dual(np.array(theta).reshape(2, 1, 1), tol=0.0)
    assert ProxyLagrangian(B=2.0).multiplier(dual)[0, 0] == pytest.approx(expected)


def test_of_the_papers_rules_only_the_proxy_lagrangian_moves_its_dual_by_01_errors():
    """Appendix: "No surrogates in DUAL"."""
    assert {name for name, method in METHODS.items() if method.traits.strict_dual} == {"proxy-lagrangian", "pi-control"}


@two_groups
@pytest.mark.parametrize(("eta_0", "eta_beta"), [(0.1, 0.0), (0.02, 0.01), (1.0, 0.5)])
def test_fairalm(seed, n_events, eta_0, eta_beta):
    method = FairALM(eta_0, eta_beta)
    stream = draw(seed, n_events, 2)
    dual = method.start(stream[0], 0.01)
    lam, eta = [0.0] * n_events, eta_0
    for moments in stream:
        weights = method.weights(moments, dual)
        for event in range(n_events):
            mu0, mu1 = moments.mu[event]
            # (lambda + eta) mu0 - (lambda - eta) mu1
            assert weights[event, 0] == pytest.approx(lam[event] + eta)
            assert weights[event, 1] == pytest.approx(-(lam[event] - eta))
            lam[event] = lam[event] + eta * (mu0 - mu1)
        eta = eta * (1 + eta_beta)
        dual = method.update(moments, dual)
        assert dual.value[:, 0] == pytest.approx(lam)


@two_groups
@pytest.mark.parametrize(("eta", "bound"), [(0.3, None), (2.0, 0.25), (2.0, 1e6)])
def test_fairalm_linear(seed, n_events, eta, bound):
    method = FairALMLinear(eta, bound)
    stream = draw(seed, n_events, 2)
    dual = method.start(stream[0], 0.01)
    lam, clipped = [0.0] * n_events, False
    for t, moments in enumerate(stream, start=1):
        weights = method.weights(moments, dual)
        for event in range(n_events):
            mu0, mu1 = moments.mu[event]
            assert weights[event, 0] == pytest.approx(lam[event])  # lambda (mu0 - mu1), and no eta
            assert weights[event, 1] == pytest.approx(-lam[event])
            lam[event] = lam[event] + eta * (mu0 - mu1) / t
            if bound is not None:
                clipped |= abs(lam[event]) > bound
                lam[event] = min(max(lam[event], -bound), bound)
        dual = method.update(moments, dual)
        assert dual.value[:, 0] == pytest.approx(lam)
    assert clipped == (bound == 0.25)


@two_groups
@pytest.mark.parametrize(("eta", "tol", "bound"), [(0.05, 0.0, None), (0.5, 0.1, None), (3.0, 0.05, 0.4)])
def test_augmented_lagrangian(seed, n_events, eta, tol, bound):
    method = AugmentedLagrangian(eta, bound)
    stream = draw(seed, n_events, 2)
    dual = method.start(stream[0], tol)
    lam = [0.0] * n_events
    for moments in stream:
        weights = method.weights(moments, dual)
        for event in range(n_events):
            mu0, mu1 = moments.mu[event]
            # lambda (mu0 - mu1) + eta/2 (mu0 - mu1)^2: the appendix's line before its Jensen step
            assert weights[event, 0] == pytest.approx(lam[event] + eta * (mu0 - mu1))
            assert weights[event, 1] == pytest.approx(-lam[event] - eta * (mu0 - mu1))
            raw = lam[event] + eta * (mu0 - mu1)
            lam[event] = math.copysign(max(abs(raw) - eta * tol, 0.0), raw)
            if bound is not None:
                lam[event] = min(max(lam[event], -bound), bound)
        dual = method.update(moments, dual)
        assert dual.value[:, 0] == pytest.approx(lam)


def test_augmented_lagrangian_at_rest_has_its_gap_at_the_tolerance():
    """soft(lambda + eta d, eta tol) = lambda only where |d| = tol on lambda's side, or lambda = 0 and |d| <= tol."""
    method = AugmentedLagrangian(0.5)
    counts = np.array([[4.0, 6.0]])
    for lam, d, rests in [
        (0.3, 0.1, True),
        (0.3, 0.05, False),
        (0.3, -0.1, False),
        (-0.3, -0.1, True),
        (0, 0.1, True),
        (0, 0.11, False),
    ]:
        dual = Dual(np.array([[float(lam)]]), tol=0.1)
        after = method.update(Moments(np.array([[0.2 + d, 0.2]]), counts, 10.0), dual)
        assert (after.value[0, 0] == pytest.approx(lam, abs=1e-12)) == rests


# Three and more groups: the design's matrix form, C = I - 1 pi', with loops.


def contrast_of(sizes):
    n = len(sizes)
    return [[(1.0 if row == group else 0.0) - sizes[group] / sum(sizes) for group in range(n)] for row in range(n)]


def gaps_of(C, mu):
    return [sum(C[row][group] * mu[group] for group in range(len(mu))) for row in range(len(C))]


def pulled(C, rows):
    """C' rows."""
    return [sum(C[row][group] * rows[row] for row in range(len(C))) for group in range(len(C[0]))]


def soft(x, threshold):
    return math.copysign(max(abs(x) - threshold, 0.0), x)


class ByHand:
    """One event of one rule: `weights` and `step`, with the multipliers of its rows as lists of floats."""

    def __init__(self, n_rows, eta, tol):
        self.lam, self.plus, self.minus = [0.0] * n_rows, [0.0] * n_rows, [0.0] * n_rows
        self.eta, self.tol, self.t = eta, tol, 1

    def multipliers(self):
        return self.lam

    def weights(self, C, d):
        raise NotImplementedError

    def step(self, d):
        raise NotImplementedError


class L2ByHand(ByHand):
    def weights(self, C, d):
        return [2 * self.eta * weight for weight in pulled(C, d)]

    def step(self, d):
        pass


class LagrangianByHand(ByHand):
    def multipliers(self):
        return [plus - minus for plus, minus in zip(self.plus, self.minus, strict=True)]

    def weights(self, C, d):
        return pulled(C, self.multipliers())

    def step(self, d):
        for row, gap in enumerate(d):
            self.plus[row] = max(0.0, self.plus[row] + self.eta * (gap - self.tol))
            self.minus[row] = max(0.0, self.minus[row] + self.eta * (-gap - self.tol))


class ProxyByHand(LagrangianByHand):
    B = 0.8

    def multipliers(self):
        return [
            self.B * (math.exp(plus) - math.exp(minus)) / (1 + math.exp(plus) + math.exp(minus))
            for plus, minus in zip(self.plus, self.minus, strict=True)
        ]

    def step(self, d):
        for row, gap in enumerate(d):
            self.plus[row] += self.eta * (gap - self.tol)
            self.minus[row] += self.eta * (-gap - self.tol)


class FairALMByHand(ByHand):
    eta_beta = 0.1

    def weights(self, C, d):
        eta = self.eta * (1 + self.eta_beta) ** (self.t - 1)
        size = [sum(abs(C[row][group]) for row in range(len(C))) for group in range(len(C))]
        return [weight + eta * s for weight, s in zip(pulled(C, self.lam), size, strict=True)]

    def step(self, d):
        eta = self.eta * (1 + self.eta_beta) ** (self.t - 1)
        self.lam = [lam + eta * gap for lam, gap in zip(self.lam, d, strict=True)]


class LinearByHand(ByHand):
    bound = 0.4

    def weights(self, C, d):
        return pulled(C, self.lam)

    def step(self, d):
        moved = [lam + self.eta / self.t * gap for lam, gap in zip(self.lam, d, strict=True)]
        self.lam = [min(max(lam, -self.bound), self.bound) for lam in moved]


class AugmentedByHand(ByHand):
    bound = 0.5

    def weights(self, C, d):
        return pulled(C, [lam + self.eta * gap for lam, gap in zip(self.lam, d, strict=True)])

    def step(self, d):
        moved = [soft(lam + self.eta * gap, self.eta * self.tol) for lam, gap in zip(self.lam, d, strict=True)]
        self.lam = [min(max(lam, -self.bound), self.bound) for lam in moved]


@pytest.mark.parametrize("n_events", [1, 2])
@pytest.mark.parametrize("n_groups", [3, 5])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("method", "by_hand", "eta"),
    [
        (L2Penalty(0.4), L2ByHand, 0.4),
        (Lagrangian(0.6), LagrangianByHand, 0.6),
        (ProxyLagrangian(2.0, B=0.8), ProxyByHand, 2.0),
        (FairALM(0.2, eta_beta=0.1), FairALMByHand, 0.2),
        (FairALMLinear(2.0, bound=0.4), LinearByHand, 2.0),
        (AugmentedLagrangian(1.5, bound=0.5), AugmentedByHand, 1.5),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else "",
)
def test_matrix_form(method, by_hand, eta, seed, n_groups, n_events):
    tol = 0.05
    stream = draw(seed, n_events, n_groups)
    hands = [by_hand(n_groups, eta, tol) for _ in range(n_events)]
    dual = method.start(stream[0], tol)
    for moments in stream:
        weights = method.weights(moments, dual)
        after = method.update(moments, dual)
        for event, hand in enumerate(hands):
            C = contrast_of(list(moments.counts[event]))
            d = gaps_of(C, list(moments.mu[event]))
            assert weights[event] == pytest.approx(hand.weights(C, d))
            hand.step(d)
            hand.t += 1
            assert method.multiplier(after)[event] == pytest.approx(hand.multipliers())
        dual = after


@pytest.mark.parametrize("n_groups", [3, 5])
def test_reweight_many_groups(n_groups):
    (moments,) = draw(0, 2, n_groups, rounds=1)
    cells = [(event, group) for event in range(2) for group in range(n_groups)]
    scale = sum(1 / moments.counts[cell] for cell in cells)
    weights = Reweight().weights(moments, Reweight().start(moments, 0.01))
    assert [weights[cell] for cell in cells] == pytest.approx([1 / moments.counts[cell] / scale for cell in cells])


@pytest.mark.parametrize(
    "method", [L2Penalty(Growth(0.3, 0.5)), Lagrangian(Decay(0.3)), AugmentedLagrangian(Growth(0.3, 0.5))], ids=repr
)
def test_eta_as_a_schedule_is_that_number_in_its_round(method):
    stream = draw(1, 2, 3)
    dual = method.start(stream[0], 0.02)
    for t, moments in enumerate(stream, start=1):
        plain = replace(method, eta=0.3 / t if isinstance(method.eta, Decay) else 0.3 * 1.5 ** (t - 1))
        assert dual.t == t
        assert method.weights(moments, dual) == pytest.approx(plain.weights(moments, dual))
        assert method.update(moments, dual).value == pytest.approx(plain.update(moments, dual).value)
        dual = method.update(moments, dual)


# What holds for all of them.


def test_registry_is_the_design_table():
    assert {name: method.__name__ for name, method in METHODS.items()} == {
        "unconstrained": "Unconstrained",
        "l2": "L2Penalty",
        "reweight": "Reweight",
        "lagrangian": "Lagrangian",
        "proxy-lagrangian": "ProxyLagrangian",
        "fairalm": "FairALM",
        "fairalm-linear": "FairALMLinear",
        "augmented": "AugmentedLagrangian",
        "secant": "SecantALM",
        "pi-control": "PIControl",
    }


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_has_dual_says_whether_multipliers_move(method):
    stream = draw(2, 1, 3)
    start = method().start(stream[0], 0.01)
    assert not method().multiplier(start).any()
    moved = not np.array_equal(method().update(stream[0], start).value, start.value)
    assert moved == method.traits.has_dual


@pytest.mark.parametrize(
    "method", [L2Penalty, Lagrangian, ProxyLagrangian, FairALM, FairALMLinear, AugmentedLagrangian, PIControl]
)
@pytest.mark.parametrize("eta", [0.0, -1.0, float("nan")])
def test_eta_must_be_positive(method, eta):
    with pytest.raises(InputError, match=rf"'eta' of {method.__name__} must be positive. Got {eta!r}"):
        method(eta=eta)


@pytest.mark.parametrize("B", [0.0, -2.0])
def test_proxy_bound_must_be_positive(B):
    with pytest.raises(InputError, match="'B' of ProxyLagrangian must be positive"):
        ProxyLagrangian(B=B)


def test_eta_beta_must_not_be_negative():
    with pytest.raises(InputError, match="'eta_beta' of FairALM must not be negative"):
        FairALM(eta_beta=-0.01)


@pytest.mark.parametrize("method", [FairALMLinear, AugmentedLagrangian])
def test_bound_must_be_positive(method):
    with pytest.raises(InputError, match="bound"):
        method(bound=-1.0)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_settings_are_frozen_and_compare_by_value(method):
    assert method() == method()
    assert hash(method()) == hash(method())
    with pytest.raises(AttributeError):
        method().eta = 1.0


def test_secant_weights_are_those_of_algorithm_1():
    moments = draw(3, 2, 3)[0]
    lam = np.random.default_rng(0).normal(size=(2, 3))
    weights = SecantALM().weights(moments, Dual(lam, 0.01))
    for event in range(2):
        assert weights[event] == pytest.approx(pulled(contrast_of(list(moments.counts[event])), list(lam[event])))


def taken_from(p):
    """Plain weights that a row may lose, where its group has the share p of the event."""
    return min(max(0.2 / p, 2.0), 5.0)


def limits_of(p):
    """Of a multiplier that takes weight from the rest of an event and gives it to a group with the share p."""
    high = min(5.0, 0.75 / p / (1 - p), taken_from(1 - p) / p)
    low = min(5.0, 0.75 / p / (1 - p), taken_from(p) / (1 - p))
    return -low, high


def gap_of(moments, event, row):
    """The gap, the share of the group that it is about, and one plain weight in units of the multiplier."""
    mu, n = moments.mu[event], moments.counts[event]
    if len(n) == 2:
        return mu[0] - mu[1], n[0] / n.sum(), n[0] * n[1] / n.sum() / moments.total
    return mu[row] - (n * mu).sum() / n.sum(), n[row] / n.sum(), n[row] / moments.total


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize(("seed", "n_events"), [(seed, n_events) for seed in range(3) for n_events in (1, 2, 3)])
@pytest.mark.parametrize("eta", [0.1, 1.0, 30.0])
def test_pi_control(seed, n_events, n_groups, eta):
    """Lambda = k soft(d, b) + I in plain weights, I ← I + (k / 50) d, k = 18 eta / E / (4 m (1 - m) + 0.01)."""
    method, tol = PIControl(eta=eta), 0.05
    stream = draw(seed, n_events, n_groups, rounds=23)
    dual = method.start(stream[0], tol)
    cells = [(event, row) for event in range(n_events) for row in range(1 if n_groups == 2 else n_groups)]
    kept, units = dict.fromkeys(cells, 0.0), {}
    for t, moments in enumerate(stream, 1):
        dual = method.update(moments, dual)
        for event, row in cells:
            d, p, share = gap_of(moments, event, row)
            if t in (1, 11, 21):
                n = moments.counts[event].sum()
                m = (moments.counts[event] * moments.mu[event]).sum() / n
                k = 18 * eta / n_events / (4 * m * (1 - m) + 0.01)
                b = math.sqrt(2 * math.log(n_events)) * 2 * math.sqrt((m * (1 - m) + 0.0025) / n)
                units[event, row] = k, b, share, *limits_of(p)
            k, b, share, low, high = units[event, row]
            moved = soft(kept[event, row] + k / 50 * d, k / 50 * (tol - 0.01))
            moved = min(max(moved, low), high)
            wanted = soft(moved + k * soft(d, b), k * (tol - 0.01))
            if not (wanted > high and d > 0) and not (wanted < low and d < 0):
                kept[event, row] = moved
            lam = min(max(wanted, low), high) * share
            assert dual.value[event, row] == pytest.approx(lam, rel=1e-4, abs=1e-9)
            assert dual.memory.integral[event, row] == pytest.approx(kept[event, row], rel=1e-4, abs=1e-9)


def constant(mu, n_steps, counts=((50.0, 50.0),)):
    """PI control after so many dual steps at the same rates."""
    method, moments = PIControl(), Moments(np.array(mu), np.array(counts), float(np.sum(counts)))
    dual = method.start(moments, 0.01)
    for _ in range(n_steps):
        dual = method.update(moments, dual)
    return dual


def test_pi_control_answers_chance_by_its_integral_only():
    """Gaps of 4 points in 100 rows of each label may be chance: no push at once, but one that grows if they persist."""
    odds, counts = ((0.32, 0.28), (0.28, 0.32)), ((50.0, 50.0), (50.0, 50.0))
    for n_steps in (1, 50):
        dual = constant(odds, n_steps, counts)
        assert dual.value == pytest.approx(dual.memory.integral * dual.memory.share)
        assert abs(dual.memory.integral) == pytest.approx(n_steps * 0.04 * 9 / (4 * 0.21 + 0.01) / 50)


def test_pi_control_does_not_wind_up_at_its_limit():
    """At the limit by its proportional part, the integral stays where it was."""
    dual = constant(((0.9, 0.1),), 200)
    assert float(dual.value[0, 0]) == pytest.approx(3.0 * 0.25, rel=1e-3)
    assert not dual.memory.integral.any()


@pytest.mark.parametrize("n_events", [1, 2])
@pytest.mark.parametrize("sizes", [(50, 50), (20, 80), (5, 95), (10, 30, 60), (2, 3, 5, 10, 80)])
def test_pi_control_keeps_the_weights_of_rows_in_bounds(sizes, n_events):
    """Whatever the gaps, a group's multiplier takes at most 2 plain weights from its rows; from small groups 5."""
    counts = np.array([sizes] * n_events, dtype=float)
    p = counts / counts.sum(-1, keepdims=True)
    method, rng = PIControl(), np.random.default_rng(0)
    for _ in range(20):
        moments = Moments(rng.integers(2, size=counts.shape).astype(float), counts, counts.sum())
        dual = method.start(moments, 0.01)
        for _ in range(30):
            dual = method.update(moments, dual)
        lost = -method.weights(moments, dual) * moments.total / counts
        own = lost if len(sizes) == 2 else -dual.value * moments.total / counts * (1 - p)
        assert (own <= np.clip(0.2 / p, 2.0, 5.0) + 1e-3).all()


def test_pi_control_keeps_the_units_of_a_group_that_the_window_does_not_show():
    """The units are measured at steps 1, 11, ...; a group that is absent just then keeps its own."""
    method, mu = PIControl(), np.array([[0.3, 0.5, 0.9]])
    present, absent = (Moments(mu, np.array([[40.0, 50.0, n]]), 200.0) for n in (2.0, 0.0))
    dual = method.start(present, 0.01)
    for t in range(1, 12):
        before, dual = dual, method.update(absent if t == 11 else present, dual)
    assert dual.value[0, 2] == before.value[0, 2] != 0
    assert dual.memory.integral[0, 2] == before.memory.integral[0, 2]
    assert dual.memory.share[0, 2] == before.memory.share[0, 2] > 0
    assert dual.memory.share[0, 0] == pytest.approx(0.2)
