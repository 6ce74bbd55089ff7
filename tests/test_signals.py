"""Where errors and gaps are measured: out of fold where the training rows cannot be trusted."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import fairalm
from fairalm import EqualizedOdds, EqualOpportunity, FairALMClassifier
from fairalm.datasets import load_compas, load_german, preprocess
from fairalm.signals import AutoSignal, CrossfitSignal, Fold, Signal


class Given:
    """A learner whose model predicts as told: margins of its rows as fitted, and of rows it has not seen."""

    def __init__(self, seen, size=np.inf):
        self.x, self.size, self.n_fits = seen, size, 0

    def fit(self, weights):
        self.n_fits += 1
        return self.n_fits

    def margin(self, model, x):
        return x

    def shifted(self, model, by):
        return model

    def n_coefficients(self, model):
        return self.size


def decide(positive, group, seen, unseen, *, constraint=None, weight=None, size=np.inf):
    """The signal after the plain model, whose predictions out of two folds are `unseen`."""
    rows = (constraint or EqualOpportunity()).rows(positive, group, group.max() + 1, weight)
    halves = np.arange(len(positive)) % 2

    def make_folds():
        parts = [(np.flatnonzero(halves != k), np.flatnonzero(halves == k)) for k in (0, 1)]
        return [Fold(Given(unseen[inside]), inside, outside, unseen[outside]) for inside, outside in parts]

    signal = AutoSignal(rows, Given(seen, size), make_folds)
    return signal, signal(None, None)


def rows_of(n):
    """n rows with the target label and n without in each of two groups; predictions that are all right."""
    positive, group = np.tile([True, False], 2 * n), np.repeat([0, 1], 2 * n)
    return positive, group, np.where(positive, 1.0, -1.0)


def with_wrong(margin, where, k):
    """The first k of some rows predicted wrongly."""
    changed = margin.copy()
    changed[np.flatnonzero(where)[:k]] *= -1
    return changed


@pytest.mark.parametrize(
    ("n", "k", "expected"),
    [
        (500, 0, "train"),
        (500, 16, "train"),  # 4 standard errors: k > 4 sqrt(k) from 17 on
        (500, 17, "crossfit"),
        (2000, 20, "train"),  # certain, but a point at most
        (2000, 21, "crossfit"),
        (20, 16, "train"),  # most of the cell, and yet so few
    ],
)
def test_a_cell_must_differ_by_more_than_chance_and_by_over_a_point(n, k, expected):
    positive, group, right = rows_of(n)
    unseen = with_wrong(right, positive & (group == 1), k)
    signal, outcome = decide(positive, group, right, unseen)
    assert signal.name == expected
    assert signal.n_fits == 3
    shown = unseen if expected == "crossfit" else right
    assert outcome.error == pytest.approx(((shown > 0) != positive).mean())
    assert outcome.moments.mu[0] == pytest.approx([0, k / n if expected == "crossfit" else 0])


def test_changes_that_cancel_are_no_difference():
    """Wrong on other rows, but as often: a rate is what a gap is made of."""
    positive, group, right = rows_of(500)
    cell = positive & (group == 1)
    seen, unseen = with_wrong(right, cell, 50), right.copy()
    unseen[np.flatnonzero(cell)[50:100]] *= -1
    assert decide(positive, group, seen, unseen)[0].name == "train"


def test_only_the_labels_of_the_constraint_count_besides_the_error():
    """False alarms that rise in one group and fall in the other leave the error as it is."""
    positive, group, right = rows_of(500)
    seen = with_wrong(right, ~positive & (group == 0), 30)
    unseen = with_wrong(right, ~positive & (group == 1), 30)
    assert decide(positive, group, seen, unseen)[0].name == "train"
    assert decide(positive, group, seen, unseen, constraint=EqualizedOdds())[0].name == "crossfit"
    more = with_wrong(unseen, ~positive & (group == 0), 200)  # the error differs by 10 points
    assert decide(positive, group, seen, more)[0].name == "crossfit"


def test_weights_count():
    """21 of 2000 rows in the cell are over a point; at a tenth of the weight they are not."""
    positive, group, right = rows_of(2000)
    cell = positive & (group == 1)
    unseen = with_wrong(right, cell, 21)
    light = np.where(unseen != right, 0.1, 1.0)
    assert decide(positive, group, right, unseen)[0].name == "crossfit"
    assert decide(positive, group, right, unseen, weight=light)[0].name == "train"
    assert decide(positive, group, right, unseen, weight=np.full(8000, 7.0))[0].name == "crossfit"


@pytest.mark.parametrize("scale", [0.01, 1.0, 7.0])
@pytest.mark.parametrize(("k", "expected"), [(16, "train"), (17, "crossfit")])
def test_the_scale_of_the_weights_does_not(scale, k, expected):
    positive, group, right = rows_of(500)
    unseen = with_wrong(right, positive & (group == 1), k)
    assert decide(positive, group, right, unseen, weight=np.full(2000, scale))[0].name == expected


@pytest.mark.parametrize(("size", "fits"), [(20, 1), (21, 3), (np.inf, 3)])
def test_a_linear_model_with_100_rows_per_coefficient_is_trusted(size, fits):
    positive, group, right = rows_of(500)
    wrong = with_wrong(right, positive, 200)
    signal, _ = decide(positive, group, right, wrong, size=size)
    assert signal.n_fits == fits
    assert signal.name == ("train" if fits == 1 else "crossfit")


@pytest.mark.parametrize(("few", "fits"), [(24, 1), (26, 3)])
def test_a_linear_model_is_trusted_where_an_out_of_fold_gap_is_mostly_chance(few, fits):
    """A tenth of the rows is missed: the gap's standard error is sqrt(0.09 (1/few + 1/500)), 6.3 or 6.0 points, and
    k / 2n is 6.2. With the 500 rows in two cells, the gap between these has a standard error of 2.7."""
    n = 500 + few
    positive, group = np.ones(n, dtype=bool), np.repeat([0, 1], [500, few])
    seen = np.where(np.arange(n) % 10 == 0, -1.0, 1.0)
    signal, _ = decide(positive, group, seen, seen, size=0.124 * n)
    assert signal.n_fits == fits
    three = np.where(np.arange(n) < 250, 2, group)
    assert decide(positive, three, seen, seen, size=0.124 * n)[0].n_fits == 3


@pytest.mark.parametrize("k", [0, 100])
def test_later_rounds_are_measured_as_the_first_was_decided(k):
    positive, group, right = rows_of(500)
    unseen = with_wrong(right, positive & (group == 1), k)
    signal, first = decide(positive, group, right, unseen)
    before = signal.n_fits
    again = signal(np.array([[0.1, -0.1]]), first)
    assert signal.n_fits - before == (3 if k else 1)
    rows = EqualOpportunity().rows(positive, group, 2)
    other = CrossfitSignal(rows, Given(right), signal.folds) if k else Signal(rows, Given(right))
    expected = other(np.array([[0.1, -0.1]]), first)
    assert again.error == expected.error
    np.testing.assert_array_equal(again.moments.mu, expected.moments.mu)
    np.testing.assert_array_equal(again.wrong, expected.wrong)
    np.testing.assert_array_equal(again.shifts.wrong, expected.shifts.wrong)


def fit(load, estimator, **settings):
    data = load()
    X = data.features_frame(with_protected=True)
    X = preprocess(X).fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fairalm.FairALMWarning)
        model = FairALMClassifier(estimator, random_state=0, **settings).fit(X, data.y, sensitive_features=data.groups)
    return model, X, data


@pytest.mark.parametrize(
    "estimator",
    [RandomForestClassifier(20, random_state=0), DecisionTreeClassifier(random_state=0)],
    ids=["forest", "deep tree"],
)
def test_a_model_that_remembers_its_rows_is_measured_out_of_fold(estimator):
    model, X, data = fit(load_compas, estimator, max_iter=3)
    assert model.dual_signal_ == "crossfit"
    assert model.n_oracle_calls_ % 4 == 0  # the model and its three folds, from the first on
    assert model.history_["error"][0] > (estimator.fit(X, data.y).predict(X) != data.y).mean() + 0.05
    asked, _, _ = fit(load_compas, estimator, max_iter=3, dual_signal="crossfit")
    assert asked.history_.equals(model.history_)


def test_logistic_regression_on_many_rows_costs_no_fold():
    model, X, data = fit(load_compas, LogisticRegression(max_iter=1000))
    asked, _, _ = fit(load_compas, LogisticRegression(max_iter=1000), dual_signal="train")
    assert (model.dual_signal_, asked.dual_signal_) == ("train", "train")
    assert model.n_oracle_calls_ == asked.n_oracle_calls_
    assert model.history_.equals(asked.history_)
    assert (model.predict(X) != data.y).mean() == pytest.approx(model.error_)


@pytest.mark.parametrize(("copies", "fits"), [(1, 1), (3, 4)])
def test_logistic_regression_on_few_rows_is_measured_if_it_has_many_columns(copies, fits):
    """German: 1000 rows, of which 33 are in the smallest cell, and 61 columns, once or with two copies as noise."""
    data = load_german()
    X = preprocess(data.features_frame()).fit_transform(data.features_frame())
    rng = np.random.default_rng(0)
    X = np.hstack([X, *(rng.permutation(X) for _ in range(copies - 1))])
    model = FairALMClassifier(LogisticRegression(max_iter=1000), method="unconstrained", random_state=0)
    model.fit(X, data.y, sensitive_features=data.groups)
    assert model.n_oracle_calls_ == fits
    assert model.dual_signal_ == ("train" if fits == 1 else "crossfit")


@pytest.mark.parametrize("estimator", [GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0)])
def test_a_small_model_is_measured_once_and_trusted(estimator):
    """Three fits on top, for the plain model only."""
    model, _, _ = fit(load_compas, estimator, max_iter=4)
    asked, _, _ = fit(load_compas, estimator, max_iter=4, dual_signal="train")
    assert model.dual_signal_ == "train"
    assert model.n_oracle_calls_ == asked.n_oracle_calls_ + 3
    assert model.history_.equals(asked.history_)


@pytest.mark.parametrize("signal", ["train", "heldout", "crossfit"])
def test_the_signal_that_was_asked_for_is_kept(signal):
    model, _, _ = fit(load_compas, RandomForestClassifier(5, random_state=0), max_iter=1, dual_signal=signal)
    assert model.dual_signal_ == signal
