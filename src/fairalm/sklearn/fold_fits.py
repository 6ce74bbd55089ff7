"""Fits of one classifier to all rows, and to those outside each fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from fairalm.arrays import FloatArray, IntArray
from fairalm.logistic import NewtonLogistic, is_newton_problem
from fairalm.sklearn.learner import check_takes_weights
from sklearn import config_context

EXACT = 1e-6  # of the gradient, at which folds are solved: a fold must not remember those before it
SAME = 0.005  # probabilities of two solutions of one problem differ by less


class FoldFits:
    """Fits a classifier to rows, or to those of them that lie outside a fold.

    Parameters
    ----------
    estimator : classifier or pipeline
        Fitted as a clone.
    X : array or data frame
        All rows.
    row : int array
        Which of them to learn from; a row of uncertain group stands here once for each.
    labels, weight : arrays as long as `row`
        Their labels, and their weights or None.
    fold : int array
        The fold of each row of X.
    """

    def __init__(
        self, estimator: Any, X: Any, row: IntArray, labels: Any, weight: FloatArray | None, fold: IntArray
    ) -> None:
        self.estimator, self.X, self.row, self.labels, self.weight = estimator, X, row, np.asarray(labels), weight
        self.fold, self._classes = fold, np.unique(self.labels)
        self._newton: NewtonLogistic | None = None

    def fit(self) -> Any:
        """The classifier, fitted to all rows."""
        return self._fitted(self.row, self.labels, self.weight)

    def out_of_fold(self, k: int) -> tuple[FloatArray, Any]:
        """The probabilities of the rows of a fold by a classifier fitted to the others, and its classes."""
        fold, kept = np.flatnonzero(self.fold == k), self.fold[self.row] != k
        row, labels, weight = self.row[kept], self.labels[kept], None if self.weight is None else self.weight[kept]
        if self._newton is not None and len(np.unique(labels)) == 2 and self._solve(self._newton, row, labels, weight):
            chance = expit(self._newton.margin[fold])
            return np.column_stack([1 - chance, chance]), self._classes
        model = self._fitted(row, labels, weight)
        return np.asarray(model.predict_proba(_safe_indexing(self.X, fold)), dtype=float), model.classes_

    @property
    def is_newton_problem(self) -> bool:
        """Whether Newton's method can solve it: a logistic regression of two classes, no row twice."""
        is_once = len(np.unique(self.row)) == len(self.row)
        return len(self._classes) == 2 and is_once and is_newton_problem(self.estimator, self.X)

    def use_newton(self, model: Any = None) -> bool:
        """Solve the folds by Newton's method, if that finds the model which was fitted to all rows, if one is given.

        A fold is then a weight of 0, no row is copied, and each fit starts where the last one ended. Scikit-learn's
        solvers may stop far from the minimum; then folds must do the same.
        """
        newton = NewtonLogistic(clone(self.estimator).set_params(tol=EXACT), self.X)
        if model is not None:
            if not self._solve(newton, self.row, self.labels, self.weight):
                return False
            if abs(expit(newton.margin[self.row]) - model.predict_proba(self.X)[self.row, 1]).max() > SAME:
                return False
        self._newton = newton
        return True

    def _solve(self, newton: NewtonLogistic, row: IntArray, labels: Any, weight: FloatArray | None) -> bool:
        """Find the minimum for these rows, if it can be found."""
        positive, used = np.zeros(len(self.fold), dtype=bool), np.zeros(len(self.fold))
        positive[row] = labels == self._classes[1]
        used[row] = 1.0 if weight is None else weight
        return newton.solve(positive, used) is not None

    def _fitted(self, row: IntArray, labels: Any, weight: FloatArray | None) -> Any:
        is_one = len(np.unique(labels)) == 1  # a cell of one row is in one fold only
        X = self.X if np.array_equal(row, np.arange(len(self.fold))) else _safe_indexing(self.X, row)
        return _fit(DummyClassifier() if is_one else self.estimator, X, labels, weight)


def _fit(estimator: Any, X: Any, labels: Any, weight: FloatArray | None) -> Any:
    model = clone(estimator)
    if weight is None:
        return model.fit(X, labels)
    if isinstance(model, Pipeline):
        check_takes_weights(model[-1])
        with config_context(enable_metadata_routing=False):  # so that the weights need not be requested
            return model.fit(X, labels, **{f"{model.steps[-1][0]}__sample_weight": weight})
    check_takes_weights(model)
    return model.fit(X, labels, sample_weight=weight)
