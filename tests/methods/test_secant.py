"""SecantALM on responses d(lambda) that are known: a gap falls as its multiplier grows, by how much is for it to find.

Positions are multipliers in plain weights, as the rule counts them: lambda over the share of people that its row moves.
"""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from fairalm.methods import SecantALM
from fairalm.moments import Moments

TOL = 0.01
COUNTS, TOTAL = np.array([[300.0, 700.0]]), 2000.0
SHARE = 1 / (TOTAL / 300 + TOTAL / 700)  # of the one row: 1 / (1/p0 + 1/p1)


def at_gap(d, scale=1.0):
    return Moments(np.array([[0.5 + d / 2, 0.5 - d / 2]]), scale * COUNTS, scale * TOTAL)


def follow(response, rounds, tol=TOL, scale=1.0):
    """Positions and gaps of the rounds, the plain model's first."""
    method = SecantALM()
    dual = method.start(at_gap(response(0.0), scale), tol)
    positions, gaps = [], []
    for _ in range(rounds):
        positions.append(float(dual.value[0, 0]) / SHARE)
        gaps.append(response(positions[-1]))
        dual = method.update(at_gap(gaps[-1], scale), dual)
    return np.array(positions), np.array(gaps)


def aim(tol=TOL):
    """The gap that is sought, on the plain model's side: half a point inside the tolerance, but not beyond its half."""
    return tol - min(0.005, tol / 2)


def is_there(gaps, side=1, tol=TOL):
    """Whether gaps are as close to the aim as the search asks: a tenth of the way from the tolerance."""
    return abs(side * gaps - aim(tol)) <= 0.1 * min(0.005, tol / 2) + 1e-12


def first_within(gaps, tol=TOL):
    within = np.flatnonzero(abs(gaps) <= tol)
    return within[0] if len(within) else np.inf


SMOOTH = {
    "linear": lambda x: 0.2 - 0.25 * x,
    "steep": lambda x: 0.2 - 3 * x,
    "very steep": lambda x: 0.2 - 30 * x,
    "shallow": lambda x: 0.2 - 0.02 * x,
    "saturating": lambda x: 0.1 - 0.2 * np.tanh(x),
    "saturating fast": lambda x: 0.1 - 0.2 * np.tanh(20 * x),
    "saturating just past the tolerance": lambda x: 0.15 - 0.16 * np.tanh(x),
    "exponential": lambda x: 0.3 * np.exp(-x) - 0.05,
    "slow, then faster": lambda x: 0.3 - 0.1 * x**3 - 0.01 * x,
    "flat, then steep": lambda x: 0.2 - 0.4 / (1 + np.exp(-20 * (x - 2))),
    "root": lambda x: 0.2 - 0.3 * np.sign(x) * np.sqrt(abs(x)),
    "hardly out": lambda x: 0.0101 - 0.5 * x,
}
mirrored = pytest.mark.parametrize("side", [1, -1], ids=["+", "-"])


@pytest.mark.parametrize("shape", SMOOTH)
@mirrored
def test_smooth_response_is_met_in_twelve_updates_and_stays(shape, side):
    """Within the tolerance soon; on to the aim; then the same weights again."""
    positions, gaps = follow(lambda x: side * SMOOTH[shape](side * x), 16)
    assert 0 < first_within(gaps) <= 7
    there = np.flatnonzero(is_there(gaps, side))
    assert there[0] <= 12
    assert (positions[there[0] :] == positions[there[0]]).all()
    assert (np.diff(positions[: there[0] + 1]) != 0).all()  # when to stop before is not for the search to say
    assert side * positions[there[0]] > 0


@pytest.mark.parametrize("tol", [0.2, 0.05, 0.002])
@pytest.mark.parametrize("shape", ["linear", "steep", "saturating", "exponential"])
@mirrored
def test_other_tolerances(shape, tol, side):
    """The aim moves with the tolerance: a loose one keeps nearly all of the gap that it allows."""
    positions, gaps = follow(lambda x: side * 1.5 * SMOOTH[shape](side * x), 16, tol=tol)
    if abs(gaps[0]) <= tol:
        assert (positions == 0).all()
    else:
        assert is_there(gaps, side, tol)[12:].all()


@pytest.mark.parametrize(("tol", "sought"), [(TOL, 0.005), (0.05, 0.045), (0.004, 0.002)])
def test_a_linear_response_is_known_after_two_points(tol, sought):
    """The first step takes 6 plain weights per unit of gap; with two points the next lands on the aim."""
    _, gaps = follow(lambda x: 0.1 - 0.4 * x, 3, tol=tol)
    assert gaps[1] == pytest.approx(0.1 - 0.4 * 6 * (0.1 - sought))
    assert gaps[2] == pytest.approx(sought)


def test_the_search_goes_on_beyond_the_tolerance():
    """A model that is fairer than was asked for gives up more accuracy than it must."""
    positions, gaps = follow(lambda x: 0.1 - 0.19 * x, 4, tol=0.08)
    assert abs(gaps[1]) <= 0.08
    assert gaps[1] != pytest.approx(0.075, abs=1e-4)
    assert positions[2] != positions[1]
    assert gaps[2] == pytest.approx(0.075)
    assert positions[3] == positions[2]


def test_the_first_step_is_at_most_one_plain_weight():
    positions, _ = follow(lambda x: 0.9 - 0.1 * x, 2)
    assert positions[1] == pytest.approx(1.0)


@pytest.mark.parametrize("gap", [0.0, TOL / 2, -TOL / 2, 0.99 * TOL, -0.99 * TOL])
def test_plain_gap_within_the_tolerance_needs_no_multiplier(gap):
    positions, _ = follow(lambda x: gap - 0.3 * x, 5)
    assert (positions == 0).all()


STEPS = {
    "half-way": lambda x: 0.1 if x < 0.37 else -0.1,
    "close, high before": lambda x: 0.3 if x < 0.05 else -0.02,
    "close, low before": lambda x: 0.02 if x < 0.05 else -0.4,
    "at the end of the first step": lambda x: 0.02 if x < 0.9 else -0.4,
    "far": lambda x: 0.3 if x < 5.3 else -0.3,
    "stairs": lambda x: 0.15 - 0.0401 * np.floor(x * 7.3),
}


@pytest.mark.parametrize("shape", STEPS)
@mirrored
def test_a_jump_over_the_tolerance_is_pinned_down(shape, side):
    """No multiplier meets the tolerance: the rule must find the jump and then ask for the same weights again."""
    positions, gaps = follow(lambda x: side * STEPS[shape](side * x), 50)
    settled = np.flatnonzero(np.diff(positions) == 0)
    assert len(settled)
    assert settled[0] <= 40
    assert (positions[settled[0] :] == positions[settled[0]]).all()
    before, after = gaps > 0, gaps < 0  # both sides of the jump were seen, a thousandth apart
    assert abs(positions[before][:, None] - positions[after]).min() <= 2e-3


@mirrored
def test_a_cliff_before_a_plain_is_not_crept_up_to(side):
    """The secant through a steep side and a flat one keeps landing on the flat one: every other step halves."""
    _, gaps = follow(lambda x: side * max(0.3 - 15 * side * x, -0.02), 30)
    assert first_within(gaps) <= 20


@pytest.mark.parametrize("seed", range(20))
@mirrored
def test_noisy_monotone_response(seed, side):
    """A fit's gap jitters, but the same weights give the same fit."""
    rng = np.random.default_rng(seed)
    wave = rng.uniform(50, 3000, 4)
    start, slope = rng.uniform(0.05, 0.3), rng.uniform(0.2, 1.0)
    positions, gaps = follow(lambda x: side * (start - slope * np.tanh(side * x) + 0.003 * np.sin(wave * x).mean()), 16)
    assert first_within(gaps) <= 15
    assert np.isfinite(positions).all()


HOPELESS = {
    "out of reach": lambda x: 0.02 + 0.1 * np.exp(-x),
    "flat": lambda x: 0.1,
    "wrong way": lambda x: 0.1 + 0.05 * np.tanh(x),
}


@pytest.mark.parametrize("shape", HOPELESS)
@mirrored
def test_an_unreachable_tolerance_is_given_up(shape, side):
    positions, _ = follow(lambda x: side * HOPELESS[shape](side * x), 60)
    assert np.isfinite(positions).all()
    assert (side * np.diff(positions) >= 0).all()  # it never turns round
    assert (positions[-20:] == positions[-1]).all()  # and ends: the same weights again
    assert 10 <= abs(positions[-1]) <= 1e4  # plain weights: enough to have tried, and still a number for an oracle


@pytest.mark.parametrize("phase", np.linspace(0, 2 * np.pi, 8, endpoint=False))
@mirrored
def test_non_monotone_response_is_met_or_settles(phase, side):
    def response(x):
        return side * (0.15 - 0.25 * side * x) + 0.08 * (np.sin(9 * x + phase) - np.sin(phase))

    positions, gaps = follow(response, 60)
    assert np.isfinite(positions).all()
    assert first_within(gaps) < 60 or (np.diff(positions) == 0).any()


@pytest.mark.parametrize("scale", [1 / TOTAL, 1e-3, 100.0])
def test_sample_weights_may_have_any_scale(scale):
    """Weights that sum to one describe the same people as weights of one each."""
    positions, _ = follow(SMOOTH["saturating"], 8)
    scaled, _ = follow(SMOOTH["saturating"], 8, scale=scale)
    assert scaled == pytest.approx(positions)


# Several gaps. The means answer a table of weights by mu = mu_0 - M weights with M positive definite, as the solution
# of a smooth problem does; M is scaled by the cells' sizes, so that one plain weight moves a cell by 0.1 to 0.5.


class Coupled:
    def __init__(self, n_events, n_groups, seed, coupling, blocks=()):
        rng = np.random.default_rng(seed)
        self.blocks = blocks
        self.counts = rng.integers(50, 800, (n_events, n_groups)).astype(float)
        self.total = 1.3 * self.counts.sum()
        size = n_events * n_groups
        noise = rng.normal(size=(size, size)) / np.sqrt(size)
        root = np.sqrt(rng.uniform(0.1, 0.5, size) * self.total / self.counts.ravel())
        self.M = root[:, None] * ((1 - coupling) * np.eye(size) + coupling * noise @ noise.T) * root
        self.mu = rng.uniform(0.15, 0.45, (n_events, n_groups))
        self.mu[0, 0] += 0.2  # a gap there is, always

    def respond(self, weights):
        mu = self.mu - (self.M @ weights.ravel()).reshape(self.mu.shape)
        return Moments(mu, self.counts, self.total, self.blocks)

    def gaps(self, rounds):
        """Largest difference between two groups in each round, the plain model's first, and the multipliers."""
        method = SecantALM()
        moments = self.respond(np.zeros_like(self.mu))
        dual = method.start(moments, moments.row_tolerance(TOL))
        largest, values = [], []
        for _ in range(rounds):
            moments = self.respond(method.weights(moments, dual))
            largest.append(moments.max_gap)
            values.append(dual.value)
            dual = method.update(moments, dual)
        return np.array(largest), np.array(values)


several = pytest.mark.parametrize(("n_events", "n_groups"), [(2, 2), (1, 3), (1, 5), (2, 3), (2, 5)])


@several
def test_each_of_several_gaps_has_a_step_of_its_own(n_events, n_groups):
    """The aim is half the tolerance, on the side that the multiplier comes from. A step is 4 plain weights per unit of
    gap at first; half as much again where a gap above the tolerance stays on its side of the aim with more than half
    of the distance; half where it changes sides; never more than one plain weight and what the multiplier has."""
    method, rng = SecantALM(), np.random.default_rng(n_groups)
    counts = rng.integers(50, 800, (n_events, n_groups)).astype(float)
    total = 1.3 * counts.sum()
    dual, before = None, None
    grown = halved = kept = cut = 0
    aim = TOL - min(0.005, TOL / 2)
    for t in range(20):
        mu = rng.uniform(0.0, 1.0, counts.shape) if t % 3 else rng.uniform(0.3, 0.4, counts.shape)
        moments = Moments(mu, counts, total)
        if dual is None:
            dual = method.start(moments, TOL)
            here, gain = np.zeros_like(moments.gap), np.full_like(moments.gap, 4.0)
        left = np.zeros_like(moments.gap)
        for event in range(n_events):
            for row in range(moments.gap.shape[1]):
                d = gap = moments.gap[event, row]
                if here[event, row] != 0:
                    d -= aim if here[event, row] > 0 else -aim
                elif abs(d) > aim:
                    d -= aim if d > 0 else -aim
                else:
                    d = 0.0
                left[event, row] = d
                if before is not None and d * before[event, row] < 0:
                    gain[event, row] /= 2
                    halved += 1
                elif before is not None and abs(d) > abs(before[event, row]) / 2 and abs(gap) > TOL:
                    gain[event, row] *= 1.5
                    grown += 1
                else:
                    kept += 1
                longest = 1 + abs(here[event, row])
                cut += abs(gain[event, row] * d) > longest
                here[event, row] += max(-longest, min(longest, gain[event, row] * d))
        before = left
        dual = method.update(moments, dual)
        share = [[1 / (1 / c[0] + 1 / c[1])] if n_groups == 2 else c for c in counts / total]
        assert dual.value == pytest.approx(here * np.array(share))
    assert min(grown, halved, kept, cut) > 0


@several
@pytest.mark.parametrize(("coupling", "updates", "seeds"), [(0.1, 8, 20), (0.3, 10, 20), (0.6, 20, 8)])
def test_several_gaps_are_met(n_events, n_groups, coupling, updates, seeds):
    """Any two groups are within the tolerance. M has a condition number of up to 1.5, 3 and 10, besides the sizes."""
    for seed in range(seeds):
        largest, _ = Coupled(n_events, n_groups, seed, coupling).gaps(41)
        assert largest[0] > TOL
        assert first_within(largest) <= updates
        assert (largest[30:] <= TOL).all()


@pytest.mark.parametrize("blocks", [(2, 2), (2, 3), (3, 4)])
@pytest.mark.parametrize(("coupling", "updates"), [(0.1, 10), (0.3, 15)])
def test_attributes_on_their_own_are_met(blocks, coupling, updates):
    """No group is compared with one of another attribute: that difference stays."""
    for seed in range(10):
        problem = Coupled(2, sum(blocks), seed, coupling, blocks)
        problem.mu[:, blocks[0] :] += 0.6
        largest, values = problem.gaps(41)
        assert largest[0] > TOL
        assert first_within(largest) <= updates
        assert (largest[30:] <= TOL).all()
        plain = problem.respond(np.zeros_like(problem.mu))
        last = problem.respond(plain.pull(values[-1]))
        assert last.max_gap == pytest.approx(largest[-1])
        assert np.ptp(last.mu, axis=1).min() > 10 * TOL


@several
def test_stronger_coupling_never_ends_worse_than_it_began(n_events, n_groups):
    for seed in range(10):
        largest, values = Coupled(n_events, n_groups, seed, coupling=0.9).gaps(60)
        assert np.isfinite(values).all()
        assert largest[-1] <= largest[0]


def test_events_that_do_not_touch_each_other_are_moved_each_by_its_own_gap():
    method, counts = SecantALM(), np.full((2, 2), 500.0)
    alone, both = (
        method.start(Moments(np.array([[0.4, 0.2], [other, 0.3]]), counts, 2000.0), TOL) for other in (0.3, 0.6)
    )
    for _ in range(10):
        duals = []
        for dual, other in ((alone, 0.3), (both, 0.6)):
            shift = dual.value[:, 0]
            mu = np.array([[0.4 - shift[0], 0.2 + shift[0]], [other - shift[1], 0.3 + shift[1]]])
            moments = Moments(mu, counts, 2000.0)
            duals.append(method.update(moments, dual))
        alone, both = duals
        assert alone.value[0, 0] == both.value[0, 0] > 0
        assert alone.value[1, 0] == 0
    assert moments.max_gap <= TOL


# The state is a value that is passed in and out.


@pytest.mark.parametrize(("n_events", "n_groups"), [(1, 2), (1, 3), (2, 2)])
def test_update_is_a_function_of_its_arguments(n_events, n_groups):
    problem, method = Coupled(n_events, n_groups, 0, coupling=0.3), SecantALM()
    moments = problem.respond(np.zeros_like(problem.mu))
    dual = method.start(moments, TOL)
    for _ in range(6):
        moments = problem.respond(method.weights(moments, dual))
        given = [np.array(array) for array in (dual.value, *dual.memory)]
        once = method.update(moments, dual)
        twice = method.update(moments, dual)
        assert once.t == twice.t == dual.t + 1
        for left, right in zip((once.value, *once.memory), (twice.value, *twice.memory), strict=True):
            np.testing.assert_array_equal(left, right)
        for before, after in zip(given, (dual.value, *dual.memory), strict=True):
            np.testing.assert_array_equal(before, after)  # and the state it was given is as it was
        dual = once
    assert vars(method) == {}


def test_frozen():
    method = SecantALM()
    with pytest.raises(FrozenInstanceError):
        method.slope = 1.0
    with pytest.raises(FrozenInstanceError):
        method.start(at_gap(0.1), TOL).value = 0.0
