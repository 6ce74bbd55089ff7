"""The two algorithms that fairlearn has: a reduction to weighted classification, and a threshold per group."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from fairalm._coding import group_name
from fairalm._validation import Groups, check_same_index, encode_groups, kebab
from fairalm.arrays import FloatArray
from fairalm.constraints import EqualOpportunity
from fairalm.exceptions import InputError
from fairalm.sklearn.comparators._base import BoolArray, Comparator, import_extra
from fairalm.sklearn.learner import check_takes_weights

OPPORTUNITY = EqualOpportunity.name
MOMENTS = {
    OPPORTUNITY: "TruePositiveRateParity",
    "predictive-equality": "FalsePositiveRateParity",
    "equalized-odds": "EqualizedOdds",
    "demographic-parity": "DemographicParity",
    "error-parity": "ErrorRateParity",
}
# true_positive_rate_parity, ...; the threshold optimizer has no error parity
THRESHOLDS = {name: kebab(moment).replace("-", "_") for name, moment in MOMENTS.items() if name != "error-parity"}


class FairlearnComparator(Comparator):
    """A comparator whose predictions are drawn with the seed of the fit: the same rows get the same labels."""

    random_state: Any

    def _start(self) -> Any:
        """Set the seed of the predictions; the package of fairlearn."""
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return import_extra(self.package)

    def _draw(self, chance: FloatArray) -> Any:
        drawn = np.random.RandomState(self._seed).random_sample(len(chance)) < chance
        return self.classes_[drawn.astype(int)]


class AgarwalClassifier(FairlearnComparator):
    """A random mixture of models with near-equal rates, through fairlearn's `ExponentiatedGradient`.

    Agarwal, Beygelzimer, Dudík, Langford and Wallach: A reductions approach to fair classification (ICML 2018).

    Parameters
    ----------
    estimator : classifier, optional
        Its ``fit`` must take `sample_weight`; ``LogisticRegression(solver="newton-cholesky")`` if left out.
    constraint : str
        Its name on the command line; all but predictive parity.
    tol : float
        Bound on each group's difference from the rate of all, on the training rows.
    max_iter : int
        Rounds at most.
    random_state : int, RandomState or None
        Draws the predictions.

    Attributes
    ----------
    reduction_, n_oracle_calls_ : fairlearn.reductions.ExponentiatedGradient, int
        The fitted mixture, and how often the estimator was fitted.
    """

    package = "fairlearn.reductions"
    requirements: ClassVar = {
        "constraint": (lambda name: name in MOMENTS, f"one of {', '.join(MOMENTS)}"),
        "tol": (lambda tol: 0 <= tol <= 1, "in [0, 1]"),
        "max_iter": (lambda n: n >= 1, "at least 1"),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        constraint: str = OPPORTUNITY,
        tol: float = 0.01,
        max_iter: int = 50,
        random_state: Any = None,
    ) -> None:
        self.estimator, self.constraint = estimator, constraint
        self.tol, self.max_iter, self.random_state = tol, max_iter, random_state

    def _fit(self, X: FloatArray, positive: BoolArray, groups: Groups) -> None:
        reductions = self._start()
        estimator = LogisticRegression(solver="newton-cholesky") if self.estimator is None else self.estimator
        check_takes_weights(estimator)
        parity = getattr(reductions, MOMENTS[self.constraint])(difference_bound=self.tol)
        self.reduction_ = reductions.ExponentiatedGradient(estimator, parity, max_iter=self.max_iter)
        with warnings.catch_warnings():  # pandas 3 warns about fairlearn's own code
            warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"fairlearn\.")
            self.reduction_.fit(X, positive.astype(int), sensitive_features=groups.codes)
        self.n_oracle_calls_ = int(self.reduction_.n_oracle_calls_)

    def predict(self, X: Any) -> Any:
        """Labels, drawn for each row from the models of the mixture."""
        return self._draw(self.expected_predict(X))

    def expected_predict(self, X: Any) -> FloatArray:
        """The probability that a row is given the larger label, from which `predict` draws."""
        X = self._check_X(X)
        return np.asarray(self.reduction_._pmf_predict(X))[:, 1]


class HardtClassifier(FairlearnComparator):
    """A threshold per group on the scores of a plain model, through fairlearn's `ThresholdOptimizer`.

    Hardt, Price and Srebro: Equality of opportunity in supervised learning (NeurIPS 2016). The protected attribute is
    needed to predict. Where no threshold gives the common rate exactly, a group draws between two.

    Parameters
    ----------
    estimator : classifier, optional
        The plain model with `predict_proba` or `decision_function`; ``LogisticRegression(max_iter=1000)`` if left out.
    constraint : str
        Its name on the command line; all but predictive parity and error parity.
    tol : float
        How far apart the groups' rates may be on the training rows.
    random_state : int, RandomState or None
        Draws the predictions.

    Attributes
    ----------
    optimizer_ : fairlearn.postprocessing.ThresholdOptimizer
        The fitted thresholds.
    """

    package = "fairlearn.postprocessing"
    requirements: ClassVar = {
        "constraint": (lambda name: name in THRESHOLDS, f"one of {', '.join(THRESHOLDS)}"),
        "tol": (lambda tol: 0 <= tol < 1, "in [0, 1)"),
    }
    needs_group_to_predict = True

    def __init__(
        self, estimator: Any = None, *, constraint: str = OPPORTUNITY, tol: float = 0.0, random_state: Any = None
    ) -> None:
        self.estimator, self.constraint = estimator, constraint
        self.tol, self.random_state = tol, random_state

    def _fit(self, X: FloatArray, positive: BoolArray, groups: Groups) -> None:
        for code, name in enumerate(groups.names):
            if positive[groups.codes == code].all():
                raise InputError(
                    f"Group {name!r} has no rows with y={self.classes_[0]}, so no threshold can be set for it:"
                    " drop the group or merge it with another."
                )
        self.optimizer_ = self._start().ThresholdOptimizer(
            estimator=LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator,
            constraints=THRESHOLDS[self.constraint],
            tol=self.tol or None,
        )
        self.optimizer_.fit(X, positive.astype(int), sensitive_features=groups.codes)

    def predict(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """Labels, drawn where a group has two thresholds; `sensitive_features` as in `fit`."""
        return self._draw(self.expected_predict(X, sensitive_features=sensitive_features))

    def expected_predict(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """The probability that a row is given the larger label, from which `predict` draws."""
        check_same_index(X=X, sensitive_features=sensitive_features)
        X = self._check_X(X)
        groups = encode_groups(sensitive_features, n_rows=len(X), min_groups=1, refuse_ids=False)
        unknown = [label for label in groups.labels if label not in self.groups_]
        if unknown:
            known = ", ".join(repr(group_name(label)) for label in self.groups_)
            raise InputError(f"Group {group_name(unknown[0])!r} has no threshold: fit saw only {known}.")
        codes = np.array([self.groups_.index(label) for label in groups.labels])[groups.codes]
        return np.asarray(self.optimizer_._pmf_predict(X, sensitive_features=codes))[:, 1]
