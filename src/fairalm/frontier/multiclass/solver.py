"""Solving the program: smoothed first, then exactly for the rows and labels that are next to a tie."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, coo_array, eye_array

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.frontier.multiclass.program import LabelProgram, one_hot
from fairalm.frontier.multiclass.smoothed import least_width, smoothed
from fairalm.frontier.program import ROOM, Solution
from fairalm.frontier.solver import ROUGHLY, WIDTHS

FURTHER = 4.0  # times as many margins are in doubt where those in doubt cannot meet the limits
MANY = 50_000  # unknowns; for more, HiGHS's interior points are quicker: by three at 100,000 that contradict each other
SURELY = 1e-9  # a label is cheaper by more than this, in costs of a mistake, or it is a tie


def solve(program: LabelProgram, start: FloatArray | None = None, *, width: float | None = None) -> Solution:
    """Solve the program; `start` is a guess of the multipliers, such as those of a neighbouring tolerance.

    With a `width`, in costs of a mistake, predictions pass from one label to another over margins of that: it is
    quicker, meets the limits as well, and both predictions and multipliers change smoothly with the limits.

    Examples
    --------
    >>> costs, parts = np.array([[0.0, 0.5], [0.0, 0.3]]), [np.ones((2, 1)), np.ones((2, 0))]
    >>> solve(LabelProgram(costs, parts, limits=np.ones((1, 1)), bounds=np.ones(1))).chosen.round(3)
    array([[1., 0.],
           [0., 1.]])
    """
    none = np.zeros(len(program.bounds))
    start = none if start is None else start
    if not len(program.bounds):
        return _cheapest(program, none)
    found = smoothed(program, start) if width is None else smoothed(program, start, width, ROUGHLY)
    smooth = None if found is None else program.solution(*found)
    if smooth is not None and width is not None:
        return smooth
    exact = _exact(program, None if smooth is None else smooth.multipliers)
    return exact or smooth or _cheapest(program, none)  # the last two where no predictions quite meet the limits


def _cheapest(program: LabelProgram, multipliers: FloatArray) -> Solution:
    margins = program.margins(multipliers)
    return program.solution(multipliers, one_hot(margins.argmin(axis=1), margins.shape[1]))


def _exact(program: LabelProgram, near: FloatArray | None) -> Solution | None:
    """The exact solution, by way of the labels that are next to the cheapest at multipliers `near`, if they are given.

    Labels that the new multipliers make cheaper join them. None if no predictions meet the limits.
    """
    reach, free = WIDTHS * least_width(program) * program.row, np.ones(program.costs.shape, dtype=bool)
    if near is not None:
        margins = program.margins(near)
        free = margins <= margins.min(axis=1, keepdims=True) + reach
    while True:
        found = _linear_program(program, free)
        if found is None:
            if free.all():
                return None
            reach *= FURTHER
            free |= margins <= margins.min(axis=1, keepdims=True) + reach
            continue
        margins = program.margins(found[0])
        least = np.where(free, margins, np.inf).min(axis=1, keepdims=True)
        cheaper = margins < least - SURELY * program.row
        if not cheaper.any():
            return program.solution(*found)
        free |= cheaper


def _linear_program(program: LabelProgram, free: BoolArray) -> tuple[FloatArray, FloatArray] | None:
    """Multipliers and predictions among the `free` labels of each row, by HiGHS; None if they cannot meet the limits.

    The unknowns are the predictions of rows with several free labels, and the sums.
    """
    rows, chosen = np.flatnonzero(free.sum(axis=1) > 1), free.astype(float)
    chosen[rows] = 0.0
    settled, n_sums, scale = program.sums(chosen), program.limits.shape[1], 1 / program.row
    place, label = np.nonzero(free[rows])
    n = len(place)
    adds = _adds(program, rows[place], label)
    one_each = coo_array((np.ones(n), (place, np.arange(n))), (len(rows), n))
    costs = np.concatenate([program.costs[rows[place], label] * scale, np.zeros(n_sums)])
    found: Any = linprog(  # type: ignore[call-overload]
        costs,
        A_ub=block_array([[coo_array((len(program.limits), n)), coo_array(program.limits)]], format="csr"),
        b_ub=(program.bounds + ROOM - program.limits @ settled) * scale,
        A_eq=block_array([[one_each, None], [adds * scale, -eye_array(n_sums)]], format="csr"),
        b_eq=np.concatenate([np.ones(len(rows)), np.zeros(n_sums)]),
        bounds=[(0, None)] * n + [(None, None)] * n_sums,
        method="highs" if n < MANY else "highs-ipm",
    )
    if found.x is None:
        return None
    chosen[rows[place], label] = found.x[:n]
    return np.maximum(-found.ineqlin.marginals, 0.0), chosen


def _adds(program: LabelProgram, rows: IntArray, label: IntArray) -> Any:
    """What each prediction, of a row as a label, adds to the sums: to those of its own label only."""
    values, places, unknowns = [], [], []
    for k, (part, place) in enumerate(zip(program.parts, program.places, strict=True)):
        own = np.flatnonzero(label == k)
        values.append(part[rows[own]].ravel())
        places.append(np.tile(np.arange(place.start, place.stop), len(own)))
        unknowns.append(np.repeat(own, part.shape[1]))
    entries = np.concatenate(values), (np.concatenate(places), np.concatenate(unknowns))
    return coo_array(entries, (program.limits.shape[1], len(rows)))
