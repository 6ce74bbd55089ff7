"""Each registered measure as a function of labels and predictions.

All take the same arguments: `y_true`, `y_pred`, `sensitive_features` and `target` as :func:`group_rates`,
`level` and `train` as :func:`measure_of`, and return a :class:`Measure`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairalm.measures.gaps import measure_of
from fairalm.measures.measure import Measure
from fairalm.measures.rates import group_rates


def error(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any = None,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Share of wrong predictions; `sensitive_features` may be left out.

    >>> print(error([1, 0, 1, 0] * 5, [1, 0, 1, 1] * 5))
    25.0 % [10.2, 46.9]
    """
    if sensitive_features is None:
        sensitive_features = np.zeros(len(y_true), dtype=np.int64)
    return _measure("error", y_true, y_pred, sensitive_features, target, level, train)


def deo(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Difference of equal opportunity: largest minus smallest TPR over the groups, which is also FNR's.

    The paper's DEO. For two groups ``signed`` is FNR0 - FNR1, its d_h.

    >>> y_true, y_pred = [1] * 80, [1] * 60 + [0] * 20
    >>> print(deo(y_true, y_pred, sensitive_features=["F"] * 40 + ["M"] * 40))
    50.0 % [32.6, 65.0]
    """
    return _measure("deo", y_true, y_pred, sensitive_features, target, level, train)


def fpr_gap(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Largest minus smallest false positive rate over the groups."""
    return _measure("fpr_gap", y_true, y_pred, sensitive_features, target, level, train)


def equalized_odds(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Larger of the differences in TPR and in FPR over the groups."""
    return _measure("equalized_odds", y_true, y_pred, sensitive_features, target, level, train)


def ddp(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Difference of demographic parity: the largest minus the smallest selection rate over the groups.

    >>> print(ddp([1, 0] * 40, [1, 1, 0, 1] * 20, sensitive_features=["F", "F", "M", "M"] * 20))
    50.0 % [32.6, 65.0]
    """
    return _measure("ddp", y_true, y_pred, sensitive_features, target, level, train)


def error_parity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Largest minus smallest error rate over the groups: what the paper calls DP."""
    return _measure("error_parity", y_true, y_pred, sensitive_features, target, level, train)


def predictive_parity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Largest minus smallest FDR (the same as of PPV) over the groups.

    >>> print(predictive_parity([1, 0], [0, 0], sensitive_features=["F", "M"]))
    undefined (0 people in F, predicted 1; 0 people in M, predicted 1)
    """
    return _measure("predictive_parity", y_true, y_pred, sensitive_features, target, level, train)


def dp_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Smallest over largest selection rate: below 0.8 it fails the "four fifths rule".

    >>> print(dp_ratio([1, 0] * 40, [1, 1, 0, 1] * 20, sensitive_features=["F", "F", "M", "M"] * 20))
    50.0 % [35.0, 66.1]
    """
    return _measure("dp_ratio", y_true, y_pred, sensitive_features, target, level, train)


def deo_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Smallest over largest true positive rate."""
    return _measure("deo_ratio", y_true, y_pred, sensitive_features, target, level, train)


def equalized_odds_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> Measure:
    """Smaller of the ratios of TPR and of FPR over the groups."""
    return _measure("equalized_odds_ratio", y_true, y_pred, sensitive_features, target, level, train)


def _measure(
    name: str, y_true: Any, y_pred: Any, sensitive_features: Any, target: Any, level: float, train: bool
) -> Measure:
    rates = group_rates(y_true, y_pred, sensitive_features=sensitive_features, target=target)
    return measure_of(name, rates, level=level, train=train)
