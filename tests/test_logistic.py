import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from fairalm.logistic import NewtonLogistic, is_newton_problem
from fairalm.sklearn.learner import EstimatorLearner


def make_rows(n, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k)) * np.linspace(0.1, 3, k)
    return X, X @ rng.normal(size=k) + rng.logistic(size=n) > 0.5, rng.exponential(size=n) * (rng.random(n) > 0.1)


@pytest.mark.parametrize("n", [300, 6000], ids=["all rows", "a part of the rows"])
@pytest.mark.parametrize("settings", [{}, {"C": 0.01}, {"C": np.inf}, {"fit_intercept": False}], ids=str)
def test_it_finds_the_minimum_of_scikit_learn(n, settings):
    X, positive, weight = make_rows(n, 6)
    exact = LogisticRegression(tol=1e-10, max_iter=1000, **settings)
    ours = NewtonLogistic(exact, X)
    for share in (np.ones(n), weight, weight[::-1].copy()):
        model = ours.fit(positive, share, (False, True))
        expected = exact.fit(X, positive, sample_weight=share)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
        np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-5)
        np.testing.assert_allclose(ours.margin, model.decision_function(X), atol=1e-9)
        assert model.get_params() == exact.get_params()


def test_the_target_can_be_the_first_class():
    X, positive, _ = make_rows(300, 3)
    labels = np.where(positive, "a", "b")
    model = NewtonLogistic(LogisticRegression(tol=1e-10), X).fit(positive, np.ones(300), ("b", "a"))
    expected = LogisticRegression(tol=1e-10).fit(X, labels)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    assert model.classes_.tolist() == ["a", "b"]


def test_a_column_that_a_part_of_the_rows_may_lack():
    X, positive, _ = make_rows(20_000, 3)
    rare = np.zeros((20_000, 1))
    rare[:20] = 1.0
    X = np.hstack([X, rare])
    model = NewtonLogistic(LogisticRegression(tol=1e-8), X).fit(positive, np.ones(20_000), (0, 1))
    expected = LogisticRegression(tol=1e-8, solver="newton-cholesky").fit(X, positive)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "columns"), [({"max_iter": 2}, [0]), ({"C": np.inf}, [0, 0])], ids=["too few steps", "the same twice"]
)
def test_what_it_cannot_solve_is_left_to_scikit_learn(settings, columns):
    X, positive, _ = make_rows(200, 3)
    estimator = LogisticRegression(tol=1e-12, **settings)
    assert NewtonLogistic(estimator, X[:, columns]).fit(positive, np.ones(200), (0, 1)) is None
    learner = EstimatorLearner(estimator, X[:, columns], positive, (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, expected = learner.fit(np.ones(200)), estimator.fit(X[:, columns], positive)
    assert learner.newton is None
    np.testing.assert_allclose(model.coef_, expected.coef_)


def test_names_of_columns_are_kept():
    X, positive, _ = make_rows(100, 2)
    model = NewtonLogistic(LogisticRegression(), pd.DataFrame(X, columns=["a", "b"])).fit(
        positive, np.ones(100), (0, 1)
    )
    assert model.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (LogisticRegression(solver="liblinear"), np.zeros((50, 2))),
        (LogisticRegression(solver="saga", l1_ratio=1), np.zeros((50, 2))),
        (LogisticRegression(class_weight="balanced"), np.zeros((50, 2))),
        (LogisticRegression(), csr_array(np.zeros((50, 2)))),
        (LogisticRegression(), np.zeros((50, 2), dtype=np.float32)),
        (LogisticRegression(), np.zeros((50, 40))),
        (LogisticRegression(), pd.DataFrame({"a": ["x"] * 50})),
    ],
    ids=["liblinear", "l1", "class weights", "sparse", "float32", "wide", "text"],
)
def test_what_it_leaves_to_scikit_learn(estimator, X):
    assert not is_newton_problem(estimator, X)
