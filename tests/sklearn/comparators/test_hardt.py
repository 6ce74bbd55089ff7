import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC

from fairalm import InputError
from fairalm.sklearn.comparators import HardtClassifier


class Score(ClassifierMixin, BaseEstimator):
    """The first column is the score."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def rates(model, X, y, s):
    chosen = model.expected_predict(X, sensitive_features=s)
    return np.array([chosen[(y == 1) & (s == group)].mean() for group in np.unique(s)])


def test_thresholds_of_two_groups_told_apart_by_different_scores():
    """Group 0 is separated at 0.5, group 1 at 0.25: with these two thresholds nobody is wrong, with one many are."""
    score = np.concatenate([np.linspace(0, 1, 200), np.linspace(0, 0.5, 200)])
    s = np.repeat([0, 1], 200)
    y = (score > np.where(s == 0, 0.5, 0.25)).astype(int)
    X = score[:, None]
    model = HardtClassifier(Score(), random_state=0).fit(X, y, sensitive_features=s)
    assert (model.predict(X, sensitive_features=s) == y).all()
    assert model.predict([[0.4], [0.4]], sensitive_features=[0, 1]).tolist() == [0, 1]


@pytest.mark.parametrize("estimator", [None, LinearSVC()])
def test_rates_agree_in_training(compas, estimator):
    X, y, s = compas
    model = HardtClassifier(estimator).fit(X, y, sensitive_features=s)
    assert np.ptp(rates(model, X, y, s)) < 1e-9


def test_tol_allows_a_difference(compas):
    X, y, s = compas
    strict = HardtClassifier().fit(X, y, sensitive_features=s)
    loose = HardtClassifier(tol=0.1).fit(X, y, sensitive_features=s)
    assert 0.05 < np.ptp(rates(loose, X, y, s)) <= 0.1 + 1e-9

    def error(model):
        return np.abs(model.expected_predict(X, sensitive_features=s) - y).mean()

    assert error(loose) < error(strict)


def test_more_than_two_groups(people):
    X, y, s = people(n=1500, n_groups=4)
    model = HardtClassifier().fit(X, y, sensitive_features=s)
    assert np.ptp(rates(model, X, y, s)) < 1e-9


def test_the_group_must_come_and_be_known(people):
    X, y, s = people()
    model = HardtClassifier().fit(X, y, sensitive_features=np.array(["F", "M"])[s])
    with pytest.raises(InputError, match="`sensitive_features` is missing"):
        model.predict(X)
    with pytest.raises(InputError, match="'X' has no threshold: fit saw only 'F', 'M'"):
        model.predict(X[:2], sensitive_features=["F", "X"])
    with pytest.raises(InputError, match="has 3 rows, the data has 2"):
        model.predict(X[:2], sensitive_features=["F", "F", "M"])
    assert len(model.predict(X[:2], sensitive_features=["M", "M"])) == 2


def test_a_group_with_one_label_only_is_named(people):
    X, y, s = people()
    with pytest.raises(InputError, match="Group '1' has no rows with y=0"):
        HardtClassifier().fit(X, np.where(s == 1, 1, y), sensitive_features=s)
