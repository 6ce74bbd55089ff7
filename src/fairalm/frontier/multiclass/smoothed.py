"""The program with predictions that pass from one label to another over a small width of margins, by Newton's method.

The counterpart of :mod:`fairalm.frontier.smoothed`. A row's predictions are the point of the simplex that is nearest to
its margins over the width, with the sign turned: certain where one label is cheaper than all others by the width.
"""

from __future__ import annotations

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.frontier.multiclass.program import LabelProgram, one_hot
from fairalm.frontier.program import ACCURACY, ROOM
from fairalm.frontier.smoothed import ROWS_WITHIN, SHORTEST, WIDER, WIDTH, newton_step

MAX_STEPS = 40
ROUNDING = 1e-15  # the smooth dual is not known better


def least_width(program: LabelProgram) -> float:
    """Margins over which predictions turn at least, in costs of a mistake."""
    return max(WIDTH, ROWS_WITHIN * int(program.limits.shape[1]) * program.row)


def smoothed(
    program: LabelProgram, start: FloatArray, width: float = 0.0, accuracy: float = ACCURACY / 2
) -> tuple[FloatArray, FloatArray] | None:
    """Multipliers and predictions, or None if the steps come to no end, even by way of larger widths."""
    width = max(width, least_width(program)) * program.row
    found = _solved(program, start, width, accuracy)
    for times in WIDER if found is None else ():
        found = _solved(program, start, times * width, accuracy)
        if found is None:
            return None
        start = found[0]
    return found


def _solved(
    program: LabelProgram, start: FloatArray, width: float, accuracy: float
) -> tuple[FloatArray, FloatArray] | None:
    limits, bounds = program.limits, program.bounds + ROOM
    multipliers, prices = start, start @ limits
    margins = program.priced(prices)
    chosen, off = nearest(margins, width), 0.0
    for _ in range(MAX_STEPS):
        sums, curvature = program.sums(chosen), _curvature(program, chosen, width)
        step = newton_step(limits, bounds, sums, prices, curvature)
        if step is None:
            return None
        new_prices = step @ limits
        new_margins = program.priced(new_prices)
        new_chosen = nearest(new_margins, width)
        expected = sums - curvature @ (new_prices - prices)
        before, off = off, float(abs(limits @ (program.sums(new_chosen) - expected)).max(initial=0.0))
        if off < accuracy:
            return step, new_chosen
        share = 1.0 if off < before / 2 else _share(margins, new_margins, width, float((step - multipliers) @ bounds))
        multipliers = multipliers + share * (step - multipliers)
        prices, margins = multipliers @ limits, margins + share * (new_margins - margins)
        chosen = new_chosen if share == 1 else nearest(margins, width)
    return None


def nearest(margins: FloatArray, width: float) -> FloatArray:
    """The point of the simplex that is nearest to ``-margins / width``, for each row.

    >>> nearest(np.array([[0.0, 0.5, 2.0], [0.0, 3.0, 1.0]]), 1.0)
    array([[0.75, 0.25, 0.  ],
           [1.  , 0.  , 0.  ]])
    """
    n_labels = margins.shape[1]
    chosen = one_hot(margins.argmin(axis=1), n_labels)
    two = np.partition(margins, 1, axis=1)
    rows = np.flatnonzero(two[:, 1] - two[:, 0] < width)
    place = (two[rows, :1] - margins[rows]) / width
    high = -np.sort(-place, axis=1)
    levels = (np.cumsum(high, axis=1) - 1) / np.arange(1, n_labels + 1)
    last = (high > levels).sum(axis=1) - 1
    chosen[rows] = np.maximum(place - levels[np.arange(len(rows)), last][:, None], 0.0)
    return chosen


def _curvature(program: LabelProgram, chosen: FloatArray, width: float) -> FloatArray:
    """By how much the sums fall with the prices: rows between labels pass from one to the others."""
    rows = np.flatnonzero(chosen.max(axis=1) < 1)
    inside = chosen[rows] > 0
    every = np.hstack([part[rows] * inside[:, k, None] for k, part in enumerate(program.parts)])
    curvature = -(every / inside.sum(axis=1)[:, None]).T @ every
    for place in program.places:
        curvature[place, place] += every[:, place].T @ every[:, place]
    return np.asarray(curvature / width)


def _share(margins: FloatArray, new_margins: FloatArray, width: float, price: float) -> float:
    """Of the step, the longest of 1, 1/2, 1/4, ... that raises the smooth dual."""

    def value(margins: FloatArray) -> float:
        chosen = nearest(margins, width)
        return float((chosen * (margins + width / 2 * chosen)).sum())

    before, share = value(margins), 1.0
    while share > SHORTEST and value(margins + share * (new_margins - margins)) - share * price < before - ROUNDING:
        share /= 2
    return share
