"""The secant method for a place where nothing is to be changed any more, each entry on its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairalm.arrays import FloatArray

SHORTEST, LONGEST = 0.1, 3.0  # share of the change that a step makes; the longest is divided by the number of steps


class Secant:
    """Looks for the place where the change that is wanted is 0.

    The first step makes the whole change. Each later one is as long as the last one suggests, which tells by how much
    a step lowers the change that is wanted after it: less than the whole where changes overshoot, more where they fall
    short. Steps become shorter with time, so that they settle even where there is no such place.

    Examples
    --------
    >>> secant, place = Secant(), np.zeros(1)
    >>> for _ in range(3):
    ...     place = secant.after(place, (1 - 3 * place) - place)  # to make all of the change would overshoot
    >>> place.round(6)
    array([0.25])
    """

    def __init__(self) -> None:
        self._last: tuple[FloatArray, FloatArray] | None = None
        self._n_steps = 0

    def after(self, place: FloatArray, change: FloatArray) -> FloatArray:
        """Where to go from a place where this change is wanted."""
        share: Any = 1.0
        if self._last is not None:
            moved, less = place - self._last[0], self._last[1] - change
            share = np.divide(moved, less, out=np.ones_like(moved), where=less * moved > 0)
            share = np.clip(share, SHORTEST, LONGEST / self._n_steps)
        self._last, self._n_steps = (place, change), self._n_steps + 1
        return np.asarray(place + share * change)
