"""The frontier of more than two labels, through its classifier."""

import numpy as np
import pytest

import fairalm
from fairalm import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    FairALMClassifier,
    FrontierClassifier,
    InputError,
)
from fairalm.measures import ddp, deo, label_rates, measure_of

LABELS = np.array(["high", "low", "mid"])
COSTS = [[0, 1, 1], [4, 0, 1], [1, 1, 0]]


def people(n=2500, n_groups=3, seed=0):
    """Three labels that the groups have at different rates, and features that tell of label and group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    level = (rng.normal(size=n) + 0.6 * group > 0.9).astype(int) + (rng.normal(size=n) + 0.4 * group > 0.5)
    X = np.column_stack([level == 0, level == 1, group]) + 0.7 * rng.normal(size=(n, 3))
    return X, LABELS[level], group


@pytest.fixture(scope="module")
def data():
    return people()


@pytest.fixture(scope="module")
def frontier(data):
    X, y, s = data
    both = [EqualOpportunity(), DemographicParity()]
    return FrontierClassifier(constraint=both, n_folds=3, random_state=0).fit(X, y, sensitive_features=s)


def test_no_limits_are_the_plain_model(frontier, data):
    np.testing.assert_array_equal(frontier.at(tol=1).predict(data[0]), frontier.estimator_.predict(data[0]))
    assert frontier.frontier_["error"].iloc[-1] == frontier.baselines_["error"].iloc[0]


def test_corrections_leave_the_shares_of_a_group_at_one(frontier):
    """Else they contradict equal shares of all labels, and nothing but the plain model is found."""
    for point in frontier._trade_off.points:
        of_shares = point.offsets[1::2]  # demographic parity is the second constraint of each label
        assert abs(np.sum(of_shares, axis=0)).max() < 1e-12
        assert point.excess < 0.01


@pytest.mark.parametrize(("constraint", "measure"), [(DemographicParity, ddp), (EqualOpportunity, deo)])
def test_the_gap_of_every_label_is_closed(frontier, constraint, measure):
    point = frontier.at(constraint=constraint(tol=0.02))
    wide = frontier.at(constraint=constraint(tol=1))
    assert max(point.figures_[f"gap[{label}]"] for label in LABELS) == point.gap_ < wide.gap_ / 2
    assert point.figures_["gap_low"] <= 0.02 < wide.figures_["gap_low"]  # within the tolerance, up to sampling error
    assert 0 <= point.certificate_ < 0.001
    X, y, s = people(20_000, seed=1)
    assert measure(y, point.predict(X), sensitive_features=s).value < 0.1


def test_only_the_labels_that_are_named_are_limited(data):
    X, y, s = data
    model = FrontierClassifier(constraint=DemographicParity(target=["high"]), n_folds=3, random_state=0)
    model.fit(X, y, sensitive_features=s)
    rates = label_rates(y, model.predict(X), sensitive_features=s)
    gaps = {label: measure_of("ddp", own).value for label, own in rates.each.items()}
    assert gaps["high"] < 0.05 < gaps["mid"]
    assert "gap[mid]" not in model.model_.figures_
    with pytest.raises(InputError, match="fitted for the labels 'high': name the same as the target"):
        model.at(constraint=DemographicParity(target="low"))
    with pytest.raises(InputError, match="name the constraint when you fit"):
        model.at(constraint=EqualizedOdds())


def test_costs(frontier, data):
    even, costly = (frontier.at(tol=0.05, costs=costs) for costs in (None, COSTS))
    X, y, _ = data
    wrong = [((point.predict(X) == "high") & (y == "low")).mean() for point in (even, costly)]
    assert wrong[1] < wrong[0]
    assert (
        abs(costly.cost_ - costly.bound_) < 0.001
    )  # a row on the border of two labels may cost less, and miss a limit
    assert costly.decision_function(X).shape == (len(X), 3)


def test_two_labels_are_the_frontier_of_two_labels():
    X, y, s = people()
    y = (y == "high").astype(int)
    one, several = (
        FrontierClassifier(constraint=EqualOpportunity(target=target), n_folds=3, random_state=0, mend=False).fit(
            X, y, sensitive_features=s
        )
        for target in (1, [1])
    )
    for tol in (0.02, 0.1):
        a, b = one.at(tol=tol), several.at(tol=tol)
        assert a.cost_ == pytest.approx(b.cost_, abs=2e-3)
        assert (a.predict(X) != b.predict(X)).mean() < 0.01
    assert several.decision_function(X).shape == (len(X),)


def test_saved_and_loaded(frontier, data, tmp_path):
    fairalm.save(frontier, tmp_path / "model.skops")
    loaded, X = fairalm.load(tmp_path / "model.skops"), data[0]
    for asked in ({}, {"tol": 0.04, "costs": COSTS}):
        np.testing.assert_array_equal(loaded.at(**asked).predict(X), frontier.at(**asked).predict(X))
    fairalm.save(frontier.at(tol=0.03), tmp_path / "point.skops")
    point = fairalm.load(tmp_path / "point.skops")
    np.testing.assert_array_equal(point.predict(X), frontier.at(tol=0.03).predict(X))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"acceptance": 0.5}, "is for two labels"),
        ({"cost_fn": 2.0}, "pass costs"),
        ({"floor": "plain"}, "is for two labels"),
        ({"costs": [[0, 1], [1, 0]]}, "must be a table of 3 × 3 numbers"),
        ({"costs": np.eye(3)}, "must be least on the diagonal"),
        ({"constraint": "error-parity"}, "does not compare how often a label is predicted"),
    ],
)
def test_what_cannot_be_asked(frontier, asked, message):
    with pytest.raises(InputError, match=message):
        frontier.at(**asked)


def test_what_takes_two_labels_only_says_what_takes_more(data):
    X, y, s = data
    with pytest.raises(InputError, match=r"one against the rest first, or use fairalm\.FrontierClassifier"):
        FairALMClassifier().fit(X, y, sensitive_features=s)
    with pytest.raises(InputError, match="is not a label of y, whose labels are 'high', 'low', 'mid'"):
        FrontierClassifier(constraint=EqualOpportunity(target="best")).fit(X, y, sensitive_features=s)
    two = FrontierClassifier(n_folds=2, random_state=0).fit(X, y == "high", sensitive_features=s)
    with pytest.raises(InputError, match="is for more than two labels: pass cost_fp and cost_fn"):
        two.at(costs=[[0, 1], [1, 0]])
