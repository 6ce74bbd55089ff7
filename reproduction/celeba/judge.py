"""What is said of a classifier: the paper's four figures, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairalm.measures import Measure, deo, error, rate_interval
from reproduction.types import IntArray

Judged = dict[str, Any]
GROUPS = ("women", "men")  # "Male" is 0 and 1


def judge(y: IntArray, predicted: IntArray, group: IntArray) -> Judged:
    """Error, DEO, false negative rate of either gender, and the share predicted attractive.

    Parameters
    ----------
    y, predicted : int arrays
        Label and prediction, 1 for attractive.
    group : int array
        0 for women, 1 for men.

    Returns
    -------
    dict
        ``error``, ``deo``, ``fnr_women`` and ``fnr_men`` as of :meth:`Measure.to_dict`, and ``selection``.
    """
    found = {"error": error(y, predicted), "deo": deo(y, predicted, sensitive_features=group)}
    for code, name in enumerate(GROUPS):
        missed = predicted[(y == 1) & (group == code)] == 0
        n, k = len(missed), int(missed.sum())
        low, high = rate_interval(k, n)
        found[f"fnr_{name}"] = Measure("fnr", k / n, float(low), float(high), n, n)
    return {name: measure.to_dict() for name, measure in found.items()} | {"selection": float(np.mean(predicted))}


def named(group: Any) -> Any:
    """The group of each face, in words."""
    return np.array(GROUPS)[group]
