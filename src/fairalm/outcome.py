"""A classifier as Algorithm 1 sees it, and the oracle that finds classifiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm.arrays import Array, FloatArray
from fairalm.moments import Moments
from fairalm.shifts import Shifts


@dataclass(frozen=True)
class Outcome:
    """A classifier as the game sees it.

    Parameters
    ----------
    error : float
        Its 0/1 error.
    moments : Moments
        The means of its cells, on the data that moves the multipliers.
    model : object
        The classifier itself.
    fit_moments : Moments, optional
        The means of its cells on the data it was fitted on, where that is other data.
    wrong : array of shape (2, groups), optional
        Weight of its wrong predictions by label and group.
    shifts : Shifts, optional
        The same with its threshold moved.
    """

    error: float
    moments: Moments
    model: Any = None
    fit_moments: Moments | None = None
    wrong: FloatArray | None = None
    shifts: Shifts | None = None

    @property
    def gap(self) -> FloatArray:
        """The gaps as a vector; 1, the worst possible, where a cell is empty and the gap is unknown."""
        return np.where(self.moments.defined, self.moments.gap, 1.0).astype(float).ravel()


#: (table of weights or None for the plain fit, the last classifier or None) -> the new classifier
Oracle = Callable[[Array | None, Outcome | None], Outcome]
