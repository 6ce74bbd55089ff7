"""The frontier through its classifier."""

import pickle
import re
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fairalm
import sklearn
from fairalm import (
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorParity,
    FairALMClassifier,
    FrontierClassifier,
    InputError,
    LevellingDownWarning,
    NoBetterThanConstantWarning,
    SmallCellWarning,
    ToleranceWarning,
)
from fairalm.cells import Event
from fairalm.datasets import load_compas, preprocess
from fairalm.measures import ddp, make_gap_scorer

LINEAR = ("equal-opportunity", "predictive-equality", "equalized-odds", "error-parity", "demographic-parity")


def people(n=1200, n_groups=2, seed=0):
    """A label that the groups have at different rates, a feature that leaks the group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n)
    y = (rng.random(n) < 0.25 + 0.35 * group / max(1, n_groups - 1)).astype(int)
    X = np.stack([1.2 * y + rng.normal(size=n), group + 0.5 * rng.normal(size=n), rng.normal(size=n)], axis=1)
    return X, y, group


def fitted(X, y, s=None, *, weight=None, probabilities=None, **settings):
    model = FrontierClassifier(**{"random_state": 0, "n_folds": 3} | settings)
    return model.fit(X, y, sensitive_features=s, group_probabilities=probabilities, sample_weight=weight)


@pytest.fixture(scope="module")
def data():
    return people()


@pytest.fixture(scope="module")
def new():
    return people(2000, seed=9)


@pytest.fixture(scope="module")
def frontier(data):
    return fitted(*data, constraint=["equal-opportunity", "demographic-parity"])


def test_groups_in_one_fold_cannot_be_learned():
    y, sex = [0, 1, 0, 0, 0, 1], ["F", "F", "M", "M", "M", "M"]
    clf = FrontierClassifier(LogisticRegression(), n_folds=2, random_state=0)
    with (
        pytest.warns(SmallCellWarning),
        pytest.raises(InputError, match="Only 2 of the rows that the constraint compares have a group: too few"),
    ):
        clf.fit(np.arange(6.0)[:, None], y, sensitive_features=sex)


# Nothing asked is nothing changed.


@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes"), (-1.0, 2.0)])
@pytest.mark.parametrize("which", [0, 1, None])
def test_loose_limits_are_the_plain_model(data, new, labels, which):
    X, y, s = data
    y = np.array(labels)[y]
    target = None if which is None else labels[which]
    for constraint in (EqualOpportunity, DemographicParity):
        model = fitted(X, y, s, constraint=constraint(target=target), mend=False)
        plain = LogisticRegression(max_iter=1000).fit(X, y)
        np.testing.assert_array_equal(model.at(tol=1).predict(new[0]), plain.predict(new[0]))
        np.testing.assert_array_equal(model.estimator_.predict(new[0]), plain.predict(new[0]))


class Undecided(LogisticRegression):
    """Says one half of many rows."""

    def predict_proba(self, X):
        given = super().predict_proba(X)
        return np.where(abs(given - 0.5) < 0.1, 0.5, given)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.filterwarnings("ignore::fairalm.LevellingDownWarning")
@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")  # ties, at the default tolerance
@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("estimator", [Undecided(), KNeighborsClassifier(4)], ids=["undecided", "neighbours"])
def test_rows_of_probability_one_half_stay_as_the_plain_model_has_them(data, new, estimator, target):
    model = fitted(*data, estimator=estimator, constraint=EqualOpportunity(target=target), mend=False)
    assert (model.estimator_.predict_proba(new[0])[:, 0] == 0.5).mean() > 0.1
    np.testing.assert_array_equal(model.at(tol=1).predict(new[0]), model.estimator_.predict(new[0]))


# Constraints.


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("name", LINEAR)
def test_every_linear_constraint(name, n_groups):
    model = fitted(*people(1500, n_groups, seed=1), constraint=name)
    table = model.frontier_
    assert len(table) == 20
    assert table["tol"].is_monotonic_increasing
    assert (table["certificate"] >= 0).all()
    assert (table["certificate"] < 0.002).all()  # three rows
    assert table["gap"].iloc[0] < 0.06  # out of fold: 0 up to sampling error
    if name != "error-parity":  # whose gap is small from the start
        assert table["gap"].iloc[-1] > table["gap"].iloc[0] + 0.04
        assert table["error"].iloc[0] > table["error"].iloc[-1]
    assert (table["cost"].diff().dropna() < 0.002).all()
    assert (table["error"].diff().dropna() < 0.01).all()
    own = model.at()
    assert (own.gap_, own.error_) == (model.gap_, model.error_)
    assert own.gap_ == table.loc[table["tol"] == 0.01, "gap"].item()


@dataclass(frozen=True, kw_only=True)
class Missed(Constraint):
    """The share of all people who have the label and are not found."""

    def events(self, y):
        return (Event("all", sign=1.0 * y),)


@dataclass(frozen=True, kw_only=True)
class WeighedErrors(Constraint):
    """A false negative counts three times a false positive."""

    def events(self, y):
        return (Event("all", sign=1.0 + 2.0 * y),)


def test_a_constraint_of_ones_own(new):
    X, y, s = new
    model = fitted(X, y, s, constraint=Missed(tol=0.02))
    missed = [(y == 1) & (model.at(tol=tol, cost_fp=3.0).predict(X) == 0) for tol in (0.0, 1.0)]
    gaps = [abs(own[s == 0].mean() - own[s == 1].mean()) for own in missed]
    assert gaps[0] < 0.03
    assert gaps[1] > 0.06
    with pytest.raises(InputError, match="WeighedErrors cannot be measured with an interval"):
        fitted(X, y, s, constraint=WeighedErrors(), estimator=Counting())
    assert Counting.fits == 0


def test_predictive_parity_is_refused_before_any_fit(data):
    with pytest.raises(InputError, match=r"PredictiveParity is a ratio .* so it has no frontier: choose another"):
        fitted(*data, constraint="predictive-parity", estimator=Counting())
    assert Counting.fits == 0


def test_several_constraints(frontier, data):
    assert frontier.frontier_["gap"].iloc[0] < 0.05
    only_one = frontier.at(constraint=EqualOpportunity(tol=0.0))
    both = frontier.at(tol=0.0)
    assert both.bound_ > only_one.bound_
    figures = both.figures_
    assert abs(figures["selection_0"] - figures["selection_1"]) < 0.05
    assert abs(figures["tpr_0"] - figures["tpr_1"]) < 0.05
    assert abs(only_one.figures_["selection_0"] - only_one.figures_["selection_1"]) > 0.1


def test_constraints_with_different_tolerances(data):
    model = fitted(*data, constraint=[EqualOpportunity(tol=0.01), DemographicParity(tol=0.15)])
    figures = model.model_.figures_
    assert abs(figures["tpr_0"] - figures["tpr_1"]) < 0.05
    assert 0.1 < abs(figures["selection_0"] - figures["selection_1"]) < 0.2


def test_what_was_not_fitted_for_is_said(data, frontier):
    with pytest.raises(InputError, match=r"among rows without the target label.*name the constraint when you fit"):
        frontier.at(constraint="predictive-equality")
    odds = fitted(*data, constraint="equalized-odds")
    for name in ("predictive-equality", "equal-opportunity", "error-parity"):  # the same people
        assert odds.at(constraint=name).gap_ < 0.05


def test_attributes_one_by_one():
    X, y, s = people(1500)
    columns = pd.DataFrame({"a": s, "b": np.where(X[:, 2] > 0, "u", "v")})
    y = np.where((X[:, 2] > 1) & (np.arange(1500) % 2 == 0), 1, y)
    model = fitted(X, y, columns, constraint=DemographicParity(), attributes="separate")
    assert {"selection_a = 0", "selection_a = 1", "selection_b = u", "selection_b = v"} <= set(model.frontier_)
    strict, loose = model.at(tol=0.0).figures_, model.at(tol=1.0).figures_
    for one, other in (("a = 0", "a = 1"), ("b = u", "b = v")):
        assert abs(strict[f"selection_{one}"] - strict[f"selection_{other}"]) < 0.03
        assert abs(loose[f"selection_{one}"] - loose[f"selection_{other}"]) > 0.05
    crossed = fitted(X, y, columns, constraint=DemographicParity())
    assert crossed.groups_ == ((0, "u"), (0, "v"), (1, "u"), (1, "v"))
    by_reference = model.at(constraint=DemographicParity(tol=0.0, reference="a = 1")).figures_
    assert abs(by_reference["selection_b = u"] - by_reference["selection_b = v"]) < 0.03


# The attribute among the features: a threshold per group.


@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")  # see the next test
@pytest.mark.parametrize("name", ["equal-opportunity", "demographic-parity", "equalized-odds"])
def test_a_known_group_has_a_threshold(name, new):
    X, y, s = people(1500)
    known, other = np.column_stack([X, 20.0 * s]), np.column_stack([new[0], 20.0 * new[2]])
    model = fitted(known, y, s, constraint=name, membership=DecisionTreeClassifier(max_depth=1), mend=False)
    point = model.at(tol=0.05)
    chosen, probability = point.predict(other), model.estimator_.predict_proba(other)[:, 1]
    cuts = []
    for k in (0, 1):
        own = new[2] == k
        steps = np.diff(chosen[own][np.argsort(probability[own])])
        assert (steps >= 0).all()
        cuts.append(probability[own][chosen[own] == 1].min())
    assert abs(cuts[0] - cuts[1]) > 0.03


def test_equalized_odds_of_known_groups_can_need_chance():
    """A group of whom all are ties: the best classifier draws lots (Hardt et al.), and this one does not."""
    X, y, s = people(3000)
    settings = {"constraint": EqualizedOdds(tol=0.05), "membership": DecisionTreeClassifier(max_depth=1)}
    model = fitted(np.column_stack([X, 20.0 * s]), y, s, n_folds=5, **settings)
    assert model.gap_ < 0.08
    with pytest.warns(ToleranceWarning, match="misses a limit by"):
        strict = model.at(tol=0.0)
    assert strict.figures_["ties"] > 0.3
    assert strict.figures_["excess"] > 0.1


# Ratios, references, one side.


@pytest.mark.parametrize("reference", [None, "b"])
def test_a_ratio(data, new, reference):
    X, y, s = data
    names = np.array(["a", "b"])[s]
    model = fitted(X, y, names, constraint=DemographicParity(ratio=0.8, reference=reference))
    assert model.frontier_["ratio"].is_monotonic_decreasing
    chosen = model.predict(new[0])
    rates = [chosen[new[2] == k].mean() for k in (0, 1)]
    assert rates[0] / rates[1] == pytest.approx(0.8, abs=0.08)
    plain = model.estimator_.predict(new[0])
    assert plain[new[2] == 0].mean() / plain[new[2] == 1].mean() < 0.6
    low = fitted(X, y, names, constraint=DemographicParity(ratio=0.8, reference="a"))  # who has less: nothing binds
    np.testing.assert_array_equal(low.predict(new[0]), low.at(ratio=0.01).predict(new[0]))


def test_one_sided():
    X, y, s = people(1800, 3)
    names = np.array(["low", "mid", "high"])[s]
    model = fitted(X, y, names, constraint="demographic-parity")
    plain = model.at(tol=1.0).figures_
    assert plain["selection_low"] < plain["selection_mid"] - 0.05 < plain["selection_high"] - 0.1
    one = model.at(constraint=DemographicParity(tol=0.0, reference="mid", one_sided=True)).figures_
    assert one["selection_low"] == pytest.approx(one["selection_mid"], abs=0.04)  # lifted
    assert one["selection_high"] > one["selection_mid"] + 0.1  # left alone
    two = model.at(constraint=DemographicParity(tol=0.0, reference="mid")).figures_
    assert two["selection_high"] == pytest.approx(two["selection_mid"], abs=0.04)


def test_a_tolerance_replaces_a_ratio_and_a_ratio_a_tolerance(data):
    ratio = fitted(*data, constraint=DemographicParity(ratio=0.8))
    tolerance = fitted(*data, constraint=DemographicParity(tol=0.02))
    assert ratio.at(tol=0.02).bound_ == pytest.approx(tolerance.model_.bound_, abs=1e-3)
    assert tolerance.at(ratio=0.8).bound_ == pytest.approx(ratio.model_.bound_, abs=1e-3)
    with pytest.raises(InputError, match="Pass tol or ratio, not both"):
        ratio.at(tol=0.02, ratio=0.8)


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (DemographicParity(reference="c"), "There is no group 'c'; there are: a, b"),
        (ErrorParity(ratio=0.8), "ErrorParity does not compare shares predicted as the target"),
        ([], "`constraint` is an empty list"),
        (["equal-opportunity", 3], "`constraint` must be a Constraint or the name of one; got 3"),
        ([EqualOpportunity(target=0), DemographicParity(target=1)], "The constraints have different targets"),
        (EqualOpportunity(target="maybe"), "'maybe' is not a label of y"),
        ("equal-oportunity", "did you mean 'equal-opportunity'"),
    ],
)
def test_constraints_are_refused_before_any_fit(data, constraint, message):
    X, y, s = data
    with pytest.raises(InputError, match=re.escape(message)):
        fitted(X, y, np.array(["a", "b"])[s], constraint=constraint, estimator=Counting())
    assert Counting.fits == 0


def test_another_target_needs_another_fit(frontier):
    frontier.at(constraint=EqualOpportunity(target=1))
    with pytest.raises(InputError, match="fitted for the target 1, not 0: fit another"):
        frontier.at(constraint=EqualOpportunity(target=0))


# Operating point.


@pytest.mark.parametrize("acceptance", [0.1, 0.5, 0.8])
def test_acceptance(frontier, new, acceptance):
    point = frontier.at(acceptance=acceptance)
    assert point.figures_["selection"] == pytest.approx(acceptance, abs=0.001 + point.figures_["ties"])
    assert point.predict(new[0]).mean() == pytest.approx(acceptance, abs=0.05)
    assert point.gap_ < 0.05


def test_costs(frontier, new):
    shares = [frontier.at(**costs).predict(new[0]).mean() for costs in ({"cost_fp": 5.0}, {}, {"cost_fn": 5.0})]
    assert shares[0] + 0.1 < shares[1] < shares[2] - 0.1


@pytest.mark.parametrize("floor", ["plain", 0.7])
def test_no_levelling_down(data, new, floor):
    model = fitted(*data)
    plain = model.at(tol=1.0).figures_
    down, kept = model.at(tol=0.0).figures_, model.at(tol=0.0, floor=floor).figures_
    for name in ("tpr_0", "tpr_1"):
        if floor == "plain":
            assert kept[name] > plain[name] - 0.015
        else:
            assert kept[name] > 0.7 - 0.04  # a rate of 150 rows, against a number: a standard error
    worst = min(down["tpr_0"] - plain["tpr_0"], down["tpr_1"] - plain["tpr_1"])
    assert worst < -0.05  # without a floor, a group does fall
    assert kept["gap"] < 0.05


def test_what_is_infeasible_is_told_with_the_nearest_feasible_share(data):
    model = fitted(*data)
    with pytest.raises(InputError, match="No classifier meets these limits and accepts") as error:
        model.at(acceptance=0.1, floor=0.9)
    nearest = error.value.parameters["acceptance"]
    assert f"acceptance={nearest}" in str(error.value)
    point = model.at(acceptance=nearest, floor=0.9)
    assert point.figures_["selection"] == pytest.approx(nearest, abs=0.003)
    assert point.figures_["tpr_0"] > 0.85
    assert model.at(acceptance=0.1).gap_ < 0.1  # the model is as it was


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"acceptance": 1.2}, "acceptance must lie in [0, 1]; got 1.2."),
        ({"cost_fn": 0}, "cost_fn must be positive; got 0."),
        ({"floor": "plan"}, "floor must be 'plain' or a rate; got 'plan'."),
        ({"tol": 7}, "The 'tol' of EqualOpportunity must lie in [0, 1]"),
        ({"ratio": 0}, "The 'ratio' of EqualOpportunity must lie in (0, 1]"),
        ({"constraint": "error_parity"}, "did you mean 'error-parity'"),
        ({"constraint": DemographicParity(reference=3)}, "There is no group '3'; there are: 0, 1"),
    ],
)
def test_what_at_refuses(frontier, asked, message):
    with pytest.raises(InputError, match=re.escape(message)):
        frontier.at(**asked)


# Groups and weights.


def test_names_and_order_of_groups_do_not_matter(data, new):
    """Codes follow the order of the names, and folds that of the codes: with the same folds, the same model."""
    X, y, s = data
    point = fitted(X, y, s).at(tol=0.0)
    for names in (np.array(["a", "b"]), np.array([3.5, 7.0])):
        np.testing.assert_array_equal(fitted(X, y, names[s]).at(tol=0.0).predict(new[0]), point.predict(new[0]))
    turned = fitted(X, y, np.array(["b", "a"])[s])
    assert (turned.at(tol=0.0).predict(new[0]) != point.predict(new[0])).mean() < 0.03  # other folds
    assert turned.groups_ == ("a", "b")


@pytest.mark.parametrize("mend", [False, True])
def test_the_scale_of_the_weights_does_not_matter(data, new, mend):
    weight = np.random.default_rng(0).exponential(size=len(data[1])) + 0.1
    X = np.repeat(data[0], 2, axis=1)  # naive Bayes is too sure of features that say the same
    one, other = (
        fitted(X, *data[1:], estimator=GaussianNB(), weight=scale * weight, mend=mend) for scale in (1.0, 1e-3)
    )
    assert (one._model.mend_target is not None) == mend
    Xn = np.repeat(new[0], 2, axis=1)
    np.testing.assert_array_equal(one.predict(Xn), other.predict(Xn))
    np.testing.assert_array_equal(one.at(acceptance=0.4).predict(Xn), other.at(acceptance=0.4).predict(Xn))


def test_weights_count(data):
    """Weights of 1 are none; rows of weight 0 are as if they were not there."""
    X, y, s = data
    plain = fitted(X, y, s, estimator=GaussianNB())
    ones = fitted(X, y, s, estimator=GaussianNB(), weight=np.ones(len(y)))
    np.testing.assert_array_equal(plain.frontier_["cost"], ones.frontier_["cost"])
    light = np.where(X[:, 2] > 0, 1.0, 0.0)
    weighted = fitted(X, y, s, weight=light, estimator=GaussianNB()).at(tol=1.0)
    alone = GaussianNB().fit(X[light > 0], y[light > 0])
    assert (weighted.predict(X) == alone.predict(X)).mean() > 0.99


def test_weights_reach_the_last_step_of_a_pipeline(data):
    weight = np.where(data[1] == 1, 20.0, 1.0)
    model = fitted(*data, estimator=make_pipeline(StandardScaler(), LogisticRegression()), weight=weight)
    assert model.at(tol=1.0).predict(data[0]).mean() > 0.9


# Unknown groups.


@pytest.fixture
def partly_unknown(data):
    X, y, s = data
    names = np.array(["a", "b"], dtype=object)[s]
    names[np.random.default_rng(0).random(len(s)) < 0.2] = None
    return X, y, names


def test_rows_of_unknown_group_teach_the_estimator(partly_unknown, new):
    X, y, names = partly_unknown
    model = fitted(X, y, names, missing="unknown", mend=False)
    plain = LogisticRegression(max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.estimator_.coef_, plain.coef_)
    assert model.groups_ == ("a", "b")
    assert model.gap_ < 0.05
    assert len(model.predict(new[0])) == len(new[0])
    known = np.array([name is not None for name in names])
    dropped = fitted(X, y, names, missing="drop", mend=False)
    less = LogisticRegression(max_iter=1000).fit(X[known], y[known])
    np.testing.assert_allclose(dropped.estimator_.coef_, less.coef_)
    group = fitted(X, y, names, missing="group")
    assert len(group.groups_) == 3
    with pytest.raises(InputError, match=r"rows have no value in the protected column .* missing='drop'"):
        fitted(X, y, names)
    with pytest.raises(InputError, match="missing must be one of error, unknown, drop, group; got 'skip'"):
        fitted(X, y, names, missing="skip")


def test_an_unknown_group_is_not_a_group_of_its_own(partly_unknown):
    """Labels of unknown rows do not count in the gaps."""
    X, y, names = partly_unknown
    model = fitted(X, y, names, missing="unknown")
    known = np.array([name is not None for name in names])
    chosen = model._trade_off.points[0].rule.predict(model._trade_off.sample.joint)
    assert len(chosen) == known.sum()
    expected = fairalm.measures.deo(y[known], chosen, sensitive_features=names[known]).value
    assert model.frontier_["gap"].iloc[0] == pytest.approx(expected)


# Probabilities of groups.


def test_certain_probabilities_are_labels(data, new):
    X, y, s = data
    labels = fitted(X, y, s, mend=False, constraint="equalized-odds")
    for table in (np.eye(2)[s], pd.DataFrame(np.eye(2)[s], columns=["a", "b"])):
        certain = fitted(X, y, probabilities=table, mend=False, constraint="equalized-odds")
        np.testing.assert_array_equal(certain.predict(new[0]), labels.predict(new[0]))
        assert certain.gap_ == pytest.approx(labels.gap_)
    assert certain.groups_ == ("a", "b")


def test_uncertain_groups(data, new):
    X, y, s = data
    rng = np.random.default_rng(0)
    share = 1 / (1 + np.exp(-4 * (X[:, 1] - 0.5)))
    drawn = rng.random(len(y)) < share
    model = fitted(X, y, probabilities=np.column_stack([1 - share, share]), constraint="demographic-parity")
    strict, loose = (model.at(tol=tol).predict(X) for tol in (0.0, 1.0))
    assert ddp(y, strict, sensitive_features=drawn).value < 0.06
    assert ddp(y, loose, sensitive_features=drawn).value > 0.15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda p: 2 * p,
            "1200 rows of `group_probabilities` are not probabilities that sum to one; the first is row 0",
        ),
        (lambda p: p - np.where(np.arange(1200) == 7, 0.5, 0)[:, None], "1 rows of `group_probabilities`"),
        (lambda p: p * np.array([[2, -1]]), "not probabilities that sum to one"),
        (
            lambda p: np.where(np.arange(1200)[:, None] < 5, np.nan, p),
            "5 of 1200 rows of `group_probabilities` are miss",
        ),
        (lambda p: np.where(p == p[3, 0], np.nan, p), "not probabilities that sum to one"),
        (lambda p: p[:-1], "`group_probabilities` must have 1200 rows and a column for each of at least two groups"),
        (lambda p: p[:, :1], "a column for each of at least two groups; got shape (1200, 1)"),
        (lambda p: p[:, 0], "got shape (1200,)"),
        (lambda p: np.column_stack([p, 0 * p[:, :1]]), "Group '2' has no rows with y=1"),
    ],
)
def test_bad_probabilities(data, change, message):
    X, y, s = data
    with pytest.raises(InputError, match=re.escape(message)):
        fitted(X, y, probabilities=change(np.eye(2)[s]), estimator=Counting())
    assert Counting.fits == 0


def test_probabilities_partly_unknown(data, new):
    X, y, s = data
    table = np.where(np.arange(len(y))[:, None] < 100, np.nan, np.eye(2)[s])
    model = fitted(X, y, probabilities=table, missing="unknown", mend=False)
    names = np.where(np.arange(len(y)) < 100, None, s.astype(object))
    labels = fitted(X, y, names, missing="unknown", mend=False)
    np.testing.assert_allclose(model.estimator_.coef_, labels.estimator_.coef_)
    assert (model.predict(new[0]) == labels.predict(new[0])).mean() > 0.95  # other folds


def test_both_and_neither(data):
    X, y, s = data
    with pytest.raises(InputError, match="Pass `sensitive_features` or `group_probabilities`, not both"):
        fitted(X, y, s, probabilities=np.eye(2)[s])
    with pytest.raises(InputError, match="`sensitive_features` is missing"):
        fitted(X, y)


# What cannot be fitted.


class Counting(LogisticRegression):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def _no_fits_yet():
    Counting.fits = 0


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        ({"y": lambda y: 0 * y}, {}, "y has one class only"),
        ({"y": lambda y: y[:-1]}, {}, "y has 1199 rows, X has 1200"),
        ({"s": lambda s: 0 * s}, {}, "The protected attribute has 1 group ('0')"),
        ({"s": lambda s: s[:-1]}, {}, "`sensitive_features` has 1199 rows, the data has 1200"),
        ({"w": lambda s: np.where(s == 0, np.nan, 1.0)}, {}, "`sample_weight` has"),
        ({"w": lambda s: -1.0 * s}, {}, "negative"),
        ({"w": lambda s: 1.0 * (s == 0)}, {}, "Group '1' has no rows with y=1"),
        ({}, {"n_folds": 1}, "The 'n_folds' parameter must be at least 2. Got 1 instead."),
        ({}, {"n_folds": 2.5}, "The 'n_folds' parameter must be at least 2"),
        ({}, {"attributes": "both"}, "attributes must be one of crossed, separate; got 'both'."),
        ({}, {"membership": LinearSVC()}, "LinearSVC has no predict_proba"),
        ({}, {"estimator": LinearSVC()}, "LinearSVC has no predict_proba"),
        ({}, {"estimator": 3}, "`estimator` must be a classifier with fit and predict; got 3"),
    ],
)
def test_what_cannot_be_fitted(data, change, settings, message):
    X, y, s = data
    y, groups = change.get("y", np.asarray)(y), change.get("s", np.asarray)(s)
    weight = change["w"](s) if "w" in change else None
    with pytest.raises(ValueError, match=re.escape(message)):
        fitted(X, y, groups, weight=weight, **{"estimator": Counting()} | settings)
    assert Counting.fits == 0


def test_a_group_without_rows_of_a_label(data):
    X, y, s = data
    with pytest.raises(InputError, match=r"Group '1' has no rows with y=1, so EqualOpportunity cannot be judged"):
        fitted(X, y, np.where(y == 1, 0, s))


@pytest.mark.filterwarnings("ignore:The gap on rows that:fairalm.ToleranceWarning")  # see the next test
@pytest.mark.parametrize("few", [1, 3])
def test_small_cells_are_warned_of_and_fitted(data, few):
    X, y, s = data
    s = np.where((y == 1) & (np.cumsum(y) > few), 0, s)
    s[np.flatnonzero(y == 1)[:few]] = 1
    with pytest.warns(SmallCellWarning, match=rf"Fewer than 5 rows with y=target in '1' \({few}\)"):
        model = fitted(X, y, s)
    assert np.isfinite(model.frontier_[["error", "cost", "certificate"]]).all(axis=None)


@pytest.mark.filterwarnings("ignore::fairalm.SmallCellWarning")
def test_a_gap_that_is_surely_above_the_tolerance_is_told(data):
    """Three positives of a group are too few to correct its rate by."""
    X, y, s = data
    s = np.where((y == 1) & (np.cumsum(y) > 3), 0, s)
    s[np.flatnonzero(y == 1)[:3]] = 1
    with pytest.warns(ToleranceWarning, match=r"had not seen is \S+ % .*above the tolerance of 1 %.* larger tol"):
        model = fitted(X, y, s)
    assert model.model_.figures_["gap_low"] > 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error", ToleranceWarning)
        model.at(tol=1.0)


def test_an_estimator_without_weights(data):
    class Plain(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.inner_, self.classes_ = LogisticRegression().fit(X, y), np.unique(y)
            return self

        def predict(self, X):
            return self.inner_.predict(X)

        def predict_proba(self, X):
            return self.inner_.predict_proba(X)

    assert fitted(*data, estimator=Plain()).gap_ < 0.06
    with pytest.raises(InputError, match="Plain"):
        fitted(*data, estimator=Plain(), weight=np.ones(len(data[1])))


def test_other_classifiers_refuse_a_ratio_or_a_reference(data):
    X, y, s = data
    for constraint in (EqualOpportunity(ratio=0.8), EqualOpportunity(reference=0)):
        with pytest.raises(
            InputError, match=r"only fairalm\.FrontierClassifier .*can bound: use that, or give a `tol`"
        ):
            FairALMClassifier(constraint=constraint).fit(X, y, sensitive_features=s)


# scikit-learn.


def test_fitting_again_gives_the_same(data, new):
    X, y, s = data
    model = fitted(X, y, s)
    first = model.predict(new[0])
    np.testing.assert_array_equal(model.fit(X, y, sensitive_features=s).predict(new[0]), first)
    np.testing.assert_array_equal(clone(model).fit(X, y, sensitive_features=s).predict(new[0]), first)
    np.testing.assert_array_equal(fitted(X, y, s, n_jobs=2).predict(new[0]), first)


def test_a_label_shares_the_model_of_all_rows_where_that_knows_its_groups_better():
    """The group shows in many columns, and the target is rare: fewer rows are too few to learn groups from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 60))
    group = (X[:, :8].sum(axis=1) + 2 * rng.normal(size=6000) > 0).astype(int)
    y = (rng.normal(size=6000) + 0.5 * group > 1.3).astype(int)
    how = {"estimator": LogisticRegression(C=1e3), "n_folds": 5}
    with pytest.warns(NoBetterThanConstantWarning):  # the label is noise
        shared, apart = (fitted(X, y, group, mend=mend, **how) for mend in (True, False))
    assert (shared.n_oracle_calls_, apart.n_oracle_calls_) == (3 + 5 * 2, 6 * 2)  # the first fold tries both
    of_all, of_target = (model._model.members["target"] for model in (shared, apart))
    np.testing.assert_array_equal(of_all.coef_, clone(of_all).fit(X, group).coef_)
    np.testing.assert_array_equal(of_target.coef_, clone(of_target).fit(X[y == 1], group[y == 1]).coef_)
    share = shared._model.joint(X).members["target"][y == 1].mean(axis=0)
    assert share[1] == pytest.approx(group[y == 1].mean(), abs=0.02)  # mending knows what the label says
    assert shared._model.raw(X).members["target"][y == 1].mean(axis=0)[1] < share[1] - 0.05


def test_the_number_of_fits(data):
    model = fitted(*data, estimator=Counting(), constraint="equalized-odds", n_folds=4)
    assert model.n_oracle_calls_ == Counting.fits == (4 + 1) * 3
    model.at(tol=0.3, acceptance=0.2)
    assert Counting.fits == 15


def test_data_frames_sparse_rows_and_lists(data, new):
    X, y, s = data
    expected = fitted(X, y, s).predict(new[0])
    frame = pd.DataFrame(X, columns=list("abc"), index=range(5, 5 + len(y)))
    labels, groups = pd.Series(y, frame.index), pd.Series(s, frame.index)
    model = fitted(frame, labels, groups)
    other = pd.DataFrame(new[0], columns=list("abc"))
    np.testing.assert_array_equal(model.predict(other), expected)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    for predict in (model.predict, model.at(tol=0.2).predict):
        with pytest.raises(ValueError, match="feature names should match"):
            predict(other[["b", "a", "c"]])
    with pytest.raises(InputError, match="y and X have different indexes"):
        fitted(frame, labels.reset_index(drop=True), groups)
    with pytest.raises(InputError, match="sensitive_features and X have different indexes"):
        fitted(frame, labels, groups.reset_index(drop=True))
    with pytest.raises(InputError, match="group_probabilities and X have different indexes"):
        fitted(frame, labels, probabilities=pd.DataFrame(np.eye(2)[s]))
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.coo_array):
        assert (fitted(kind(X), y, s).predict(kind(new[0])) == expected).mean() > 0.999
    np.testing.assert_array_equal(fitted(X.tolist(), y.tolist(), s.tolist()).predict(new[0].tolist()), expected)


def test_labels_of_text(data, new):
    X, y, s = data
    model = fitted(X, np.array(["no", "yes"])[y], s)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(new[0]) == "yes", fitted(X, y, s).predict(new[0]) == 1)
    assert 0.5 < model.score(new[0], np.array(["no", "yes"])[new[1]]) < 1


@pytest.mark.parametrize("target", [0, 1])
def test_the_decision_function_agrees_with_predict(data, new, target):
    model = fitted(*data, constraint=EqualOpportunity(target=target))
    np.testing.assert_array_equal(model.decision_function(new[0]) > 0, model.predict(new[0]) == 1)


def test_not_fitted(data):
    for call in (lambda m: m.predict(data[0]), lambda m: m.decision_function(data[0]), lambda m: m.at(tol=0.1)):
        with pytest.raises(NotFittedError):
            call(FrontierClassifier())


def test_a_limit_that_ties_miss_is_warned_of(data):
    """A full tree says 0 or 1 of every row: there is nothing to choose by."""
    tree = DecisionTreeClassifier(random_state=0)
    with pytest.warns(ToleranceWarning, match=r"misses a limit by \d+\.\d points: for \d+\.\d % of the rows several"):
        model = fitted(*data, estimator=tree, mend=False)
    assert (model.frontier_["excess"].iloc[:3] > 0.02).all()
    assert model.frontier_["excess"].iloc[-1] == 0
    with pytest.warns(ToleranceWarning, match="Choose an estimator with finer probabilities"):
        model.at(acceptance=0.2)


def test_a_search_over_the_tolerance(data):
    X, y, s = data
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            FrontierClassifier(n_folds=2, random_state=0).set_fit_request(sensitive_features=True),
            {"constraint__tol": [0.01, 0.3]},
            scoring=make_gap_scorer("deo"),
            cv=2,
        ).fit(X, y, sensitive_features=s)
    assert search.best_params_ == {"constraint__tol": 0.01}


def test_as_the_last_step_of_a_pipeline(data):
    X, y, s = data
    with sklearn.config_context(enable_metadata_routing=True):
        last = FrontierClassifier(n_folds=3, random_state=0).set_fit_request(sensitive_features=True)
        pipeline = make_pipeline(StandardScaler(), last).fit(X, y, sensitive_features=s)
        weighted = make_pipeline(StandardScaler(), LogisticRegression())
        assert fitted(X, y, probabilities=np.eye(2)[s], estimator=weighted).gap_ < 0.06
    assert pipeline[-1].gap_ < 0.06
    assert set(pipeline.predict(X)) == {0, 1}


# Saving and loading.


@pytest.mark.parametrize("attributes", ["crossed", "separate"])
def test_saved_and_loaded(data, new, tmp_path, attributes):
    X, y, s = data
    columns = pd.DataFrame({"a": s, "b": np.where(X[:, 2] > 0, "u", "v")}) if attributes == "separate" else s
    model = fitted(X, y, columns, constraint=["demographic-parity"], attributes=attributes)
    fairalm.save(model, tmp_path / "model.skops")
    again = fairalm.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(new[0]), model.predict(new[0]))
    pd.testing.assert_frame_equal(again.frontier_, model.frontier_)
    for asked in (
        {"tol": 0.05},
        {"tol": 0.033},
        {"acceptance": 0.3, "cost_fn": 2.0},
        {"floor": "plain"},
        {"ratio": 0.9},
    ):
        np.testing.assert_array_equal(again.at(**asked).predict(new[0]), model.at(**asked).predict(new[0]))
    with pytest.raises(InputError, match="acceptance"):
        again.at(acceptance=7)


def test_pickled(frontier, new):
    again = pickle.loads(pickle.dumps(frontier))
    np.testing.assert_array_equal(again.at(tol=0.033).predict(new[0]), frontier.at(tol=0.033).predict(new[0]))


# On new rows.


@pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
@pytest.mark.filterwarnings("ignore::fairalm.ToleranceWarning")  # ties
def test_figures_are_of_rows_not_seen():
    """A tree knows every row it was fitted to, and labels by a coin have an error of one half."""
    rng = np.random.default_rng(0)
    X, y, s = rng.normal(size=(600, 3)), rng.integers(2, size=600), rng.integers(2, size=600)
    model = fitted(X, y, s, estimator=DecisionTreeClassifier(random_state=0), mend=False)
    assert model.estimator_.score(X, y) == 1
    assert (model.frontier_["error"] > 0.4).all()


@pytest.mark.parametrize("name", ["equal-opportunity", "demographic-parity"])
def test_the_gap_on_new_rows_falls(name):
    X, y, s = people(6000, seed=3)
    model = fitted(X[:3000], y[:3000], s[:3000], constraint=name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measure = {"equal-opportunity": fairalm.measures.deo, "demographic-parity": ddp}[name]
        gaps = [
            measure(y[3000:], model.at(tol=tol).predict(X[3000:]), sensitive_features=s[3000:]).value
            for tol in (0.0, 1.0)
        ]
    assert gaps[0] < 0.06
    assert gaps[1] > 0.12


def test_acceptance_counts_rows_of_unknown_group():
    """Their groups are missing where scores are high: a share of the known rows would accept too many."""
    X, y, group = people(4000, seed=3)
    group = np.asarray(group, dtype=object)
    group[(X[:, 0] > np.quantile(X[:, 0], 0.8)) & (np.arange(len(y)) % 4 > 0)] = None
    constraint = DemographicParity(tol=0.05)
    model = fitted(X, y, group, constraint=constraint, missing="unknown")
    for share in (0.3, 0.6):
        assert model.at(acceptance=share).predict(X).mean() == pytest.approx(share, abs=0.03)


def test_levelling_down_is_told_with_a_way_out():
    data = load_compas()
    X = preprocess(data.X).fit_transform(data.X)
    model = FrontierClassifier(constraint=DemographicParity(tol=0.01), random_state=0)
    with pytest.warns(LevellingDownWarning, match=r"expense of every group.*African-American 68 → .*floor='plain'"):
        model.fit(X, data.y, sensitive_features=data.groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LevellingDownWarning)
        model.use(floor="plain")


def test_no_better_than_a_constant_is_told():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(1000, 2)), rng.integers(0, 2, 1000)
    y = (rng.random(1000) < 0.45).astype(int)  # nothing to learn
    model = FrontierClassifier(constraint=EqualOpportunity(tol=1.0), mend=False, random_state=0)
    with pytest.warns(NoBetterThanConstantWarning, match="wrong for .* out of fold; to predict the same for every row"):
        model.fit(X, y, sensitive_features=s)
