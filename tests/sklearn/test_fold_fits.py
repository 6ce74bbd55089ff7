import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairalm.sklearn.fold_fits import FoldFits


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    labels = np.where(X @ [1.0, -2.0, 0.5] + rng.logistic(size=n) > 0.3, "yes", "no")
    return X, labels, rng.exponential(size=n), rng.integers(4, size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("part", [slice(None), slice(0, 250)], ids=["all rows", "some rows"])
def test_folds_by_newton_are_those_of_scikit_learn(part, weighted):
    X, labels, weight, fold = rows()
    row = np.arange(len(fold))[part]
    own = weight[row] if weighted else None
    fits = FoldFits(LogisticRegression(tol=1e-9), X, row, labels[row], own, fold)
    assert fits.is_newton_problem
    assert fits.use_newton(fits.fit())
    for k in range(4):
        kept = row[fold[row] != k]
        expected = LogisticRegression(tol=1e-9).fit(X[kept], labels[kept], weight[kept] if weighted else None)
        chances, classes = fits.out_of_fold(k)
        np.testing.assert_array_equal(classes, expected.classes_)
        np.testing.assert_allclose(chances, expected.predict_proba(X[fold == k]), atol=1e-5)


def test_folds_stop_early_where_the_fit_to_all_rows_does():
    X, labels, _, fold = rows()
    fits = FoldFits(LogisticRegression(tol=0.5), X, np.arange(len(fold)), labels, None, fold)  # far from the minimum
    assert not fits.use_newton(fits.fit())
    expected = LogisticRegression(tol=0.5).fit(X[fold != 1], labels[fold != 1])
    np.testing.assert_array_equal(fits.out_of_fold(1)[0], expected.predict_proba(X[fold == 1]))


@pytest.mark.parametrize("case", ["a tree", "three classes", "a row twice"])
def test_what_newton_is_not_for(case):
    X, labels, _, fold = rows()
    row, estimator = np.arange(len(fold)), LogisticRegression()
    if case == "a tree":
        estimator = DecisionTreeClassifier()
    elif case == "three classes":
        labels = np.where(X[:, 0] > 1, "perhaps", labels)
    else:
        row = np.append(row, 0)
        labels = np.append(labels, labels[0])
    assert not FoldFits(estimator, X, row, labels, None, fold).is_newton_problem


def test_a_fold_without_which_one_class_is_left():
    X, _, _, fold = rows()
    labels = np.zeros(len(fold), dtype=int)
    labels[np.flatnonzero(fold == 2)[0]] = 1
    fits = FoldFits(LogisticRegression(), X, np.arange(len(fold)), labels, None, fold)
    fits.use_newton()
    chances, classes = fits.out_of_fold(2)
    assert classes.tolist() == [0]
    assert (chances == 1).all()
