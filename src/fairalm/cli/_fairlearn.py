"""fairlearn's two algorithms on the same estimator, for comparison."""

from __future__ import annotations

from functools import cache
from typing import Any

from sklearn.base import clone

from fairalm.constraints import Constraint

#: criterion -> (moment of ExponentiatedGradient, constraint of ThresholdOptimizer)
COUNTERPARTS: dict[str, tuple[str, str | None]] = {
    "equal-opportunity": ("TruePositiveRateParity", "true_positive_rate_parity"),
    "predictive-equality": ("FalsePositiveRateParity", "false_positive_rate_parity"),
    "equalized-odds": ("EqualizedOdds", "equalized_odds"),
    "demographic-parity": ("DemographicParity", "demographic_parity"),
    "error-parity": ("ErrorRateParity", None),
}
GRADIENT, THRESHOLD = "fairlearn-gradient", "fairlearn-threshold"
LEGEND = {
    GRADIENT: "fairlearn's ExponentiatedGradient, a random mixture of models",
    THRESHOLD: "fairlearn's ThresholdOptimizer",
}


class RefusedError(Exception):
    """fairlearn does not take this data."""


@cache
def is_installed() -> bool:
    """Whether fairlearn can be imported."""
    try:
        import fairlearn.postprocessing
        import fairlearn.reductions  # noqa: F401
    except ImportError:
        return False
    return True


def comparators(constraint: Constraint) -> list[str]:
    """Names of the algorithms that have this criterion; none without fairlearn."""
    if not is_installed() or constraint.name not in COUNTERPARTS:
        return []
    return [GRADIENT] if COUNTERPARTS[constraint.name][1] is None else [GRADIENT, THRESHOLD]


def fit(name: str, estimator: Any, constraint: Constraint, X: Any, y: Any, groups: Any) -> Any:
    """Fit one of the two to labels 0 and 1."""
    from fairlearn import postprocessing, reductions

    moment, rule = COUNTERPARTS[constraint.name]
    model: Any = postprocessing.ThresholdOptimizer(estimator=clone(estimator), constraints=rule, predict_method="auto")
    if name == GRADIENT:
        parity = getattr(reductions, moment)(difference_bound=constraint.tol)
        model = reductions.ExponentiatedGradient(clone(estimator), parity)
    try:
        return model.fit(X, y, sensitive_features=groups)
    except ValueError as error:
        raise RefusedError(f"{name} ({str(error).strip().splitlines()[0]})") from error


def predict(name: str, model: Any, X: Any, groups: Any, seed: int) -> Any:
    """Labels; both algorithms draw, one of them by group."""
    if name == GRADIENT:
        return model.predict(X, random_state=seed)
    return model.predict(X, sensitive_features=groups, random_state=seed)
