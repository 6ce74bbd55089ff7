"""The entry of one split in metrics.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairalm._validation import check_same_index
from fairalm.constraints import Constraint
from fairalm.measures.binning import bin_scores
from fairalm.measures.definitions import definition_of
from fairalm.measures.gaps import measures_of
from fairalm.measures.intervals import rate_interval
from fairalm.measures.rates import COUNTS, RATES, GroupRates, Share, as_groups, binarize, count
from fairalm.measures.weights import WeightSums, check_weights


def splits_entry(
    y_true: Any,
    y_pred: Any,
    scores: Any = None,
    *,
    sensitive_features: Any,
    constraint: Constraint | None = None,
    target: Any = None,
    sample_weight: Any = None,
    min_cell: int = 10,
    train: bool = False,
) -> dict[str, Any]:
    """Return the entry ``splits.<name>`` of metrics.json: every measure, ``groups`` with counts and rates, ``scores``.

    Counts and every ``n`` are of rows. With `sample_weight`, each group has their sums under ``weights`` and those of
    their squares under ``weight_squares`` too. If several
    attributes are compared each on its own, ``attributes`` lists the groups of each.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, target, constraint, sample_weight, train
        As in :func:`measure_all`.
    scores : array-like of float, optional
        Probabilities or decision values of the target; without them there is no ``scores`` key.
    min_cell : int
        Fewest people in a non-empty bin of ``scores``.

    Examples
    --------
    >>> entry = splits_entry([1, 1, 0, 0], [1, 0, 0, 0], sensitive_features=["a", "b", "a", "b"])
    >>> entry["groups"]["b"]["fn"], entry["groups"]["b"]["rates"]["tpr"]["n"]
    (1, 1)
    """
    check_same_index(
        y_true=y_true,
        y_pred=y_pred,
        scores=scores,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
    )
    true, pred, target = binarize(y_true, y_pred, target=target)
    groups = as_groups(sensitive_features, len(true))
    weight = None if sample_weight is None else check_weights(sample_weight, len(true))
    rates = count(true, pred, groups, target, weight)
    entry = rates_entry(rates, constraint=constraint, train=train)
    if scores is not None:
        entry["scores"] = bin_scores(scores, true, groups, min_cell=min_cell)
    return entry


def rates_entry(rates: GroupRates, *, constraint: Constraint | None = None, train: bool = False) -> dict[str, Any]:
    """Return the entry of :func:`splits_entry` from counts, without ``scores``."""
    measures = measures_of(rates, train=train, constraint=constraint)
    entry: dict[str, Any] = {name: measure.to_dict() for name, measure in measures.items()}
    shares = RATES if constraint is None else {**RATES, **definition_of(constraint).rates}
    entry["groups"] = _groups_entry(rates, shares, train)
    if len(rates.attributes) > 1:
        entry["attributes"] = [list(rates.names[part]) for part in rates.attributes]
    return entry


def _groups_entry(rates: GroupRates, shares: Mapping[str, Share], train: bool) -> dict[str, Any]:
    tables, weights = {rate: _rate_rows(rates, share, train) for rate, share in shares.items()}, rates.weights
    return {
        name: {
            **{count: int(getattr(rates, count)[code]) for count in COUNTS},
            **({} if weights is None else _weights_entry(weights, code)),
            "rates": {rate: rows[code] for rate, rows in tables.items()},
        }
        for code, name in enumerate(rates.names)
    }


def _weights_entry(weights: WeightSums, code: int) -> dict[str, Any]:
    """Sums of a group's weights and of their squares, which its effective size is computed from."""
    parts = {"weights": (weights.sums, weights.unit), "weight_squares": (weights.squares, weights.unit**2)}
    return {name: {key: float(unit * sums[key][code]) for key in COUNTS} for name, (sums, unit) in parts.items()}


def _rate_rows(rates: GroupRates, share: Share, train: bool) -> list[dict[str, Any]]:
    """Return {value, low, high, n} of one rate, per group."""
    _, n = rates.counts(share)
    low, high = np.full((2, len(n)), np.nan) if train else rate_interval(*rates.effective(share))
    return [
        {"value": _number(value), "low": _number(lower), "high": _number(upper), "n": int(people)}
        for value, lower, upper, people in zip(rates.value(share), low, high, n, strict=True)
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
