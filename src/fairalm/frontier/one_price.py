"""Programs with one price, such as one gap between two groups: solved by sorting the rows."""

from __future__ import annotations

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.frontier.program import ROOM, Program

SAME = 1e-9  # prices that differ by less are one price: rows that are alike are predicted alike


def one_price(program: Program) -> tuple[FloatArray, FloatArray] | None:
    """Multipliers and predictions, or None if the limits are not all about one sum or contradict each other.

    All limits bound multiples of one sum, so the rule has one price. At price 0 every row is predicted as is cheapest;
    as the price moves, each row changes at a price of its own, ``-cost / part``. Sorted by these, the first rows change
    until the sum is within the limits.
    """
    limits, bounds = program.limits, program.bounds + ROOM
    if not len(limits):
        return np.zeros(0), (program.costs < 0).astype(float)
    row = limits[np.argmax((limits**2).sum(axis=1))]
    times = limits @ row / (row @ row)
    if not times.all() or abs(limits - np.outer(times, row)).max() > SAME * abs(row).max():
        return None
    part = program.parts @ row
    chosen = (program.costs < 0).astype(float)
    multipliers = np.zeros(len(limits))
    ends = bounds / times  # at most this where `times` is positive, at least this where it is negative
    for sign in (1.0, -1.0):
        own = np.flatnonzero(times * sign > 0)
        if not len(own):
            continue
        tightest = own[np.argmin(sign * ends[own])]
        too_much = sign * (float(chosen @ part) - float(ends[tightest]))
        if too_much <= 0:
            continue
        found = _lowered(program.costs, sign * part, chosen, too_much)
        if found is None:
            return None
        price, chosen = found
        multipliers[tightest] = price / abs(times[tightest])
    within = limits @ (chosen @ program.parts) - bounds
    return (multipliers, chosen) if within.max() < ROOM and (multipliers > 0).sum() < 2 else None


def _lowered(costs: FloatArray, part: FloatArray, chosen: FloatArray, by: float) -> tuple[float, FloatArray] | None:
    """The least price at which the sum falls by `by`, and the predictions then; None if it cannot."""
    rows = np.flatnonzero(np.where(chosen > 0, part > 0, part < 0))  # a change of these lowers the sum
    prices, falls = -costs[rows] / part[rows], abs(part[rows])
    order = np.argsort(prices)
    fallen = np.cumsum(falls[order])
    last = int(np.searchsorted(fallen, by))
    if last == len(rows):
        return None
    price = float(prices[order[last]])
    same = abs(prices - price) <= SAME * max(1.0, price)
    before = prices < price
    before &= ~same
    share = (by - float(falls[before].sum())) / float(falls[same].sum())
    chosen = chosen.copy()
    chosen[rows[before]] = 1 - chosen[rows[before]]
    chosen[rows[same]] = abs(chosen[rows[same]] - min(max(share, 0.0), 1.0))
    return price, chosen
