"""Histograms of scores in which no person can be identified."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairalm._validation import Groups
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.exceptions import InputError

N_BINS = 20  # before merging


def bin_scores(scores: Any, positive: BoolArray, groups: Groups, *, min_cell: int = 10) -> dict[str, Any]:
    """Count scores in shared bins: ``edges``, ``min_cell``, and ``counts[group]["target" or "other"]``.

    Neighbouring bins are merged, into as many as possible, until each contains nobody or at least `min_cell` people of
    every group and label. A group and label with fewer than `min_cell` people in all is suppressed: its counts are
    None. The first and last bin also contain the scores beyond their outer edges. Edges are round numbers, not scores.

    Parameters
    ----------
    scores : array-like of float
        Probabilities or decision values of the target.
    positive : ndarray of bool
        Whether the label is the target.
    groups : Groups
        One group per row; rows marked -1 are left out.
    min_cell : int
        Fewest people of a group and label in a non-empty bin.

    Examples
    --------
    >>> groups = Groups(np.zeros(30, np.int64), ("a",))
    >>> binned = bin_scores(np.linspace(0, 1, 30), np.ones(30, bool), groups)
    >>> binned["edges"], binned["counts"]["a"]
    ([0.0, 0.35, 1.0], {'other': [0, 0], 'target': [11, 19]})
    """
    if min_cell < 1:
        raise InputError(f"`min_cell` must be 1 or more; got {min_cell!r}.")
    values = _check_scores(scores, len(positive))
    kept = groups.codes >= 0
    edges = _edges(values[kept])
    n_bins = len(edges) - 1
    which = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, n_bins - 1)
    tables = [
        np.bincount(((2 * part.codes + positive) * n_bins + which)[kept], minlength=2 * part.n_groups * n_bins)
        for part in groups.apart
    ]
    table = np.concatenate(tables).reshape(-1, n_bins)
    suppressed = (table.sum(axis=1) > 0) & (table.sum(axis=1) < min_cell)
    cuts = _merge(table[~suppressed], min_cell)
    merged = np.add.reduceat(table, cuts[:-1], axis=1)
    rows = [None if hidden else row.tolist() for row, hidden in zip(merged, suppressed, strict=True)]
    counts = {
        name: {"other": rows[2 * code], "target": rows[2 * code + 1]} for code, name in enumerate(groups.compared)
    }
    return {"edges": edges[cuts].tolist(), "min_cell": min_cell, "counts": counts}


def merge_bins(binned: dict[str, Any], min_cell: int) -> dict[str, Any]:
    """Merge the bins of :func:`bin_scores` further, for a larger `min_cell`; a smaller one changes nothing.

    Examples
    --------
    >>> binned = {"edges": [0, 0.4, 1], "min_cell": 10, "counts": {"a": {"other": [0, 0], "target": [11, 19]}}}
    >>> merge_bins(binned, 15)["counts"]
    {'a': {'other': [0], 'target': [30]}}
    """
    if min_cell <= binned["min_cell"]:
        return binned
    edges = binned["edges"]
    counts = {(group, label): row for group, labels in binned["counts"].items() for label, row in labels.items()}
    kept = [cell for cell, row in counts.items() if row is not None and (sum(row) >= min_cell or not any(row))]
    table = np.array([counts[cell] for cell in kept], dtype=np.int64)
    cuts = _merge(table.reshape(len(kept), len(edges) - 1), min_cell)
    merged = {cell: np.add.reduceat(row, cuts[:-1]).tolist() for cell, row in zip(kept, table, strict=True)}
    groups = {
        group: {label: merged.get((group, label)) for label in labels} for group, labels in binned["counts"].items()
    }
    return {"edges": [edges[cut] for cut in cuts], "min_cell": min_cell, "counts": groups}


def _check_scores(scores: Any, n_rows: int) -> FloatArray:
    values = np.asarray(scores, dtype=float)
    if values.ndim != 1:
        raise InputError(f"`scores` must be one column, the target's; got shape {values.shape}.")
    if len(values) != n_rows:
        raise InputError(f"`scores` has {len(values)} rows, the data has {n_rows}: pass one score per row.")
    if not np.isfinite(values).all():
        raise InputError(f"`scores` has {int((~np.isfinite(values)).sum())} missing or infinite values.")
    return values


def _edges(values: FloatArray) -> FloatArray:
    """Evenly spaced edges: over [0, 1] for probabilities, else round numbers around the middle 98 %."""
    if not len(values) or (values.min() >= 0 and values.max() <= 1):
        return np.linspace(0, 1, N_BINS + 1).round(10)
    low, high = np.quantile(values, [0.01, 0.99])
    span = max(high - low, 1e-6 * abs(high), 1e-9)
    unit = 10.0 ** np.floor(np.log10(span / N_BINS))
    step = unit * next(size for size in (1, 2, 5, 10) if size * unit * N_BINS >= span)
    first = np.floor(low / step)
    edges: FloatArray = np.arange(first, max(np.ceil(high / step), first + 1) + 1) * step
    return edges


def _merge(table: IntArray, min_cell: int) -> IntArray:
    """Cut points of the longest sequence of bins whose cells are all empty or at least `min_cell`."""
    total = np.concatenate([np.zeros((len(table), 1), np.int64), table.cumsum(axis=1)], axis=1)
    n_bins = table.shape[1]
    most = np.full(n_bins + 1, -1)
    most[0] = 0
    previous = np.zeros(n_bins + 1, np.int64)
    for end in range(1, n_bins + 1):
        inside = total[:, [end]] - total[:, :end]
        allowed = ((inside == 0) | (inside >= min_cell)).all(axis=0) & (most[:end] >= 0)
        if allowed.any():
            previous[end] = int(np.argmax(np.where(allowed, most[:end], -1)))
            most[end] = most[previous[end]] + 1
    cuts = [n_bins]
    while cuts[-1]:
        cuts.append(int(previous[cuts[-1]]))
    return np.array(cuts[::-1])
