"""A fitted classifier with its threshold moved."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fairalm.arrays import FloatArray

SMALLEST = 1e-12  # a probability closer to 0 or 1 is taken for this one, so that its log-odds are finite


def margin_of(model: Any, X: Any, target: Any) -> FloatArray | None:
    """Decision values, else log-odds, of the target, above 0 where `predict` gives it; None without scores."""
    sign = 1.0 if model.classes_[-1] == target else -1.0
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=float)
        if values.ndim != 1:
            return None
    elif hasattr(model, "predict_proba") and len(model.classes_) == 2:
        values = logit(np.clip(np.asarray(model.predict_proba(X)[:, 1], dtype=float), SMALLEST, 1 - SMALLEST))
    else:
        return None
    # at even odds scikit-learn predicts the first class
    return sign * values if sign > 0 else np.where(values == 0, np.finfo(float).tiny, -values)


def _has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.estimator, name))


class ShiftedClassifier(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose decision values or log-odds are lowered by `shift`.

    Labels and probabilities go together: the second class is predicted where its probability is above one half.

    Parameters
    ----------
    estimator : fitted classifier
        With two classes, and `decision_function` or `predict_proba`.
    shift : float
        What is taken off.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(max_depth=1).fit([[0], [0], [0], [1], [1]], [0, 0, 1, 1, 1])
    >>> ShiftedClassifier(tree, -1.0).predict([[0], [1]])
    array([1, 1])
    """

    def __init__(self, estimator: Any, shift: float = 0.0) -> None:
        self.estimator = estimator
        self.shift = shift

    @property
    def classes_(self) -> Any:
        """The labels."""
        return self.estimator.classes_

    def __sklearn_is_fitted__(self) -> bool:
        check_is_fitted(self.estimator)
        return True

    def fit(self, X: Any, y: Any, **fit_params: Any) -> ShiftedClassifier:
        """Fit the estimator again; the shift stays."""
        self.estimator.fit(X, y, **fit_params)
        return self

    def predict(self, X: Any) -> Any:
        """Labels."""
        margin = margin_of(self.estimator, X, self.classes_[1])
        assert margin is not None, "only models with margins are shifted"
        return self.classes_[np.asarray(margin > self.shift).astype(int)]

    @_has("decision_function")
    def decision_function(self, X: Any) -> FloatArray:
        """Decision values less the shift."""
        return np.asarray(self.estimator.decision_function(X) - self.shift)

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities whose log-odds are the estimator's less the shift."""
        given = np.clip(np.asarray(self.estimator.predict_proba(X)[:, 1], dtype=float), SMALLEST, 1 - SMALLEST)
        second = expit(logit(given) - self.shift)
        return np.column_stack([1 - second, second])
