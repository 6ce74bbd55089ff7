"""Logistic regression on the same rows under changing weights, by Newton's method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data

from fairalm.arrays import BoolArray, FloatArray

MOST_COEFFICIENTS = 500  # with more, a step costs more than it saves
ROWS_PER_COEFFICIENT = 200  # the curvature of so many random rows is close to that of all
BLOCK = 1024  # rows whose curvature is added up at a time: no copy of X, and they stay in the cache
FAST = 0.1  # a step that leaves more of the gradient than this asks for the curvature of where it led
SLOW = 0.5  # a step that leaves more than this, by the curvature of where it began, asks for that of all rows
COLLINEAR = 1e-6  # share of a column's size that the other columns must leave unexplained
SHORTENED = 20  # times a step is shortened, at most


def is_newton_problem(estimator: Any, X: Any) -> bool:
    """Whether this is logistic regression with a squared penalty or none, of few coefficients on a table of floats.

    >>> is_newton_problem(LogisticRegression(), np.zeros((50, 2))), is_newton_problem(LogisticRegression(), [[1.0]])
    (True, False)
    """
    if type(estimator) is not LogisticRegression or estimator.solver not in ("lbfgs", "newton-cholesky", "newton-cg"):
        return False
    is_ridge = estimator.penalty in ("l2", None, "deprecated") and not estimator.l1_ratio
    if not is_ridge or estimator.class_weight is not None or not isinstance(X, (np.ndarray, pd.DataFrame)):
        return False
    types = set(X.dtypes) if isinstance(X, pd.DataFrame) else {X.dtype}
    return types == {np.dtype(float)} and X.ndim == 2 and X.shape[1] < min(MOST_COEFFICIENTS, len(X) / 2)


class NewtonLogistic:
    """The minimum that ``LogisticRegression`` looks for, found in fewer passes over the rows.

    Each fit starts where the last one ended. The curvature comes from a random part of the rows, and from all of them
    if that is not good enough; it is used again while the gradient falls fast. Scikit-learn's solvers know neither
    short cut: on 100,000 rows of 20 columns, a fit to new weights takes a quarter of lbfgs's time with a warm start.

    Parameters
    ----------
    estimator : LogisticRegression
        See :func:`is_newton_problem`.
    X : array or data frame of shape (n, features)
        The rows, all of them numbers.

    Attributes
    ----------
    margin : array of shape (n,)
        Log-odds of the model that was fitted last.
    """

    def __init__(self, estimator: LogisticRegression, X: Any) -> None:
        self.template = clone(estimator)
        self.x: FloatArray = validate_data(self.template, X, dtype=float, order="C")
        self.ridge = 0.0 if estimator.penalty is None else 1 / estimator.C
        n, k = self.x.shape
        self.coefficients = np.zeros(k + 1)
        self.margin = np.zeros(n)
        size = ROWS_PER_COEFFICIENT * (k + 1)
        self._part = np.random.RandomState(0).choice(n, size) if 2 * size < n else None

    def fit(self, positive: BoolArray, weight: FloatArray, classes: Any) -> LogisticRegression | None:
        """The model for these labels and weights; None if it does not converge within `max_iter` steps."""
        n_iter = self.solve(positive, weight)
        return None if n_iter is None else self._model(n_iter, classes)

    def solve(self, positive: BoolArray, weight: FloatArray) -> int | None:
        """Find the coefficients and margins only; returns the number of steps, or None."""
        self._positive, self._weight, total = positive, weight, weight.sum()
        ridge = np.full(len(self.coefficients), self.ridge)
        ridge[-1] = 0.0  # the intercept is not penalised
        part, before, factor, is_fresh = self._part, np.inf, None, False
        residual = self._residual(self.margin.copy())
        for n_iter in range(self.template.max_iter + 1):
            gradient = self._sum(residual) + ridge * self.coefficients
            size = abs(gradient).max() / total
            if size <= self.template.tol:
                return n_iter
            if is_fresh and size > SLOW * before:
                part = None
            is_fresh = factor is None or size > FAST * before
            if is_fresh:
                factor = self._factor(ridge, part)
            if factor is None:
                break
            residual = self._move(-cho_solve(factor, gradient), gradient, ridge, residual)
            before = size
        self.coefficients[:], self.margin[:] = 0.0, 0.0
        return None

    def _residual(self, margin: FloatArray) -> FloatArray:
        """Weight times (probability less label); overwrites the margins."""
        expit(margin, out=margin)
        margin -= self._positive
        margin *= self._weight
        return margin

    def _sum(self, values: FloatArray) -> FloatArray:
        """Sum of the rows times these values, and of the values."""
        return np.append(values @ self.x, values.sum() if self.template.fit_intercept else 0.0)

    def _factor(self, ridge: FloatArray, part: Any) -> Any:
        """The second derivative, factorised; None if that is impossible."""
        n, k = self.x.shape
        n_used, scale = (n, 1.0) if part is None else (len(part), n / len(part))
        total, rows = np.zeros((k + 1, k + 1), order="F"), np.zeros((BLOCK, k + 1))
        for start in range(0, n_used, BLOCK):
            own = slice(start, start + BLOCK) if part is None else part[start : start + BLOCK]
            chance = expit(self.margin[own])
            root = np.sqrt(scale * self._weight[own] * chance * (1 - chance))[:, None]
            block = rows[: len(root)]
            np.multiply(self.x[own], root, out=block[:, :-1])
            if self.template.fit_intercept:
                block[:, -1:] = root
            total = dsyrk(1.0, block.T, beta=1.0, c=total, overwrite_c=1)
        total[np.diag_indices(k + 1)] += ridge
        if not self.template.fit_intercept:
            total[-1, -1] = 1.0
        size = np.sqrt(np.diag(total))
        try:
            factor = cho_factor(total, overwrite_a=True)
        except LinAlgError:
            return None
        return factor if (np.diag(factor[0]) > COLLINEAR * size).all() else None

    def _move(self, step: FloatArray, gradient: FloatArray, ridge: FloatArray, residual: FloatArray) -> FloatArray:
        """Go along the step until the slope is at most half of what it was; returns the new residuals."""
        along: FloatArray = self.x @ step[:-1]
        along += step[-1]
        length, slope = 1.0, float(gradient @ step)
        for _ in range(SHORTENED):
            np.multiply(along, length, out=residual)
            residual += self.margin
            self._residual(residual)
            here = float(residual @ along + (ridge * (self.coefficients + length * step)) @ step)
            if here <= -0.5 * slope:
                break
            length *= slope / (slope - here)
        self.coefficients += length * step
        along *= length
        self.margin += along
        return residual

    def _model(self, n_iter: int, classes: Any) -> LogisticRegression:
        """The coefficients as scikit-learn's own model."""
        model = clone(self.template)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.template, name):
                setattr(model, name, getattr(self.template, name))
        order = np.argsort(classes)
        sign = 1.0 if order[1] == 1 else -1.0
        model.classes_ = np.asarray(classes)[order]
        model.coef_ = sign * self.coefficients[None, :-1]
        model.intercept_ = sign * self.coefficients[-1:]
        model.n_iter_ = np.array([n_iter], dtype=np.int32)
        return model
