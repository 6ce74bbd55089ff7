"""Points of the frontier from given probabilities: no model, no fit."""

from dataclasses import replace

import numpy as np
import pytest

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity, ErrorParity, InputError, PredictiveEquality
from fairalm._validation import Groups
from fairalm.cells import Cells
from fairalm.frontier import curve
from fairalm.frontier.curve import Frontier
from fairalm.frontier.joint import Joint, Rates, populations_of
from fairalm.frontier.limits import Asked
from fairalm.frontier.rule import Rule
from fairalm.frontier.sample import Sample

LINEAR = (EqualOpportunity, PredictiveEquality, EqualizedOdds, ErrorParity, DemographicParity)


def draw(n=1500, n_groups=3, seed=0, *, sure=False, steps=None):
    """Rows whose labels and groups are drawn from the probabilities themselves; `sure`: the group is known."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    if steps:
        score = np.round(score * steps) / steps
    lean = np.stack([0.8 * k * score + (rng.normal(size=n) if not steps else 0) for k in range(n_groups)], axis=1)
    members = np.exp(lean) / np.exp(lean).sum(axis=1, keepdims=True)
    group = (members.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    if sure:
        members = np.eye(n_groups)[group]
    target = 1 / (1 + np.exp(-1.5 * score))
    joint = Joint(target, dict.fromkeys(("other", "target", "everyone"), members))
    positive = rng.random(n) < target
    names = Groups(np.empty(0, dtype=np.int64), tuple("abcdef"[:n_groups]))
    return Sample(joint, target > 0.5, positive, group, names, np.ones(n))


def ask(sample, *constraints, **settings):
    return Frontier(sample).point(Asked(constraints=constraints, **settings))


def estimated(sample, constraint, chosen):
    """Rates under the probabilities, without the correction by observed ones."""
    populations = populations_of([constraint])
    parts = sample.joint.parts(populations) * sample.weight[:, None]
    rates = Rates.of(constraint, populations, parts.sum(axis=0).reshape(len(populations), -1), None)
    return rates.values(chosen @ parts)


def corrected(sample, constraint, point):
    """Rates of a point's rule, corrected by the observed ones as the point was."""
    rates = estimated(sample, constraint, point.rule.predict(sample.joint))
    return rates + point.offsets[point.asked.constraints.index(constraint)]


def observed(sample, chosen):
    """Observed miss rates, and their variances."""
    cells = Cells.of(EqualOpportunity(), sample.n_groups)
    return sample.observed(cells, sample.sums(sample.weight * chosen))


def spread(rates):
    return (rates.max(axis=1) - rates.min(axis=1)).max()


@pytest.fixture(scope="module")
def sample():
    return draw()


@pytest.fixture
def uncorrected(monkeypatch):
    """Observed rates that agree with the estimated ones."""

    def agreeing(_, cells, rates, totals):
        values = rates.values(totals.sums[: rates.table.shape[2]])
        return values, np.zeros_like(values)

    monkeypatch.setattr(Frontier, "_corrected", agreeing)


@pytest.mark.parametrize("tol", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("constraint", LINEAR)
def test_estimated_rates_are_within_the_tolerance(sample, constraint, tol):
    point = ask(sample, constraint(tol=tol))
    assert spread(corrected(sample, constraint(tol=tol), point)) < tol + 0.003  # a tie is one row of some hundreds
    assert 0 <= point.certificate < 0.001
    assert point.cost - point.bound == pytest.approx(0, abs=0.001)


@pytest.mark.usefixtures("uncorrected")
@pytest.mark.parametrize("constraint", LINEAR)
def test_the_cost_does_not_rise_with_the_tolerance(sample, constraint):
    points = [ask(sample, constraint(tol=tol)) for tol in (0, 0.01, 0.03, 0.1, 0.3, 1)]
    bounds = [point.bound for point in points]
    assert (np.diff(bounds) <= 1e-6).all()
    assert bounds[0] > bounds[-1] + 0.003
    plain = sample.joint.target
    assert points[-1].cost == pytest.approx(np.minimum(plain, 1 - plain).mean(), abs=1e-9)


def test_loose_limits_are_the_plain_model(sample):
    for constraint in LINEAR:
        point = ask(sample, constraint(tol=1.0))
        assert not point.rule.weights.any()
        np.testing.assert_array_equal(point.rule.predict(sample.joint), sample.plain)


def test_the_rule_is_the_formula(sample):
    rule = ask(sample, EqualizedOdds(tol=0.02), cost_fp=2.0, cost_fn=3.0, acceptance=0.4).rule
    joint, (other, target) = sample.joint, rule.weights
    assert rule.populations == ("other", "target")
    margins = 2 * (1 - joint.target) - 3 * joint.target + rule.bias
    margins += (1 - joint.target) * (joint.members["other"] @ other) + joint.target * (joint.members["target"] @ target)
    np.testing.assert_allclose(rule.margins(joint), margins, atol=1e-12)
    np.testing.assert_array_equal(rule.predict(joint), margins < rule.threshold)


def test_no_classifier_is_below_the_bound(sample):
    """Random rules within the limits of a point cost at least its bound."""
    point, constraint = ask(sample, EqualOpportunity(tol=0.05)), EqualOpportunity(tol=0.05)
    joint, rng, tried = sample.joint, np.random.default_rng(0), 0
    for _ in range(2000):
        rule = Rule(("target",), point.rule.weights + rng.normal(0, 0.1, (1, 3)), bias=rng.normal(0, 0.1))
        chosen = rule.predict(joint)
        rates = estimated(sample, constraint, chosen) + point.offsets[0]
        if spread(rates) <= 0.05:
            tried += 1
            cost = np.where(chosen, 1 - joint.target, joint.target).mean()
            assert cost >= point.bound - 1e-6
    assert tried > 20


# Groups that are known: a threshold for each.


@pytest.mark.parametrize("constraint", LINEAR)
def test_known_groups_have_a_threshold_each(constraint):
    sample = draw(n_groups=2, sure=True)
    chosen = ask(sample, constraint(tol=0.0)).rule.predict(sample.joint)
    for k in (0, 1):
        own = sample.group == k
        order = np.argsort(sample.joint.target[own])
        steps = np.diff(chosen[own][order].astype(int))
        assert (steps >= 0).all() or (steps <= 0).all()  # error parity can turn a group's prediction round
    assert 0.05 < chosen.mean() < 0.95


# Groups and weights.


@pytest.mark.parametrize("constraint", [EqualOpportunity, EqualizedOdds])
def test_the_order_of_the_groups_does_not_matter(sample, constraint):
    order = np.array([2, 0, 1])
    joint = Joint(sample.joint.target, {name: part[:, order] for name, part in sample.joint.members.items()})
    turned = replace(sample, joint=joint, group=np.argsort(order)[sample.group])
    one, other = (ask(part, constraint(tol=0.02)) for part in (sample, turned))
    np.testing.assert_allclose(one.rule.weights[:, order], other.rule.weights, atol=1e-4)
    assert (one.rule.predict(sample.joint) != other.rule.predict(joint)).sum() <= 1


def test_the_scale_of_the_weights_does_not_matter(sample):
    weight = np.random.default_rng(0).exponential(size=len(sample.weight))
    one, other = (
        ask(replace(sample, weight=scale * weight), EqualOpportunity(tol=0.02), acceptance=0.4) for scale in (1, 1e4)
    )
    np.testing.assert_allclose(one.rule.weights, other.rule.weights, atol=1e-6)
    assert one.cost == pytest.approx(other.cost)


def test_a_row_of_weight_two_is_two_rows():
    """Of demographic parity with known groups the estimated rates are the observed ones: nothing is corrected."""
    sample = draw(n=600, n_groups=2, sure=True)
    times = np.random.default_rng(0).integers(1, 4, len(sample.weight))
    row = np.repeat(np.arange(len(times)), times)
    joint = Joint(sample.joint.target[row], {name: part[row] for name, part in sample.joint.members.items()})
    repeated = Sample(
        joint, sample.plain[row], sample.positive[row], sample.group[row], sample.groups, np.ones(len(row))
    )
    weighted = ask(replace(sample, weight=times.astype(float)), DemographicParity(tol=0.02), cost_fn=2.0)
    expected = ask(repeated, DemographicParity(tol=0.02), cost_fn=2.0)
    unweighted = ask(sample, DemographicParity(tol=0.02), cost_fn=2.0)
    assert weighted.bound == pytest.approx(expected.bound, abs=1e-5)
    assert abs(weighted.bound - unweighted.bound) > 1e-4
    np.testing.assert_array_equal(weighted.rule.predict(sample.joint)[row], expected.rule.predict(joint))


def test_certain_probabilities_of_groups_are_labels(sample):
    one, other = (
        ask(part, EqualizedOdds(tol=0.02)) for part in (sample, replace(sample, group=np.eye(3)[sample.group]))
    )
    np.testing.assert_allclose(one.rule.weights, other.rule.weights, atol=1e-9)
    assert one.cost == pytest.approx(other.cost)


# Operating point.


@pytest.mark.parametrize("acceptance", [0.05, 0.4, 0.9])
@pytest.mark.parametrize("constraint", [EqualOpportunity, EqualizedOdds, DemographicParity])
def test_the_share_accepted(sample, constraint, acceptance):
    point = ask(sample, constraint(tol=0.02), acceptance=acceptance)
    share = point.rule.predict(sample.joint).mean()
    assert share == pytest.approx(acceptance, abs=0.001 + point.ties)


def test_costs_move_the_share_accepted(sample):
    shares = [
        ask(sample, EqualOpportunity(tol=0.02), **costs).rule.predict(sample.joint).mean()
        for costs in ({"cost_fp": 5.0}, {}, {"cost_fn": 5.0})
    ]
    assert shares[0] + 0.1 < shares[1] < shares[2] - 0.1


def test_equal_costs_change_only_the_unit(sample):
    one, three = (
        ask(sample, EqualOpportunity(tol=0.02)),
        ask(sample, EqualOpportunity(tol=0.02), cost_fp=3.0, cost_fn=3.0),
    )
    assert three.cost == pytest.approx(3 * one.cost, abs=1e-3)
    np.testing.assert_allclose(three.rule.weights, 3 * one.rule.weights, atol=1e-3)


@pytest.mark.parametrize("floor", ["plain", 0.8])
@pytest.mark.parametrize("constraint", [EqualOpportunity, DemographicParity])
def test_no_group_falls_below_the_floor(sample, constraint, floor):
    own = constraint(tol=0.05)
    point = ask(sample, own, floor=floor)
    sign = -1 if constraint is EqualOpportunity else 1
    shares = (0.5 - sign * 0.5) + sign * corrected(sample, own, point)[0]
    problem = Frontier(sample)._problem(Asked(constraints=(own,)))
    plain = Frontier(sample)._corrected(problem.cells[0], problem.rates[0], problem.rows.totals(sample.plain))[0][0]
    least = (0.5 - sign * 0.5) + sign * plain if floor == "plain" else 0.8
    assert (shares >= least - 0.003).all()
    without = (0.5 - sign * 0.5) + sign * corrected(sample, own, ask(sample, own))[0]
    assert (without < least - 0.01).any()  # the floor did something


def test_several_constraints_at_once(sample):
    both = (DemographicParity(tol=0.03), EqualOpportunity(tol=0.01))
    point = ask(sample, *both)
    for constraint in both:
        assert spread(corrected(sample, constraint, point)) < constraint.tol + 0.003
    alone = ask(sample, both[1])
    assert spread(estimated(sample, both[0], alone.rule.predict(sample.joint))) > 0.05
    assert point.bound > alone.bound


# Ratios and references.


def test_a_ratio_with_and_without_reference(sample):
    any_two, first = (ask(sample, DemographicParity(ratio=0.8, reference=reference)) for reference in (None, "a"))
    rates = corrected(sample, any_two.asked.constraints[0], any_two)[0]
    assert rates.min() / rates.max() == pytest.approx(0.8, abs=0.01)
    rates = corrected(sample, first.asked.constraints[0], first)[0]
    assert (rates >= 0.8 * rates[0] - 0.003).all()
    assert rates[0] / rates[2] < 0.7  # the reference is the group of the lowest rate: nothing binds
    np.testing.assert_array_equal(first.rule.predict(sample.joint), sample.plain)


def test_one_sided_lifts_who_is_below_and_leaves_who_is_above(sample):
    lifted = ask(sample, DemographicParity(tol=0.0, reference="b", one_sided=True))
    rates = corrected(sample, lifted.asked.constraints[0], lifted)[0]
    plain = estimated(sample, DemographicParity(), sample.plain)[0]
    assert plain[0] < plain[1] < plain[2]
    assert rates[0] == pytest.approx(rates[1], abs=0.004)
    assert rates[2] > rates[1] + 0.1
    both_sides = ask(sample, DemographicParity(tol=0.0, reference="b"))
    assert spread(corrected(sample, both_sides.asked.constraints[0], both_sides)) < 0.004
    assert both_sides.bound > lifted.bound


# What cannot be.


@pytest.mark.parametrize("floor", [0.31, 0.55, 0.9, 0.987, 1.0])
def test_the_nearest_feasible_acceptance_is_named_and_is_feasible(sample, floor):
    asked = {"floor": floor, "acceptance": 0.1}
    with pytest.raises(InputError, match=r"No classifier meets these limits and accepts 10\.0 % of the rows") as error:
        ask(sample, EqualOpportunity(tol=0.02), **asked)
    nearest = error.value.parameters["acceptance"]
    assert f"is {100 * nearest:.1f} %. Pass acceptance={nearest}, or loosen a limit." in str(error.value)
    point = ask(sample, EqualOpportunity(tol=0.02), floor=floor, acceptance=nearest)
    assert point.rule.predict(sample.joint).mean() == pytest.approx(nearest, abs=0.002 + point.ties)
    if nearest > 0.2:  # and it is the nearest
        with pytest.raises(InputError):
            ask(sample, EqualOpportunity(tol=0.02), floor=floor, acceptance=nearest - 0.003)


def test_limits_that_contradict_each_other_whatever_the_acceptance(sample):
    """A group with a higher TPR than it has in the estimate can be had by no one: offsets that no rule meets."""
    group = sample.group
    sure = replace(sample, plain=group == 0)
    both = (DemographicParity(ratio=1.0), EqualOpportunity(tol=0.0))
    assert ask(sure, *both).bound > 0  # all or none are always possible
    with pytest.raises(InputError, match="No classifier meets these limits"):
        ask(sure, *both, floor=0.9, acceptance=0.2)


def test_who_belongs_where_must_be_known(sample):
    joint = Joint(sample.joint.target, {"target": sample.joint.members["target"]})
    with pytest.raises(InputError, match="among rows without the target label, and no model was fitted for that"):
        ask(replace(sample, joint=joint), EqualizedOdds())


# Correction by observed rates.


def biased(n=20_000, seed=0, shift=0.15):
    """Members of the second group among rows with the target label have lower scores than the model thinks."""
    sample = draw(n, 2, seed, sure=False)
    rng = np.random.default_rng(seed)
    lower = sample.positive & (sample.group == 1) & (sample.joint.target > 0.5) & (rng.random(n) < shift)
    return replace(sample, group=np.where(lower, 0, sample.group))


def test_observed_rates_correct_the_program_where_cells_are_large(monkeypatch):
    sample, constraint = biased(), EqualOpportunity(tol=0.0)

    def observed_gap(point):
        return spread(observed(sample, point.rule.predict(sample.joint))[0])

    with_correction = observed_gap(ask(sample, constraint))
    monkeypatch.setattr(curve, "ROUNDS", 1)
    without = observed_gap(ask(sample, constraint))
    assert without > 0.03
    assert with_correction < 0.012


def test_a_difference_that_could_be_chance_is_shrunk():
    sample = draw(300)
    problem = Frontier(sample)._problem(Asked(constraints=(EqualOpportunity(),)))
    totals = problem.rows.totals(sample.plain)
    values, offset = Frontier(sample)._corrected(problem.cells[0], problem.rates[0], totals)
    expected, (seen, variance) = problem.rates[0].values(totals.sums), observed(sample, sample.plain)
    raw = seen - expected
    assert (abs(offset) < abs(raw)).all()
    assert (np.sign(offset) == np.sign(raw)).all()
    np.testing.assert_allclose(offset, raw * raw**2 / (raw**2 + variance))
    np.testing.assert_allclose(values, expected + offset)


@pytest.mark.parametrize("probabilities", [False, True])
def test_observed_rates_and_their_variances(probabilities):
    sample = draw(400, 2)
    if probabilities:
        sample = replace(sample, group=np.eye(2)[sample.group])
    sample = replace(sample, weight=np.random.default_rng(0).exponential(size=400))
    rates, variances = observed(sample, sample.plain)
    code = sample.group if not probabilities else sample.group.argmax(axis=1)
    for k in (0, 1):
        own = sample.positive & (code == k)
        weight = sample.weight[own]
        missed = np.average(~sample.plain[own], weights=weight)
        assert rates[0, k] == pytest.approx(missed)
        n = weight.sum() ** 2 / (weight**2).sum()
        smooth = (n * missed + 1) / (n + 2)
        assert variances[0, k] == pytest.approx(smooth * (1 - smooth) / n)
        assert variances[0, k] == pytest.approx(missed * (1 - missed) / n, rel=0.05)


@pytest.mark.parametrize(("few", "variance"), [(6, 7 / 8 * 1 / 8 / 6), (4, np.inf)])
def test_a_rate_of_a_few_rows_is_not_certain_when_it_is_0(few, variance):
    """None out of six: the standard error is about a seventh, not 0; none out of four tells nothing."""
    sample = draw(300, 2)
    group = np.where(np.cumsum(sample.positive & ~sample.plain) <= few, 1, 0) * (sample.positive & ~sample.plain)
    rates, variances = observed(replace(sample, group=group), sample.plain)
    assert rates[0, 1] == 1
    assert variances[0, 1] == pytest.approx(variance)


@pytest.mark.parametrize("n", [300, 1500])
@pytest.mark.parametrize("constraint", LINEAR)
def test_the_correction_settles_wherever_it_begins(constraint, n):
    frontier, far = Frontier(draw(n)), None
    for tol in (0.0, 0.02, 0.1):
        asked = Asked(constraints=(constraint(tol=tol),))
        fresh, from_far = frontier.point(asked), frontier.point(asked, far)
        far = replace(fresh, offsets=(fresh.offsets[0] + 0.02,))
        np.testing.assert_allclose(from_far.offsets, fresh.offsets, atol=1e-3)


def test_a_correction_that_no_predictions_can_meet_is_not_returned(sample):
    """At the edge of what is feasible, corrected limits may contradict each other: the last that did not are kept."""
    with pytest.raises(InputError) as error:
        ask(sample, EqualOpportunity(tol=0.02), floor=0.987, acceptance=0.1)
    nearest = error.value.parameters["acceptance"]
    for acceptance in nearest + np.array([0, 0.001, 0.002, 0.005]):
        assert ask(sample, EqualOpportunity(tol=0.02), floor=0.987, acceptance=acceptance).excess < 0.003


# Ties.


@pytest.mark.parametrize("steps", [1, 3])
def test_ties_are_reported_and_the_certificate_says_what_they_cost(steps):
    sample = draw(800, 2, steps=steps)
    point = ask(sample, DemographicParity(tol=0.01))
    assert point.ties > 0.005
    chosen = point.rule.predict(sample.joint)
    cost = np.where(chosen, 1 - sample.joint.target, sample.joint.target).mean()
    assert point.cost == pytest.approx(cost)
    assert point.certificate >= max(0, point.cost - point.bound) - 1e-9


@pytest.mark.usefixtures("uncorrected")
def test_a_warm_start_gives_the_same_point(sample):
    cold = ask(sample, EqualOpportunity(tol=0.03))
    near = ask(sample, EqualOpportunity(tol=0.02))
    warm = Frontier(sample).point(Asked(constraints=(EqualOpportunity(tol=0.03),)), near)
    assert warm.bound == pytest.approx(cold.bound, abs=1e-6)
    np.testing.assert_array_equal(warm.rule.predict(sample.joint), cold.rule.predict(sample.joint))


# Rows that are settled by a neighbour.


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("constraint", [EqualOpportunity, EqualizedOdds])
def test_a_neighbour_settles_most_rows_and_changes_nothing(constraint, weights, monkeypatch):
    sample = draw(30_000, 4, seed=1)
    if weights:
        sample = replace(sample, weight=np.random.default_rng(0).exponential(size=30_000))
    near, far = (ask(sample, constraint(tol=tol)) for tol in (0.03, 0.2))
    solved, real = [], curve.solve
    monkeypatch.setattr(
        curve, "solve", lambda part, *how, **or_: solved.append(len(part.costs)) or real(part, *how, **or_)
    )
    asked = Asked(constraints=(constraint(tol=0.02),))
    from_all = Frontier(sample).point(asked, replace(near, asked=replace(asked, cost_fp=2.0)))  # unlike: all rows
    assert min(solved) == 30_000
    solved.clear()
    few = Frontier(sample).point(asked, near)
    assert max(solved) < 10_000
    for name in ("cost", "bound", "certificate"):
        assert getattr(few, name) == pytest.approx(getattr(from_all, name), abs=2e-5)
    np.testing.assert_allclose(few.accepted, from_all.accepted, atol=3)
    chosen = few.rule.predict(sample.joint)
    np.testing.assert_allclose(few.accepted, sample.sums(sample.weight * chosen))
    assert few.cost == pytest.approx(
        np.average(np.where(chosen, 1 - sample.joint.target, sample.joint.target), weights=sample.weight)
    )
    # a neighbour too far away: rows join until none is predicted otherwise
    from_far = Frontier(sample).point(asked, replace(far, offsets=near.offsets), reach=0.001)
    assert from_far.bound == pytest.approx(from_all.bound, abs=5e-4)
    chosen = from_far.rule.predict(sample.joint)
    np.testing.assert_allclose(from_far.accepted, sample.sums(sample.weight * chosen))


def test_a_guess_between_two_points(sample):
    one, two = (ask(sample, EqualOpportunity(tol=tol)) for tol in (0.02, 0.04))
    guess = one.between(two, 0.5)
    np.testing.assert_allclose(guess.rule.weights, (one.rule.weights + two.rule.weights) / 2)
    asked = Asked(constraints=(EqualOpportunity(tol=0.03),))
    point = Frontier(sample).point(asked, one, guess, 0.01)
    assert two.bound - 1e-3 < point.bound < one.bound + 1e-3
    assert spread(corrected(sample, asked.constraints[0], point)) < 0.033
