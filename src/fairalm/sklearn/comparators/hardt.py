"""Hardt, Price and Srebro 2016: a threshold per group on the scores of a plain model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairalm._validation import FloatArray, Groups, encode_groups, group_name
from fairalm.exceptions import InputError
from fairalm.sklearn.comparators._base import BoolArray, RandomisedComparator
from fairalm.sklearn.comparators._fairlearn import import_fairlearn


class HardtClassifier(RandomisedComparator):
    """Group-wise thresholds that equalise the true positive rates, through fairlearn's `ThresholdOptimizer`.

    Equality of opportunity in supervised learning (NeurIPS 2016). The protected attribute is needed to predict. Where
    no threshold hits the common rate exactly, a group draws between two.

    Parameters
    ----------
    estimator : classifier, optional
        The plain model with `predict_proba` or `decision_function`; ``LogisticRegression(max_iter=1000)`` if left out.
    tol : float
        How far apart the groups' true positive rates may be on the training rows.
    random_state : int, RandomState or None
        Draws the predictions.

    Attributes
    ----------
    optimizer_ : fairlearn.postprocessing.ThresholdOptimizer
        The fitted thresholds.
    groups_, classes_ : tuple, array
        The groups and the labels.

    Examples
    --------
    >>> from fairalm.datasets import load_compas, preprocess
    >>> from fairalm.measures import deo
    >>> data = load_compas()
    >>> X = preprocess(data.X).fit_transform(data.X)
    >>> model = HardtClassifier(random_state=0).fit(X, data.y, sensitive_features=data.groups)
    >>> labels = model.predict(X, sensitive_features=data.groups)
    >>> bool(deo(data.y, labels, sensitive_features=data.groups, train=True).value < 0.02)
    True
    """

    needs_group_to_predict = True

    def __init__(self, estimator: Any = None, *, tol: float = 0.0, random_state: Any = None) -> None:
        self.estimator = estimator
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> HardtClassifier:
        """Fit the plain model, then the thresholds on the same rows.

        Parameters
        ----------
        X : array of shape (n, features)
            Numbers.
        y : array of shape (n,)
            Two labels.
        sensitive_features : array, Series, data frame or dict of columns
            The protected attribute, one value per row.
        """
        self._check_setting("tol", 0 <= self.tol < 1, "in [0, 1)")
        fairlearn = import_fairlearn()
        X, positive, groups = self._check_fit(X, y, sensitive_features)
        self._check_both_labels(positive, groups)
        self._set_seed()
        self.optimizer_ = fairlearn.postprocessing.ThresholdOptimizer(
            estimator=LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator,
            constraints="true_positive_rate_parity",
            tol=self.tol or None,
        )
        self.optimizer_.fit(X, positive.astype(int), sensitive_features=groups.codes)
        return self

    def _check_both_labels(self, positive: BoolArray, groups: Groups) -> None:
        for code, name in enumerate(groups.names):
            if positive[groups.codes == code].all():
                raise InputError(
                    f"Group {name!r} has no rows with y={self.classes_[0]}, so no threshold can be set for it:"
                    " drop the group or merge it with another."
                )

    def predict(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """Labels, drawn where a group has two thresholds; the protected attribute must be given."""
        return self._draw(self.expected_predict(X, sensitive_features=sensitive_features))

    def expected_predict(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """The chance that each row is given the larger label: what `predict` draws from."""
        X = self._check_X(X)
        codes = self._codes(sensitive_features, len(X))
        return np.asarray(self.optimizer_._pmf_predict(X, sensitive_features=codes))[:, 1]

    def _codes(self, sensitive_features: Any, n_rows: int) -> Any:
        if sensitive_features is None:
            raise InputError(
                "HardtClassifier needs the protected attribute to predict: pass predict(X, sensitive_features=...)."
            )
        groups = encode_groups(sensitive_features, n_rows=n_rows, min_groups=1)
        unknown = [label for label in groups.labels if label not in self.groups_]
        if unknown:
            known = ", ".join(repr(group_name(label)) for label in self.groups_)
            raise InputError(
                f"Group {group_name(unknown[0])!r} was not there in fit, which saw {known}: it has no threshold."
            )
        return np.array([self.groups_.index(label) for label in groups.labels])[groups.codes]
