"""From counts to measures with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fairalm.measures import GroupRates, Measure, measure_of, rate_interval
from reproduction.labels.cell import GROUPS

Counts = Mapping[str, Sequence[int]]  # tn, fp, fn, tp -> people in the groups 0 and 1


def _rates(counts: Counts, names: tuple[str, ...]) -> GroupRates:
    return GroupRates(names, **{name: np.asarray(values) for name, values in counts.items()}, target=1)


def deo(counts: Counts, protected: str) -> Measure:
    """Difference of the groups' true positive rates."""
    return measure_of("deo", _rates(counts, GROUPS[protected]))


def error(counts: Counts) -> Measure:
    """Share of wrong answers."""
    return measure_of("error", _rates(counts, ("0", "1")))


def precision(counts: Counts) -> Measure:
    """Of those predicted to have the label, the share who have it; undefined if nobody is.

    >>> print(precision({"tn": [9, 9], "fp": [2, 0], "fn": [0, 1], "tp": [5, 3]}))
    80.0 % [49.0, 95.6]
    """
    right = sum(counts["tp"])
    n = right + sum(counts["fp"])
    if n == 0:
        return Measure("precision", None, None, None, 0, 0, note="undefined (0 people predicted to have it)")
    low, high = rate_interval(right, n)
    return Measure("precision", right / n, float(low), float(high), n, n)
