"""One point of the frontier as a fitted classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fairalm.arrays import FloatArray
from fairalm.frontier.multiclass.rule import LabelRule
from fairalm.frontier.rule import Rule
from fairalm.sklearn.label_and_group import LabelAndGroupModel


class PlugInClassifier(ClassifierMixin, BaseEstimator):
    """Predicts by a small table of weights over P(label, group | x); made by ``FrontierClassifier.at``.

    Parameters
    ----------
    model : LabelAndGroupModel
        The fitted classifiers of label and group.
    rule : Rule or LabelRule
        The table of weights; the latter for more than two labels.
    classes : array
        The labels.

    Attributes
    ----------
    error_, gap_ : float
        Out of fold: share of wrong predictions, and largest difference between two groups.
    figures_ : dict
        The same with intervals, and the rates of every group.
    cost_, bound_, certificate_ : float
        Under the estimated probabilities: the mean cost of the mistakes, what no classifier within the limits can be
        below, and how far this one may be from the best.
    """

    def __init__(self, model: LabelAndGroupModel, rule: Rule | LabelRule, classes: Any) -> None:
        self.model = model
        self.rule = rule
        self.classes = classes

    @property
    def classes_(self) -> Any:
        """The labels."""
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        check_is_fitted(self.model.estimator)
        return True

    def fit(self, X: Any, y: Any, **fit_params: Any) -> PlugInClassifier:
        """Not for this classifier: fit a FrontierClassifier, and ask it for a point."""
        raise TypeError("A point of the frontier is not fitted by itself: fit a FrontierClassifier and call its at().")

    def decision_function(self, X: Any) -> FloatArray:
        """Positive where the second label is predicted; of more than two, a column for each, the largest for it."""
        if isinstance(self.rule, LabelRule):
            below = -self.rule.margins(self.model.joint(X))
            return below if len(self.classes) > 2 else below[:, 1] - below[:, 0]
        margins = self.rule.threshold - self.rule.margins(self.model.joint(X))
        return margins if self.classes[1] == self.model.target else -margins

    def predict(self, X: Any) -> Any:
        """Labels."""
        if isinstance(self.rule, LabelRule):
            return np.asarray(self.classes)[self.rule.predict(self.model.joint(X))]
        is_target = self.rule.predict(self.model.joint(X))
        second = is_target if self.classes[1] == self.model.target else ~is_target
        return np.asarray(self.classes)[second.astype(int)]
