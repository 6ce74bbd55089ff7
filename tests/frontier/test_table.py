import numpy as np
import pandas as pd
import pytest

from fairalm import DemographicParity, EqualOpportunity
from fairalm._validation import Groups
from fairalm.frontier.curve import Frontier
from fairalm.frontier.joint import Joint
from fairalm.frontier.limits import Asked
from fairalm.frontier.sample import Sample
from fairalm.frontier.table import curve_table, figures_of, out_of_fold_rates, rates_of
from fairalm.measures import ddp, deo, error


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    score, group = rng.normal(size=800), rng.integers(2, size=800)
    target = 1 / (1 + np.exp(-score - group))
    members = np.column_stack([np.full(800, 0.5), np.full(800, 0.5)])
    members = np.where(np.eye(2)[group] > 0, 0.8, 0.2) * members / 0.5
    joint = Joint(target, {"target": members, "everyone": members})
    names = Groups(np.empty(0, dtype=np.int64), ("a", "b"))
    return Sample(joint, target > 0.5, rng.random(800) < target, group, names, np.ones(800))


@pytest.fixture(scope="module")
def points(sample):
    frontier = Frontier(sample)
    return [frontier.point(Asked(constraints=(EqualOpportunity(tol=tol),))) for tol in (0.0, 0.05)]


def test_figures_are_those_of_the_measures(sample, points):
    figures = figures_of(points[0], sample)
    chosen = points[0].rule.predict(sample.joint)
    names = np.array(["a", "b"])[sample.group]
    for name, measure in (
        ("error", error(sample.positive, chosen)),
        ("gap", deo(sample.positive, chosen, sensitive_features=names)),
    ):
        assert figures[name] == pytest.approx(measure.value)
        assert (figures[f"{name}_low"], figures[f"{name}_high"]) == pytest.approx((measure.low, measure.high))
    assert figures["selection"] == pytest.approx(chosen.mean())
    for name in "ab":
        own = names == name
        assert figures[f"selection_{name}"] == pytest.approx(chosen[own].mean())
        assert figures[f"tpr_{name}"] == pytest.approx(chosen[own & sample.positive].mean())
    for name in ("cost", "bound", "certificate", "ties", "excess"):
        assert figures[name] == getattr(points[0], name)


def test_the_gap_of_several_constraints_is_the_largest(sample):
    point = Frontier(sample).point(Asked(constraints=(EqualOpportunity(tol=0.0), DemographicParity(tol=0.3))))
    chosen, names = point.rule.predict(sample.joint), sample.group
    largest = max(gap(sample.positive, chosen, sensitive_features=names).value for gap in (deo, ddp))
    assert figures_of(point, sample)["gap"] == pytest.approx(largest)


def test_one_row_per_point(sample, points):
    figures = [figures_of(point, sample) for point in points]
    table = curve_table("tol", [0.0, 0.05], points, figures, sample)
    assert isinstance(table, pd.DataFrame)
    assert table["tol"].tolist() == [0.0, 0.05]
    assert table["error"].tolist() == [own["error"] for own in figures]
    np.testing.assert_allclose(table[["weight_target_a", "weight_target_b"]], [p.rule.weights[0] for p in points])
    assert (table["error_low"] < table["error"]).all()
    assert (table["error"] < table["error_high"]).all()


def test_uncertain_groups_count_with_their_probability(sample):
    group = sample.joint.members["everyone"]
    uncertain = Sample(sample.joint, sample.plain, sample.positive, group, sample.groups, sample.weight)
    values = out_of_fold_rates(uncertain, sample.plain).value("tpr")
    for k in (0, 1):
        own = sample.positive
        assert values[k] == pytest.approx(np.average(sample.plain[own], weights=group[own, k]))


def test_weights_count(sample):
    weight = np.where(sample.plain, 3.0, 1.0)
    heavy = Sample(sample.joint, sample.plain, sample.positive, sample.group, sample.groups, weight)
    selection = out_of_fold_rates(heavy, sample.plain).pooled.value("selection")[0]
    assert selection == pytest.approx(np.average(sample.plain, weights=weight))


def test_the_rates_of_a_point_are_those_of_its_predictions(sample, points):
    for point in points:
        counted = out_of_fold_rates(sample, point.rule.predict(sample.joint))
        for name in ("tp", "fp", "tn", "fn", "names"):
            np.testing.assert_array_equal(getattr(rates_of(point, sample), name), getattr(counted, name))
