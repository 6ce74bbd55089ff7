"""Agarwal, Beygelzimer, Dudík, Langford and Wallach 2018: a reduction to weighted classification."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairalm._validation import FloatArray
from fairalm.sklearn.comparators._base import RandomisedComparator
from fairalm.sklearn.comparators._fairlearn import import_fairlearn
from fairalm.sklearn.learner import check_takes_weights


class AgarwalClassifier(RandomisedComparator):
    """A random mixture of models with near-equal true positive rates, through fairlearn's `ExponentiatedGradient`.

    A reductions approach to fair classification (ICML 2018).

    Parameters
    ----------
    estimator : classifier, optional
        Its ``fit`` must take `sample_weight`; ``LogisticRegression(solver="newton-cholesky")`` if left out, the fastest
        on tables with many more rows than columns.
    tol : float
        Bound on each group's difference from the rate of all, on the training rows.
    max_iter : int
        Rounds at most.
    random_state : int, RandomState or None
        Draws the predictions.

    Attributes
    ----------
    reduction_ : fairlearn.reductions.ExponentiatedGradient
        The fitted mixture.
    n_oracle_calls_ : int
        Fits of the estimator.
    groups_, classes_ : tuple, array
        The groups and the labels.

    Examples
    --------
    >>> from fairalm.datasets import load_compas, preprocess
    >>> data = load_compas()
    >>> X = preprocess(data.X).fit_transform(data.X)
    >>> model = AgarwalClassifier(tol=0.02, random_state=0).fit(X, data.y, sensitive_features=data.groups)
    >>> chance = model.expected_predict(X)
    >>> black = (data.groups == "African-American").to_numpy()
    >>> rates = [chance[(data.y == 1) & who].mean() for who in (black, ~black)]
    >>> bool(abs(rates[0] - rates[1]) < 0.05)
    True
    """

    def __init__(
        self, estimator: Any = None, *, tol: float = 0.01, max_iter: int = 50, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> AgarwalClassifier:
        """Train.

        Parameters
        ----------
        X : array of shape (n, features)
            Numbers.
        y : array of shape (n,)
            Two labels.
        sensitive_features : array, Series, data frame or dict of columns
            The protected attribute, one value per row.
        """
        self._check_setting("tol", 0 < self.tol < 1, "in (0, 1)")
        self._check_setting("max_iter", self.max_iter >= 1, "at least 1")
        estimator = LogisticRegression(solver="newton-cholesky") if self.estimator is None else self.estimator
        check_takes_weights(estimator)
        fairlearn = import_fairlearn()
        X, positive, groups = self._check_fit(X, y, sensitive_features)
        self._set_seed()
        parity = fairlearn.reductions.TruePositiveRateParity(difference_bound=self.tol)
        self.reduction_ = fairlearn.reductions.ExponentiatedGradient(estimator, parity, max_iter=self.max_iter)
        with warnings.catch_warnings():  # what pandas 3 says of fairlearn's own code
            warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"fairlearn\.")
            self.reduction_.fit(X, positive.astype(int), sensitive_features=groups.codes)
        self.n_oracle_calls_ = int(self.reduction_.n_oracle_calls_)
        return self

    def predict(self, X: Any) -> Any:
        """Labels, drawn for each row from the models of the mixture."""
        return self._draw(self.expected_predict(X))

    def expected_predict(self, X: Any) -> FloatArray:
        """The chance that each row is given the larger label: what `predict` draws from."""
        X = self._check_X(X)
        return np.asarray(self.reduction_._pmf_predict(X))[:, 1]
