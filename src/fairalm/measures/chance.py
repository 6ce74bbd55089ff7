"""The gap that a fair model shows through sampling noise."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from fairalm.exceptions import InputError


def chance_gap(rate: float, n0: int, n1: int) -> float:
    """Mean absolute difference of two observed rates, from `n0` and `n1` rows, when both have the same true `rate`.

    A measured gap of about this size is no evidence of unfairness; a much smaller one is luck.

    Examples
    --------
    >>> round(chance_gap(0.5, 100, 100), 3)
    0.056
    >>> chance_gap(1.0, 100, 100)
    0.0
    """
    if not 0 <= rate <= 1 or min(n0, n1) < 1:
        raise InputError(f"`rate` must lie in [0, 1] and each cell needs a row; got {rate!r}, {n0} and {n1}.")
    counts, chances = zip(*(_likely(rate, n) for n in (n0, n1)), strict=True)
    difference = abs(counts[0][:, None] / n0 - counts[1][None, :] / n1)
    return float(chances[0] @ difference @ chances[1])


def _likely(rate: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts that are not almost impossible, and their probabilities."""
    counts = np.arange(binom.ppf(1e-12, n, rate), binom.ppf(1 - 1e-12, n, rate) + 1)
    return counts, binom.pmf(counts, n, rate)
