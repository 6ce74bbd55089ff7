"""A classifier with its threshold moved: its labels, scores and probabilities, and where it can go."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import fairalm
from fairalm.sklearn.learner import EstimatorLearner
from fairalm.sklearn.shifted import ShiftedClassifier, margin_of


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)).round(1)  # rounded: ties
    return X, X[:, 0] + rng.normal(size=500) > 0.3


ESTIMATORS = [
    LogisticRegression(),
    LinearSVC(random_state=0),
    SVC(random_state=0),
    GaussianNB(),
    DecisionTreeClassifier(max_depth=5, random_state=0),
    RandomForestClassifier(10, max_depth=4, random_state=0),
    HistGradientBoostingClassifier(max_iter=10, random_state=0),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
LABELS = np.array(["no", "yes"])


@every_estimator
@pytest.mark.parametrize("shift", [0.0, 0.9, -0.7])
def test_labels_scores_and_probabilities_go_together(rows, estimator, shift):
    X, positive = rows
    model = clone(estimator).fit(X, LABELS[positive.astype(int)])
    moved = ShiftedClassifier(model, shift)
    labels = moved.predict(X)
    assert labels.dtype == LABELS.dtype
    margin = margin_of(model, X, "yes")
    np.testing.assert_array_equal(labels == "yes", margin > shift)
    if shift == 0:
        np.testing.assert_array_equal(labels, model.predict(X))
    else:
        assert (labels != model.predict(X)).any()
        assert ((labels == "yes") <= (model.predict(X) == "yes")).all() == (shift > 0)
    assert hasattr(moved, "decision_function") == hasattr(model, "decision_function")
    if hasattr(moved, "decision_function"):
        np.testing.assert_array_equal(moved.decision_function(X) > 0, labels == "yes")
        np.testing.assert_allclose(moved.decision_function(X), model.decision_function(X) - shift)
    assert hasattr(moved, "predict_proba") == hasattr(model, "predict_proba")
    if hasattr(moved, "predict_proba"):
        shares = moved.predict_proba(X)
        assert shares.shape == (500, 2)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(shares[:, 1] > 0.5, labels == "yes")
        before = np.clip(model.predict_proba(X)[:, 1], 1e-12, 1 - 1e-12)
        odds = before / (1 - before) * np.exp(-shift)
        np.testing.assert_allclose(shares[:, 1], odds / (1 + odds), rtol=1e-6, atol=1e-12)


@every_estimator
@pytest.mark.parametrize("target", ["yes", "no"])
def test_the_margin_is_above_0_where_the_target_is_predicted(rows, estimator, target):
    """Ties included: a tree has leaves with even odds, for which scikit-learn predicts the first class."""
    X, positive = rows
    y = LABELS[positive.astype(int)]
    if isinstance(estimator, DecisionTreeClassifier):
        X, y = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0), LABELS[[0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1]]
    model = clone(estimator).fit(X, y)
    margin = margin_of(model, X, target)
    assert np.isfinite(margin).all()
    np.testing.assert_array_equal(margin > 0, model.predict(X) == target)
    if isinstance(estimator, DecisionTreeClassifier):
        assert np.isclose(model.predict_proba(X)[:, 1], 0.5).any()


@every_estimator
@pytest.mark.parametrize("classes", [("no", "yes"), ("yes", "no"), (0, 1), (1, 0)])
def test_the_learner_predicts_the_target_above_the_shift(rows, estimator, classes):
    """Whether the target is the first or the second class; between the rows, where the shifts are."""
    X, positive = rows
    learner = EstimatorLearner(clone(estimator), X, positive, classes)
    model = learner.fit(np.ones(500))
    margin = learner.margin(model, learner.x)
    np.testing.assert_array_equal(margin > 0, model.predict(X) == classes[1])
    values = np.unique(margin)
    places = np.flatnonzero(np.diff(values) > 1e-9)
    for place in places[:: max(1, len(places) // 7)]:
        by = (values[place] + values[place + 1]) / 2
        moved = learner.shifted(model, by)
        np.testing.assert_array_equal(moved.predict(X) == classes[1], margin > by)
        assert set(moved.classes_) == set(classes)
    assert learner.shifted(model, 0.0) is model


@every_estimator
@pytest.mark.parametrize("classes", [("no", "yes"), ("yes", "no")])
def test_infinite_shifts_are_constants(rows, estimator, classes):
    X, positive = rows
    learner = EstimatorLearner(clone(estimator), X, positive, classes)
    model = learner.fit(np.ones(500))
    assert set(learner.shifted(model, -np.inf).predict(X)) == {classes[1]}
    assert set(learner.shifted(model, np.inf).predict(X)) == {classes[0]}


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        LogisticRegression(fit_intercept=False),
        LinearSVC(random_state=0),
        RidgeClassifier(),
        RidgeClassifier(fit_intercept=False),
        Perceptron(random_state=0),
        SGDClassifier(loss="log_loss", random_state=0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("classes", [(0, 1), (1, 0)])
def test_a_linear_model_stays_what_it_is(rows, estimator, classes):
    """With another intercept; the model it was made from keeps its own."""
    X, positive = rows
    learner = EstimatorLearner(clone(estimator), X, positive, classes)
    model = learner.fit(np.ones(500))
    before = np.copy(model.intercept_)
    moved = learner.shifted(model, 0.3)
    assert type(moved) is type(estimator)
    np.testing.assert_array_equal(moved.coef_, model.coef_)
    sign = 1 if classes == (0, 1) else -1
    np.testing.assert_allclose(moved.intercept_, before - sign * 0.3)
    np.testing.assert_array_equal(model.intercept_, before)
    assert learner.n_coefficients(model) == 4


def test_other_models_have_no_number_of_coefficients(rows):
    learner = EstimatorLearner(DecisionTreeClassifier(), *rows, (0, 1))
    assert learner.n_coefficients(learner.fit(np.ones(500))) == np.inf


def test_without_scores_the_margin_is_the_prediction(rows):
    X, positive = rows

    class Contrary(LogisticRegression):
        """Its labels do not follow from its scores, which are therefore of no use here."""

        def predict(self, X):
            return self.classes_[(self.decision_function(X) > 0.5).astype(int)]

    learner = EstimatorLearner(Contrary(), X, positive, (0, 1))
    model = learner.fit(np.ones(500))
    margin = learner.margin(model, X)
    assert set(margin) == {-1.0, 1.0}
    np.testing.assert_array_equal(margin > 0, model.predict(X) == 1)


@pytest.mark.parametrize("estimator", [GaussianNB(), DecisionTreeClassifier(max_depth=3), LogisticRegression()])
def test_inside_a_pipeline(rows, estimator, tmp_path):
    X, positive = rows
    pipeline = make_pipeline(StandardScaler(), estimator)
    learner = EstimatorLearner(pipeline, X, positive, ("no", "yes"))
    model = learner.fit(np.ones(500))
    margin = learner.margin(model, learner.x)
    values = np.unique(margin)
    by = (values[len(values) // 3] + values[len(values) // 3 + 1]) / 2
    whole = learner.wrap(learner.shifted(model, by))
    check_is_fitted(whole)
    assert is_classifier(whole)
    np.testing.assert_array_equal(whole.predict(X) == "yes", margin > by)
    np.testing.assert_array_equal(whole.predict_proba(X)[:, 1] > 0.5, margin > by)
    assert whole.score(X, np.where(positive, "yes", "no")) == pytest.approx(((margin > by) == positive).mean())
    fairalm.save(whole, tmp_path / "model.skops")
    again = fairalm.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))


def test_saved_and_loaded(rows, tmp_path):
    X, positive = rows
    moved = ShiftedClassifier(GaussianNB().fit(X, positive), 0.8)
    fairalm.save(moved, tmp_path / "model.skops")
    again = fairalm.load(tmp_path / "model.skops")
    assert isinstance(again, ShiftedClassifier)
    assert again.shift == 0.8
    np.testing.assert_array_equal(again.predict_proba(X), moved.predict_proba(X))


def test_it_is_as_fitted_as_its_estimator(rows):
    fresh = ShiftedClassifier(GaussianNB(), 0.8)
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)
    check_is_fitted(ShiftedClassifier(GaussianNB().fit(*rows), 0.8))


def test_fitted_again_the_shift_stays(rows):
    X, positive = rows
    weight = np.where(positive, 2.0, 1.0)
    moved = ShiftedClassifier(GaussianNB(), 0.8)
    assert moved.fit(X, positive, sample_weight=weight) is moved
    log_odds = np.log(GaussianNB().fit(X, positive, sample_weight=weight).predict_proba(X))
    np.testing.assert_array_equal(moved.predict(X), log_odds[:, 1] - log_odds[:, 0] > 0.8)
    np.testing.assert_array_equal(moved.classes_, [False, True])
    assert moved.get_params(deep=False) == {"estimator": moved.estimator, "shift": 0.8}
