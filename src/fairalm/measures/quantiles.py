"""Exact quantiles of scores, also where rows stand for several people."""

from __future__ import annotations

import numpy as np

from fairalm.arrays import FloatArray

PARTS = 10  # deciles


def deciles(scores: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The nine deciles of the scores; the fifth is the median.

    The k-th is the smallest score that at least k tenths of the people do not exceed; where exactly k tenths do not,
    it is the mean of that score and the next, as it is for a median. Both arrays are overwritten.

    >>> float(deciles(np.array([4.0, 1.0, 3.0, 2.0]))[4])
    2.5
    >>> float(deciles(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 3.0]))[4])
    9.0
    """
    tenths = np.arange(1, PARTS)
    if weights is None or (weights == weights[0]).all():  # whole numbers, so that a tie is a tie
        scores.sort()
        needed = tenths * len(scores)
        first = -(-needed // PARTS) - 1
        is_tie = needed % PARTS == 0
    else:
        order = np.lexsort((weights, scores))  # by weight too, so that the order of the rows does not matter
        scores[:], weights[:] = scores[order], weights[order]
        del order
        np.cumsum(weights, out=weights)
        needed = tenths / PARTS * weights[-1]
        first = np.searchsorted(weights, needed)
        is_tie = weights[first] == needed
    after = np.minimum(first + 1, len(scores) - 1)
    return np.where(is_tie, (scores[first] + scores[after]) / 2, scores[first])
