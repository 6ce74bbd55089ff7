"""One point of the frontier, as a classifier that stands on its own."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import fairalm
from fairalm import EqualizedOdds, EqualOpportunity, FrontierClassifier


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=1200)
    y = (rng.random(1200) < 0.25 + 0.2 * group).astype(int)
    return np.stack([1.2 * y + rng.normal(size=1200), group + 0.5 * rng.normal(size=1200)], axis=1), y, group


def fit(data, **settings):
    X, y, s = data
    model = FrontierClassifier(**{"n_folds": 3, "random_state": 0} | settings)
    return model.fit(X, np.array(["no", "yes"])[y], sensitive_features=s)


@pytest.fixture(scope="module")
def point(data):
    return fit(data).at(tol=0.02)


@pytest.mark.parametrize("target", ["no", "yes"])
def test_predictions_are_the_formula(data, target):
    """Predict the target where Σ P(y, s | x) W[y, s] says that it costs less, from the classifiers themselves."""
    X, y, s = data
    point = fit(data, constraint=EqualizedOdds(target=target, tol=0.02), mend=False).at(cost_fn=2.0)
    share = point.model.estimator.predict_proba(X)[:, ["no", "yes"].index(target)]
    margins = 1.0 * (1 - share) - 2.0 * share
    for name, part in (("other", 1 - share), ("target", share)):
        weights = point.rule.weights[point.rule.populations.index(name)]
        margins += part * (point.model.members[name].predict_proba(X) @ weights)
    chosen = margins < point.rule.threshold
    np.testing.assert_array_equal(point.predict(X) == target, chosen)
    sign = 1 if target == "yes" else -1
    np.testing.assert_allclose(point.decision_function(X), sign * (point.rule.threshold - margins), atol=1e-12)


def test_the_attribute_is_not_needed(point, data):
    assert set(point.predict(data[0][:50])) == {"no", "yes"}
    assert point.classes_.tolist() == ["no", "yes"]


def test_mended_probabilities_are_used(data):
    X = np.repeat(data[0], 3, axis=1)
    model = fit((X, *data[1:]), estimator=GaussianNB())
    assert model._model.mend_target is not None
    point = model.at(tol=1.0)
    share = model.estimator_.predict_proba(X)[:, 1]
    mended = point.model.joint(X).target
    assert abs(share - mended).max() > 0.05
    np.testing.assert_array_equal(point.predict(X) == "yes", mended > 0.5)


def test_figures(point):
    assert (point.error_, point.gap_) == (point.figures_["error"], point.figures_["gap"])
    assert point.figures_["error_low"] < point.error_ < point.figures_["error_high"]
    assert 0 <= point.certificate_ < 0.001
    assert point.cost_ - point.bound_ == pytest.approx(0, abs=0.001)


def test_it_is_fitted_and_cannot_be_fitted(point, data):
    check_is_fitted(point)
    with pytest.raises(TypeError, match="fit a FrontierClassifier and call its at"):
        point.fit(data[0], data[1])
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(point))


@pytest.mark.parametrize("estimator", [LogisticRegression(), DecisionTreeClassifier(max_depth=4, random_state=0)])
def test_saved_and_loaded(data, tmp_path, estimator):
    point = fit(data, estimator=estimator, constraint=EqualOpportunity(target="no")).at(tol=0.03, acceptance=0.4)
    fairalm.save(point, tmp_path / "point.skops")
    again = fairalm.load(tmp_path / "point.skops")
    np.testing.assert_array_equal(again.predict(data[0]), point.predict(data[0]))
    np.testing.assert_array_equal(again.decision_function(data[0]), point.decision_function(data[0]))
    assert again.figures_ == point.figures_
    assert (tmp_path / "point.skops").stat().st_size < 30_000  # models and weights, without the rows
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(point)).predict(data[0]), point.predict(data[0]))


def test_a_group_that_a_fold_has_not_seen_has_probability_0(data):
    X, y, s = data
    model = fit(data)._model
    model.members["target"] = LogisticRegression().fit(X[s != 1], s[s != 1])
    members = model.raw(X).members["target"]
    assert members.shape == (1200, 3)
    assert (members[:, 1] == 0).all()
    np.testing.assert_allclose(members.sum(axis=1), 1)
