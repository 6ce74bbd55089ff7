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
    # counts that are not almost impossible
    k0, k1 = (np.arange(binom.ppf(1e-12, n, rate), binom.ppf(1 - 1e-12, n, rate) + 1) for n in (n0, n1))
    return float(binom.pmf(k0, n0, rate) @ abs(k0[:, None] / n0 - k1 / n1) @ binom.pmf(k1, n1, rate))
