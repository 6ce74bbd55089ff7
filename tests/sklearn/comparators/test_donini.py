import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.svm import LinearSVC

from fairalm.sklearn.comparators import DoniniClassifier


def positive_means(X, y, s):
    return np.stack([X[(y == 1) & (s == group)].mean(axis=0) for group in np.unique(s)])


def plain_svm(X, y):
    return LinearSVC(loss="hinge", C=0.1, max_iter=20_000, random_state=0).fit(X, y)


def test_positives_of_both_groups_have_one_mean_score(compas):
    X, y, s = compas
    model = DoniniClassifier().fit(X, y, sensitive_features=s)
    assert model.coef_[0] @ model.direction_ == pytest.approx(0, abs=1e-12)
    first, second = model.decision_function(positive_means(X, y, s))
    assert first == pytest.approx(second, abs=1e-10)
    assert abs(np.subtract(*plain_svm(X, y).decision_function(positive_means(X, y, s)))) > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_is_the_constrained_svm(people, seed):
    """Hinge loss with a slack per row, and <w, u> = 0 as a constraint, by a general solver."""
    X, y, s = people(n=80, seed=seed)
    X, (n, p) = np.column_stack([X, X[:, 0] * X[:, 1]]), (80, 3)
    model = DoniniClassifier(C=1.0).fit(X, y, sensitive_features=s)
    u = np.subtract(*positive_means(X, y, s))
    kept = np.append(
        np.arange(p) != np.argmax(np.abs(u)), True
    )  # liblinear penalises the intercept; what is dropped not
    signed = (2 * y - 1)[:, None] * np.column_stack([X, np.ones(n)])
    exact = minimize(
        lambda v: 0.5 * (v[: p + 1][kept] ** 2).sum() + v[p + 1 :].sum(),
        np.concatenate([np.zeros(p + 1), np.ones(n)]),
        jac=lambda v: np.concatenate([np.where(kept, v[: p + 1], 0), np.ones(n)]),
        constraints=[
            LinearConstraint(np.hstack([signed, np.eye(n)]), 1, np.inf),
            LinearConstraint(np.concatenate([u, np.zeros(n + 1)])[None, :], 0, 0),
        ],
        bounds=[(None, None)] * (p + 1) + [(0, None)] * n,
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    )
    assert exact.success
    assert np.append(model.coef_, model.intercept_) == pytest.approx(exact.x[: p + 1], abs=5e-3)


def test_the_group_as_a_feature_moves_the_groups_onto_each_other(people):
    """The dropped coordinate is then the group itself, and each group is shifted by its positives' mean."""
    X, y, s = people()
    model = DoniniClassifier().fit(np.column_stack([X, 3.0 * s]), y, sensitive_features=s)
    by_hand = plain_svm(X - np.outer(s, np.diff(positive_means(X, y, s), axis=0)[0]), y)
    assert model.coef_[0, :2] == pytest.approx(by_hand.coef_[0], abs=1e-3)


def test_equal_means_leave_the_features_alone():
    X = np.tile([[1.0, 0.0], [-1.0, 0.5], [1.5, 0.0], [-0.5, -0.5]], (20, 1))
    y = np.tile([1, 0, 1, 0], 20)
    s = np.repeat([0, 1], 40)
    model = DoniniClassifier().fit(X, y, sensitive_features=s)
    assert model.coef_ == pytest.approx(plain_svm(X, y).coef_)
