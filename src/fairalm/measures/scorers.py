"""Measures as scikit-learn scorers."""

from __future__ import annotations

import math
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from fairalm._validation import check_same_index
from fairalm.constraints import Constraint
from fairalm.measures.definitions import definition_of
from fairalm.measures.gaps import measure_of
from fairalm.measures.labels import rates_of_labels


class GapScorer(BaseEstimator):  # type: ignore[misc]
    """Scorer made by :func:`make_gap_scorer`; a ``BaseEstimator`` because that can request groups and weights."""

    __metadata_request__score = {"sensitive_features": True, "sample_weight": True, "estimator": UNUSED}  # noqa: RUF012

    def __init__(self, measure: str | Constraint, target: Any = None) -> None:
        self.measure = measure
        self.target = target

    def score(
        self, estimator: Any, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> float:
        """Predict `X` and compare with `y`; routing reads the signature of a method of this name."""
        check_same_index(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        classes, target = getattr(estimator, "classes_", [None]), self.target
        target = classes[-1] if target is None and len(classes) <= 2 else target
        predicted, given = estimator.predict(X), {"target": target, "sample_weight": sample_weight}
        rates = rates_of_labels(y, predicted, sensitive_features=sensitive_features, **given)
        value = measure_of(self.measure, rates, train=True).value  # no interval
        sign = 1.0 if definition_of(self.measure).kind == "ratio" else -1.0
        return math.nan if value is None else 0.0 + sign * value  # 0.0, not -0.0

    __call__ = score


def make_gap_scorer(measure: str | Constraint, *, target: Any = None) -> GapScorer:
    """Make a scorer for model selection out of a measure.

    Greater is better: the score is minus the error or gap, plus the ratio, and NaN where the measure is undefined. The
    scorer takes `sensitive_features` and `sample_weight`, and requests both where metadata is routed.

    Parameters
    ----------
    measure : str or Constraint
        As in :func:`measure_of`, for example "deo".
    target : object, optional
        The label that counts as positive; by default the estimator's last class. Of more than two, the label or labels
        that are compared; by default all.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y, sex = [[0], [1], [2], [3]], [0, 1, 0, 1], ["F", "F", "M", "M"]
    >>> model = DummyClassifier(strategy="constant", constant=1).fit(X, y)
    >>> make_gap_scorer("deo")(model, X, y, sensitive_features=sex)
    0.0
    """
    definition_of(measure)  # refuses what cannot be measured
    return GapScorer(measure, target)
