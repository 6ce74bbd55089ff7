"""The two linear comparators: Donini's support vector machine and Zafar's logistic regression."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from fairalm._validation import Groups
from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError, ToleranceWarning
from fairalm.sklearn.comparators._base import BoolArray, Comparator
from fairalm.sklearn.comparators.convex_concave import Covariance, LogLoss, solve

Among = Literal["everyone", "positives"]


class LinearComparator(Comparator):
    """A comparator for two groups with `coef_` and `intercept_`."""

    only_two_groups = True
    requirements: ClassVar = {"C": (lambda C: 0 < C < np.inf, "positive"), "max_iter": (lambda n: n >= 1, "at least 1")}
    coef_: FloatArray
    intercept_: FloatArray

    def decision_function(self, X: Any) -> FloatArray:
        """Signed distances, up to scale: positive for the larger label."""
        return np.asarray(self._check_X(X) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> Any:
        """Labels."""
        chosen = self.decision_function(X) > 0
        return self.classes_[chosen.astype(int)]


class DoniniClassifier(LinearComparator):
    """A linear support vector machine orthogonal to the difference of the two groups' positive means.

    Donini, Oneto, Ben-David, Shawe-Taylor and Pontil: Empirical risk minimization under fairness constraints (NeurIPS
    2018), the linear case. With u the mean of x over y = 1 in the first group minus that in the second, the constraint
    <w, u> = 0 is a change of the features: the coordinate i with the largest |u_i| is dropped, and x_j becomes
    x_j - x_i u_j / u_i. Two groups only.

    Parameters
    ----------
    C : float
        Inverse strength of the l2 penalty on the changed features, as in scikit-learn.
    max_iter : int
        Passes of the solver at most.

    Attributes
    ----------
    coef_, intercept_, n_iter_ : arrays of shape (1, features) and (1,), int
        As in scikit-learn, on the features as given; ``coef_ @ direction_`` is 0.
    direction_ : array of shape (features,)
        u.
    """

    def __init__(self, *, C: float = 0.1, max_iter: int = 20_000) -> None:
        self.C, self.max_iter = C, max_iter

    def _fit(self, X: FloatArray, positive: BoolArray, groups: Groups) -> None:
        first, second = (X[positive & (groups.codes == code)].mean(axis=0) for code in (0, 1))
        self.direction_ = first - second
        projection = self._projection()
        # the seed changes the order of the solver's steps, not where they end
        machine = LinearSVC(loss="hinge", C=self.C, max_iter=self.max_iter, random_state=0)
        machine.fit(X @ projection, positive)
        self.coef_ = (projection @ machine.coef_[0])[None, :]
        self.intercept_, self.n_iter_ = machine.intercept_, int(machine.n_iter_)

    def _projection(self) -> FloatArray:
        """The matrix P of the change x -> P'x, with P'u = 0; weights w on P'x are the weights P w on x."""
        u, matrix = self.direction_, np.eye(len(self.direction_))
        i = int(np.argmax(np.abs(u)))
        if u[i] == 0:  # the means agree already
            return matrix
        if len(u) == 1:
            raise InputError("X has 1 feature(s), and the projection drops one: pass at least two.")
        matrix[i] = -u / u[i]
        return np.delete(matrix, i, axis=1)


class ZafarClassifier(LinearComparator):
    """Logistic regression under a bound on the covariance of group and false-negative distance.

    Zafar, Valera, Gomez Rodriguez and Gummadi: Fairness beyond disparate treatment & disparate impact (WWW 2017). With
    z the group as 0 and 1, and d(x) = <w, x> + b:

        min log loss(w, b)  such that  |1/N sum of (z_i - mean of z) min(0, d(x_i)) over y_i = 1|  <=  c

    by the convex-concave procedure. Two groups only.

    Parameters
    ----------
    share : float
        c as a share of the plain model's covariance: 0 allows none, 1 is the plain model.
    among : {"everyone", "positives"}
        The rows over which the mean of z is taken and N counts. "everyone", as published: the covariance vanishes where
        the distances *per member* of the groups agree, which is not equal opportunity if one group has more positives.
        "positives" conditions on y = 1 and compares distances *per positive*.
    C : float
        Inverse strength of the l2 penalty, as in scikit-learn; the authors have none.
    max_iter : int
        Rounds of the procedure at most.

    Attributes
    ----------
    coef_, intercept_, n_iter_ : arrays of shape (1, features) and (1,), int
        As in scikit-learn; the plain fit is the first round.
    covariance_, plain_covariance_ : float
        Of this model and of the plain one, on the training rows.
    """

    package = "clarabel"
    requirements: ClassVar = {
        **LinearComparator.requirements,
        "share": (lambda share: share >= 0, "at least 0"),
        "among": (lambda among: among in get_args(Among), f"one of {', '.join(get_args(Among))}"),
    }

    def __init__(self, *, share: float = 0.0, among: Among = "everyone", C: float = 1.0, max_iter: int = 100) -> None:
        self.share, self.among, self.C, self.max_iter = share, among, C, max_iter

    def _fit(self, X: FloatArray, positive: BoolArray, groups: Groups) -> None:
        plain = LogisticRegression(C=self.C, solver="newton-cholesky", tol=1e-8).fit(X, positive)
        theta = np.append(plain.coef_[0], plain.intercept_)
        rows, group = np.column_stack([X, np.ones(len(X))]), groups.codes
        counted = group if self.among == "everyone" else group[positive]
        covariance = Covariance(rows[positive], (group[positive] - counted.mean()) / len(counted))
        self.plain_covariance_ = covariance(theta)
        bound, rounds = self.share * abs(self.plain_covariance_), 0
        if abs(self.plain_covariance_) > bound:
            loss = LogLoss(rows, positive, 1 / self.C)
            theta, rounds, met = solve(loss, covariance, theta, bound=bound, max_iter=self.max_iter)
            if not met:
                text = (
                    f"The covariance is {abs(covariance(theta)):.2g} after {rounds} rounds, above the bound"
                    f" {bound:.2g}: raise {{max_iter}} or {{share}}."
                )
                warnings.warn(ToleranceWarning(text, max_iter=None, share=None), stacklevel=3)
        self.coef_, self.intercept_ = theta[None, :-1], theta[-1:]
        self.n_iter_, self.covariance_ = 1 + rounds, covariance(theta)
