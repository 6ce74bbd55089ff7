"""Zafar, Valera, Gomez Rodriguez and Gummadi 2017: logistic regression without disparate mistreatment."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairalm._validation import FloatArray, IntArray
from fairalm.exceptions import ToleranceWarning
from fairalm.sklearn.comparators._base import BoolArray, LinearComparator
from fairalm.sklearn.comparators._convex_concave import Covariance, LogLoss, import_clarabel, solve

AMONG = ("everyone", "positives")


class ZafarClassifier(LinearComparator):
    """Logistic regression under a bound on the covariance of group and false-negative distance.

    Fairness beyond disparate treatment & disparate impact (WWW 2017). With z the group as 0 and 1, d(x) = <w, x> + b:

        min log loss(w, b)  such that  |1/N sum of (z_i - mean of z) min(0, d(x_i)) over y_i = 1|  <=  c

    by the convex-concave procedure. Two groups only.

    Parameters
    ----------
    share : float
        c as a share of the plain model's covariance: 0 allows none, 1 is the plain model.
    among : {"everyone", "positives"}
        Whose mean of z, and whose number N. "everyone" as published: the covariance then vanishes where the distances
        *per member* of the groups agree, which is not equal opportunity if one group has more positives. "positives"
        conditions on y = 1 and compares distances *per positive*.
    C : float
        Inverse strength of the l2 penalty, as in scikit-learn; the authors have none.
    max_iter : int
        Rounds of the procedure at most.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1, features) and (1,)
        The model.
    covariance_, plain_covariance_ : float
        Of this model and of the plain one, on the training rows.
    n_iter_ : int
        Rounds, the plain fit being the first.
    groups_, classes_ : tuple, array
        The groups and the labels.

    Examples
    --------
    >>> from fairalm.datasets import load_compas, preprocess
    >>> data = load_compas()
    >>> X = preprocess(data.X).fit_transform(data.X)
    >>> model = ZafarClassifier(share=0.1, among="positives").fit(X, data.y, sensitive_features=data.groups)
    >>> bool(abs(model.covariance_) <= 0.101 * abs(model.plain_covariance_))
    True
    """

    def __init__(
        self,
        *,
        share: float = 0.0,
        among: Literal["everyone", "positives"] = "everyone",
        C: float = 1.0,
        max_iter: int = 100,
    ) -> None:
        self.share = share
        self.among = among
        self.C = C
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> ZafarClassifier:
        """Train.

        Parameters
        ----------
        X : array of shape (n, features)
            Numbers.
        y : array of shape (n,)
            Two labels.
        sensitive_features : array, Series, data frame or dict of columns
            The protected attribute, one value per row; two groups.
        """
        self._check_setting("share", self.share >= 0, "at least 0")
        self._check_setting("among", self.among in AMONG, f"one of {', '.join(AMONG)}")
        self._check_setting("C", 0 < self.C < np.inf, "positive")
        self._check_setting("max_iter", self.max_iter >= 1, "at least 1")
        import_clarabel()  # say that it is missing before any work
        X, positive, groups = self._check_fit(X, y, sensitive_features, two_groups=True)
        plain = LogisticRegression(C=self.C, solver="newton-cholesky", tol=1e-8).fit(X, positive)
        theta = np.append(plain.coef_[0], plain.intercept_)
        rows = np.column_stack([X, np.ones(len(X))])
        covariance = self._covariance(rows, positive, groups.codes)
        self.plain_covariance_ = covariance(theta)
        bound, rounds = self.share * abs(self.plain_covariance_), 0
        if abs(self.plain_covariance_) > bound:
            loss = LogLoss(rows, positive, penalty=1 / self.C)
            theta, rounds, met = solve(loss, covariance, theta, bound=bound, max_iter=self.max_iter)
            if not met:
                warnings.warn(
                    f"The covariance is {abs(covariance(theta)):.2g} after {rounds} rounds, above the bound"
                    f" {bound:.2g}: raise max_iter or share.",
                    ToleranceWarning,
                    stacklevel=2,
                )
        self.n_iter_ = 1 + rounds
        self.coef_, self.intercept_ = theta[None, :-1], theta[-1:]
        self.covariance_ = covariance(theta)
        return self

    def _covariance(self, rows: FloatArray, positive: BoolArray, group: IntArray) -> Covariance:
        counted = group if self.among == "everyone" else group[positive]
        return Covariance(rows[positive], (group[positive] - counted.mean()) / len(counted))
