"""How well a score ranks: the area under the ROC curve and the Kolmogorov-Smirnov distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri
from scipy.stats import rankdata

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.exceptions import InputError
from fairalm.measures.compared import SMALL_CELL
from fairalm.measures.intervals import difference_interval, rate_interval
from fairalm.measures.measure import Measure

BINS, REDRAWN = 256, 200  # of the scores, and samples of them, to see by how much a maximum exceeds the true one


def auc(y_true: Any, scores: Any, *, level: float = 0.95) -> Measure:
    """Area under the ROC curve: the chance that a row with the label scores higher than one without; ties count half.

    The interval is DeLong's, on the logit scale so that it stays within [0, 1]. If every row with the label scores
    higher than every other, or lower, that has no width; then it is the interval of a rate of as many rows as the
    smaller class has.

    Parameters
    ----------
    y_true : array-like of bool, or of 0 and 1
        Which rows have the label.
    scores : array-like of float
        Higher where the label is more likely. Only their order matters.
    level : float
        Nominal coverage.

    Examples
    --------
    >>> print(auc([1, 1, 1, 0, 0, 0, 0], [0.9, 0.8, 0.3, 0.4, 0.2, 0.1, 0.1]).value)
    0.9166666666666666
    """
    true, score = _checked(y_true, scores)
    n1, n0 = int(true.sum()), int((~true).sum())
    if min(n1, n0) == 0:
        return _undefined("auc", n1, n0)
    together = rankdata(score)
    above = (together[true] - rankdata(score[true])) / n0  # for each row with the label, the share of others below it
    below = 1 - (together[~true] - rankdata(score[~true])) / n1
    value = float(above.mean())
    variance = sum(float(part.var(ddof=1)) / len(part) for part in (above, below) if len(part) > 1)
    if variance == 0 or value in (0.0, 1.0):
        low, high = rate_interval(value * min(n1, n0), min(n1, n0), level)
    else:
        half = -ndtri((1 - level) / 2) * np.sqrt(variance) / (value * (1 - value))
        low, high = expit(logit(value) - half), expit(logit(value) + half)
    return Measure("auc", value, float(low), float(high), n1 + n0, min(n1, n0), note=_note(n1, n0))


def ks(y_true: Any, scores: Any, *, level: float = 0.95) -> Measure:
    """Kolmogorov-Smirnov distance: the largest difference between the two labels' shares above one threshold.

    The interval is that of the difference of the two shares at this threshold. A largest difference is too large on
    average; by how much is seen on samples redrawn from the scores in 256 bins, and the lower end is moved down by
    that. See docs/benchmarks/lda.md for the coverage. Parameters as in :func:`auc`.

    Examples
    --------
    >>> print(ks([1, 1, 1, 0, 0, 0, 0], [0.9, 0.8, 0.3, 0.4, 0.2, 0.1, 0.1]).value)
    0.75
    """
    true, score = _checked(y_true, scores)
    n1, n0 = int(true.sum()), int((~true).sum())
    if min(n1, n0) == 0:
        return _undefined("ks", n1, n0)
    _, place = np.unique(-score, return_inverse=True)
    k1, k0 = (np.bincount(place[rows], minlength=place.max() + 1).cumsum() for rows in (true, ~true))
    best = int(np.argmax(k1 / n1 - k0 / n0))
    value = float(k1[best] / n1 - k0[best] / n0)
    low, high = (float(end) for end in difference_interval(k1[best], n1, k0[best], n0, level))
    ends = max(0.0, low - _excess(k1, k0)), min(1.0, high)
    return Measure("ks", value, *ends, n1 + n0, min(n1, n0), note=_note(n1, n0))


def _excess(k1: IntArray, k0: IntArray) -> float:
    """By how much the largest difference of cumulated counts is too large on average, in samples redrawn from them."""
    ends = np.unique(np.linspace(0, len(k1), BINS + 1).round().astype(int))[1:] - 1
    rng = np.random.default_rng(0)
    shares = [np.diff(k[ends], prepend=0) / k[-1] for k in (k1, k0)]
    redrawn = [rng.multinomial(k[-1], share, REDRAWN) / k[-1] for k, share in zip((k1, k0), shares, strict=True)]
    largest = (redrawn[0] - redrawn[1]).cumsum(axis=1).max(axis=1)
    return max(0.0, float(largest.mean() - (shares[0] - shares[1]).cumsum().max()))


def _checked(y_true: Any, scores: Any) -> tuple[BoolArray, FloatArray]:
    true, score = np.asarray(y_true), np.asarray(scores, dtype=float)
    if true.ndim != 1 or true.shape != score.shape:
        raise InputError(f"y_true has shape {true.shape}, the scores {score.shape}: pass one score per row.")
    if not np.isin(true, (0, 1)).all():
        raise InputError("y_true must be 0 and 1, or False and True: say which rows have the label.")
    if np.isnan(score).any():
        raise InputError(f"{int(np.isnan(score).sum())} scores are missing: leave those rows out.")
    return true.astype(bool), score


def _undefined(name: str, n1: int, n0: int) -> Measure:
    which = "with" if n1 == 0 else "without"
    return Measure(name, None, None, None, n1 + n0, 0, note=f"undefined (0 rows {which} the label)")


def _note(n1: int, n0: int) -> str:
    if min(n1, n0) >= SMALL_CELL:
        return ""
    return f"small cell: {min(n1, n0)} row{'s' * (min(n1, n0) != 1)} with{'' if n1 <= n0 else 'out'} the label"
