"""Donini, Oneto, Ben-David, Shawe-Taylor and Pontil 2018: linear FERM."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from fairalm._validation import FloatArray
from fairalm.exceptions import InputError
from fairalm.sklearn.comparators._base import LinearComparator


class DoniniClassifier(LinearComparator):
    """A linear support vector machine orthogonal to the difference of the two groups' positive means.

    Empirical risk minimization under fairness constraints (NeurIPS 2018), the linear case. With u the mean of x over
    y = 1 in the first group minus that in the second, the constraint <w, u> = 0 is a change of the features: the
    coordinate i with the largest |u_i| is dropped, and x_j becomes x_j - x_i u_j / u_i. Two groups only.

    Parameters
    ----------
    C : float
        Inverse strength of the l2 penalty on the changed features, as in scikit-learn.
    max_iter : int
        Passes of the solver at most.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1, features) and (1,)
        The model in the features as given; ``coef_ @ direction_`` is 0.
    direction_ : array of shape (features,)
        u.
    n_iter_ : int
        Passes.
    groups_, classes_ : tuple, array
        The groups and the labels.

    Examples
    --------
    >>> from fairalm.datasets import load_compas, preprocess
    >>> data = load_compas()
    >>> X = preprocess(data.X).fit_transform(data.X)
    >>> model = DoniniClassifier().fit(X, data.y, sensitive_features=data.groups)
    >>> abs(float(model.coef_[0] @ model.direction_)) < 1e-12
    True
    """

    def __init__(self, *, C: float = 0.1, max_iter: int = 20_000) -> None:
        self.C = C
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> DoniniClassifier:
        """Train.

        Parameters
        ----------
        X : array of shape (n, features)
            Numbers, at least two columns.
        y : array of shape (n,)
            Two labels.
        sensitive_features : array, Series, data frame or dict of columns
            The protected attribute, one value per row; two groups.
        """
        self._check_setting("C", 0 < self.C < np.inf, "positive")
        self._check_setting("max_iter", self.max_iter >= 1, "at least 1")
        X, positive, groups = self._check_fit(X, y, sensitive_features, two_groups=True)
        first, second = (X[positive & (groups.codes == code)].mean(axis=0) for code in (0, 1))
        self.direction_ = first - second
        projection = self._projection()
        # the seed orders the solver's steps and does not matter to where they end
        machine = LinearSVC(loss="hinge", C=self.C, max_iter=self.max_iter, random_state=0).fit(
            X @ projection, positive
        )
        self.coef_ = (projection @ machine.coef_[0])[None, :]
        self.intercept_, self.n_iter_ = machine.intercept_, int(machine.n_iter_)
        return self

    def _projection(self) -> FloatArray:
        """The matrix P of the change x -> P'x, with P'u = 0; a model w there is the model P w of the features given."""
        u = self.direction_
        i = int(np.argmax(np.abs(u)))
        matrix = np.eye(len(u))
        if u[i] == 0:  # the means agree already
            return matrix
        if len(u) == 1:
            raise InputError("X has 1 feature(s), and the projection drops one: pass at least two.")
        matrix[i] = -u / u[i]
        return np.delete(matrix, i, axis=1)
