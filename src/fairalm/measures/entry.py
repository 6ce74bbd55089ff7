"""The entry of one split in metrics.json."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairalm.constraints import Constraint
from fairalm.measures.binning import bin_scores
from fairalm.measures.gaps import measures_of
from fairalm.measures.intervals import rate_interval
from fairalm.measures.rates import RATES, GroupRates, as_groups, binarize, count


def splits_entry(
    y_true: Any,
    y_pred: Any,
    scores: Any = None,
    *,
    sensitive_features: Any,
    constraint: Constraint | None = None,
    target: Any = None,
    min_cell: int = 10,
    train: bool = False,
) -> dict[str, Any]:
    """Return the entry ``splits.<name>`` of metrics.json: every measure, ``groups`` with counts and rates, ``scores``.

    If several attributes are compared each on its own, ``attributes`` lists the groups of each.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, target, constraint, train
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
    true, pred, target = binarize(y_true, y_pred, target=target)
    groups = as_groups(sensitive_features, len(true))
    rates = count(true, pred, groups, target)
    measures = measures_of(rates, train=train, constraint=constraint)
    entry: dict[str, Any] = {name: measure.to_dict() for name, measure in measures.items()}
    entry["groups"] = _groups_entry(rates, train)
    if groups.attributes:
        entry["attributes"] = [list(rates.names[part]) for part in rates.attributes]
    if scores is not None:
        entry["scores"] = bin_scores(scores, true, groups, min_cell=min_cell)
    return entry


def _groups_entry(rates: GroupRates, train: bool) -> dict[str, Any]:
    tables = {rate: _rate_rows(rates, rate, train) for rate in RATES}
    return {
        name: {
            **{count: int(getattr(rates, count)[code]) for count in ("tp", "fp", "tn", "fn")},
            "rates": {rate: rows[code] for rate, rows in tables.items()},
        }
        for code, name in enumerate(rates.names)
    }


def _rate_rows(rates: GroupRates, rate: str, train: bool) -> list[dict[str, Any]]:
    """Return {value, low, high, n} of one rate, per group."""
    k, n = rates.counts(rate)
    low, high = np.full((2, len(n)), np.nan) if train else rate_interval(k, n)
    return [
        {"value": _number(value), "low": _number(lower), "high": _number(upper), "n": int(people)}
        for value, lower, upper, people in zip(rates.value(rate), low, high, n, strict=True)
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
