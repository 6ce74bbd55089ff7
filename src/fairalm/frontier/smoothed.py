"""The program with predictions that turn from 0 to 1 over a small width of margins: solved by Newton's method.

The prices of the sums then solve a smooth problem as small as the number of sums. Each step solves it as if the
predictions were linear in the prices: the point of a polyhedron that is nearest to the origin, which is a problem of
non-negative least squares. The predictions meet the limits as they are, and cost next to nothing more than the best.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from fairalm.arrays import FloatArray
from fairalm.frontier.program import ACCURACY, ROOM, Program

WIDTH, ROWS_WITHIN = 1e-3, 4  # of the margins; at least so many rows per sum lie within
WIDER = (30, 5, 1)  # times the width, one after the other, where the start is too far away
MAX_STEPS = 25
SHORTEST = 1e-3  # share of a step
DAMPING = 1e-9  # of directions that no row within the width speaks of


def least_width(program: Program) -> float:
    """Margins over which predictions turn from 1 to 0 at least, in costs of a mistake."""
    return max(WIDTH, ROWS_WITHIN * int(program.parts.shape[1]) * program.row)


def smoothed(
    program: Program, start: FloatArray, width: float = 0.0, accuracy: float = ACCURACY / 2
) -> tuple[FloatArray, FloatArray] | None:
    """Multipliers and predictions, or None if the steps come to no end, even by way of larger widths."""
    width = max(width, least_width(program)) * program.row
    found = _solved(program, start, width, accuracy)
    if found is None:
        for times in WIDER:
            found = _solved(program, start, times * width, accuracy)
            if found is None:
                return None
            start = found[0]
    return found


def _solved(program: Program, start: FloatArray, width: float, accuracy: float) -> tuple[FloatArray, FloatArray] | None:
    limits, bounds = program.limits, program.bounds + ROOM
    multipliers, prices = start, start @ limits
    margins = program.costs + program.parts @ prices
    chosen, off = _chosen(margins, width), 0.0
    for _ in range(MAX_STEPS):
        sums = chosen @ program.parts
        within = program.parts[abs(margins) < width]
        curvature = within.T @ within / (2 * width)
        step = newton_step(limits, bounds, sums, prices, curvature)
        if step is None:
            return None
        new_prices = step @ limits
        new_margins = program.costs + program.parts @ new_prices
        new_chosen = _chosen(new_margins, width)
        expected = sums - curvature @ (new_prices - prices)
        before, off = off, float(abs(limits @ (new_chosen @ program.parts - expected)).max(initial=0.0))
        if off < accuracy:
            return step, new_chosen
        share = 1.0 if off < before / 2 else _share(margins, new_margins, width, float((step - multipliers) @ bounds))
        multipliers = multipliers + share * (step - multipliers)
        prices, margins = multipliers @ limits, margins + share * (new_margins - margins)
        chosen = new_chosen if share == 1 else _chosen(margins, width)
    return None


def _chosen(margins: FloatArray, width: float) -> FloatArray:
    return np.clip(0.5 - margins / (2 * width), 0.0, 1.0)


def newton_step(
    limits: FloatArray, bounds: FloatArray, sums: FloatArray, prices: FloatArray, curvature: FloatArray
) -> FloatArray | None:
    """The multipliers at which limits and prices agree, if sums fall with prices as the curvature says."""
    size = np.sqrt(np.diag(curvature)) + 1e-150
    scaled = curvature / np.outer(size, size)
    scaled.flat[:: len(scaled) + 1] = 1 + DAMPING
    try:
        root = np.linalg.cholesky(scaled) * size[:, None]
        directions = limits @ root
        excess = limits @ sums + directions @ (root.T @ prices) - bounds
        table = np.vstack([directions.T, excess])
        aim = np.zeros(len(table))
        aim[-1] = 1.0
        found, distance = nnls(table, aim)
    except (np.linalg.LinAlgError, RuntimeError, ValueError):
        return None
    left = 1 - float(excess @ found)
    return found / left if distance > SHORTEST**4 and left > 0 else None


def _share(margins: FloatArray, new_margins: FloatArray, width: float, price: float) -> float:
    """Of the step, the longest of 1, 1/2, 1/4, ... that lowers the smooth dual."""

    def value(margins: FloatArray) -> float:
        turned = np.maximum(0.5 - margins / (2 * width), 0.0)
        return width * float((np.minimum(turned, 1.0) ** 2).sum() + 2 * np.maximum(turned - 1.0, 0.0).sum())

    before, share = value(margins), 1.0
    while share > SHORTEST and value(margins + share * (new_margins - margins)) + share * price > before + 1e-15:
        share /= 2
    return share
