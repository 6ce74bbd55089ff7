"""Solving the program: rows whose prediction is beyond doubt are left out and checked at the end."""

from __future__ import annotations

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.frontier.interior_point import interior_point
from fairalm.frontier.one_price import one_price
from fairalm.frontier.program import MET, Program, Solution
from fairalm.frontier.smoothed import least_width, smoothed

AT_ONCE, DOUBTFUL = 20_000, 0.05  # rows that are solved without leaving any out; of more, this share to begin with
ROUGHLY = 1e-5  # the accuracy where predictions turn over a width
WIDTHS = 2  # around the smoothed solution, within which rows are predicted anew


def solve(program: Program, start: FloatArray | None = None, *, width: float | None = None) -> Solution:
    """Solve the program; `start` is a guess of the multipliers, such as those of a neighbouring tolerance.

    With a `width`, in costs of a mistake, predictions turn from 1 to 0 over margins from minus to plus that: it is
    quicker, meets the limits as well, and both predictions and multipliers change smoothly with the limits.

    Examples
    --------
    >>> costs, parts = np.array([-0.5, -0.3, 0.2]), np.ones((3, 1))
    >>> solve(Program(costs, parts, limits=np.ones((1, 1)), bounds=np.ones(1))).chosen.round(3)
    array([1., 0., 0.])
    """
    n = len(program.costs)
    if n <= AT_ONCE:
        start = np.zeros(len(program.bounds)) if start is None else start
        return program.solution(*_of_all_rows(program, start, width))
    if start is None:
        few = np.random.RandomState(0).choice(n, max(AT_ONCE, n // 10), replace=False)
        scale = n / len(few)
        part = Program(
            program.costs[few] * scale, program.parts[few] * scale, program.limits, program.bounds, scale * program.row
        )
        start = solve(part, width=width or 0.0).multipliers
    multipliers, free, n_doubtful = start, np.zeros(n, dtype=bool), max(AT_ONCE, round(DOUBTFUL * n))
    while True:
        margins = program.margins(multipliers)
        free[np.argpartition(abs(margins), n_doubtful - 1)[:n_doubtful]] = True
        if width:
            free |= abs(margins) < WIDTHS * width * program.row
        chosen = np.where(free, 0.0, margins < 0)
        remaining = program.remaining(free, chosen)
        found, chosen[free] = _of_all_rows(remaining, multipliers, width)
        if free.all() or remaining.excess(chosen[free]) < MET:  # else the rows left out leave too little to the others
            multipliers = found
            wrong = ~free & ((program.margins(multipliers) < 0) != (chosen > 0))
            if not wrong.any():
                return program.solution(multipliers, chosen)
            free |= wrong
        n_doubtful = min(n, 2 * n_doubtful)


def _of_all_rows(program: Program, start: FloatArray, width: float | None) -> tuple[FloatArray, FloatArray]:
    """Multipliers and predictions, without leaving any row out."""
    if width is not None and len(program.limits):
        return smoothed(program, start, width, ROUGHLY) or interior_point(program)
    if (sorted_out := one_price(program)) is not None:
        return sorted_out
    smooth = smoothed(program, start)
    if smooth is None:
        return interior_point(program)
    margins = program.margins(smooth[0])
    free = abs(margins) < WIDTHS * least_width(program) * program.row
    if not free.any():
        return smooth
    chosen = np.where(free, 0.0, margins < 0)
    remaining = program.remaining(free, chosen)
    multipliers, chosen[free] = interior_point(remaining)
    if remaining.excess(chosen[free]) < MET and not ((program.margins(multipliers) < 0) != (chosen > 0))[~free].any():
        return multipliers, chosen
    return interior_point(program)
