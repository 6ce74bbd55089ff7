import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fairalm import InputError
from fairalm.datasets import stratified_folds
from fairalm.sklearn.learner import EstimatorLearner


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, X[:, 0] + rng.normal(size=300) > 0


def test_a_negative_weight_is_its_size_on_the_other_label(rows):
    X, positive = rows
    weights = np.linspace(-1, 2, 300)
    exact = LogisticRegression(tol=1e-10)
    ours = EstimatorLearner(exact, X, positive, (0, 1)).fit(weights.copy())
    expected = exact.fit(X, np.where(weights < 0, ~positive, positive), sample_weight=abs(weights))
    np.testing.assert_allclose(ours.coef_, expected.coef_, rtol=1e-4)


def test_logistic_regression_starts_where_the_last_fit_ended(rows):
    X, positive = rows
    fitter = EstimatorLearner(LogisticRegression(tol=1e-10, max_iter=1000), X, positive, ("no", "yes"))
    first, again = fitter.fit(np.ones(300)), fitter.fit(np.ones(300))
    assert again.n_iter_[0] <= 1 < first.n_iter_[0]
    weights = np.linspace(0.5, 1.5, 300)
    cold = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, positive, sample_weight=weights)
    np.testing.assert_allclose(fitter.fit(weights).coef_, cold.coef_, atol=1e-4)
    assert again.warm_start is False
    assert set(again.classes_) == {"no", "yes"}


def test_a_forest_is_fitted_anew_each_time(rows):
    X, positive = rows
    forest = RandomForestClassifier(5, warm_start=True, random_state=0)
    fitter = EstimatorLearner(forest, X, positive, (0, 1))
    first = fitter.fit(np.ones(300))
    second = fitter.fit(np.where(positive, 1.0, 10.0))
    assert second.estimators_[0] is not first.estimators_[0]
    assert (second.predict_proba(X) != first.predict_proba(X)).any()


def test_steps_before_the_last_are_fitted_once(rows):
    X, positive = rows

    class Counting(StandardScaler):
        fits = 0

        def fit(self, X, y=None, sample_weight=None):
            type(self).fits += 1
            return super().fit(X, y)

    fitter = EstimatorLearner(make_pipeline(Counting(), LogisticRegression(tol=1e-10)), X, positive, (0, 1))
    models = [fitter.wrap(fitter.fit(np.full(300, w))) for w in (1.0, 2.0, 3.0)]
    assert Counting.fits == 1
    assert [name for name, _ in models[0].steps] == ["counting", "logisticregression"]
    plain = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10)).fit(X, positive)
    np.testing.assert_allclose(models[0].predict_proba(X), plain.predict_proba(X), rtol=1e-5)


@pytest.mark.parametrize(
    "before", [[], ["passthrough"], [None], [StandardScaler(), None], ["passthrough", None]], ids=str
)
def test_a_pipeline_with_empty_steps_before_the_last_or_none(rows, before):
    X, positive = rows
    weights = np.linspace(-0.2, 2, 300)
    scaled = X if len(before) < 2 or before[0] == "passthrough" else StandardScaler().fit_transform(X)
    expected = EstimatorLearner(LogisticRegression(), scaled, positive, (0, 1)).fit(weights.copy())
    learner = EstimatorLearner(make_pipeline(*before, LogisticRegression()), X, positive, (0, 1))
    whole = learner.wrap(learner.fit(weights.copy()))
    np.testing.assert_allclose(whole.predict_proba(X), expected.predict_proba(scaled))
    assert isinstance(whole, Pipeline)
    assert len(whole) == len(before) + 1


def test_a_pipeline_that_ends_in_a_pipeline_is_refused(rows):
    nested = make_pipeline(StandardScaler(), make_pipeline(LogisticRegression()))
    with pytest.raises(InputError, match="The last step of `estimator` is a pipeline itself"):
        EstimatorLearner(nested, *rows, (0, 1))


def test_one_label_left_gives_a_constant(rows):
    X, positive = rows
    model = EstimatorLearner(LogisticRegression(), X, positive, ("no", "yes")).fit(np.where(positive, 1.0, -1.0))
    assert set(model.predict(X)) == {"yes"}
    assert model.predict_proba(X).shape == (300, 2)


def test_an_estimator_without_sample_weight_is_refused(rows):
    with pytest.raises(InputError, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        EstimatorLearner(KNeighborsClassifier(), *rows, (0, 1))
    with pytest.raises(InputError, match="must be a classifier"):
        EstimatorLearner(42, *rows, (0, 1))


def test_folds_spread_every_cell():
    rng = np.random.RandomState(0)
    positive, group = rng.rand(1000) < 0.3, rng.randint(3, size=1000)
    fold = stratified_folds(positive, group, 4, rng)
    for g in range(3):
        for label in (True, False):
            sizes = np.bincount(fold[(group == g) & (positive == label)], minlength=4)
            assert sizes.max() - sizes.min() <= 1
