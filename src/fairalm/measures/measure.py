"""One reported number: its value, its interval, and the data behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from fairalm.exceptions import InputError
from fairalm.measures.text import percent, with_interval

Split = Literal["heldout", "train"]


@dataclass(frozen=True)
class Measure:
    """A number about predictions.

    Attributes
    ----------
    name : str
        Its name in the registry ``MEASURES``.
    value : float or None
        None when it is undefined; `note` says why.
    low, high : float or None
        Ends of the interval; None on training data and when undefined.
    n, n_min : int
        Rows in the cells it rests on, and in the smallest of them, whatever their weights.
    signed : float or None
        mu0 - mu1 for a difference between two groups; over several events, of the one with the larger gap.
    note : str
        Names small or empty cells; "" if there are none.
    split : {"heldout", "train"}
        Whether the model was fitted on this data.

    Examples
    --------
    >>> print(Measure("deo", 0.031, low=0.012, high=0.05, n=1200, n_min=400))
    3.1 % [1.2, 5.0]
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_min: int
    signed: float | None = None
    note: str = ""
    split: Split = "heldout"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the name, ready for JSON."""
        return {name: value for name, value in vars(self).items() if name != "name"}

    def __str__(self) -> str:
        if self.value is None:
            return self.note
        if self.low is None or self.high is None:
            return f"{percent(self.value)} ({self.split})"
        return with_interval(self.value, self.low, self.high)


def people_to_settle(measure: Measure, tol: float) -> int | None:
    """About how many people the smallest cell would need for the interval to exclude `tol`.

    This assumes that all cells grow alike and that the value stays, so that the half-width shrinks with the square root
    of the number of people. The present number is returned if the interval excludes `tol` already; None if the measure
    is undefined, has no interval, or equals `tol`, where no number of people is enough.

    Examples
    --------
    >>> people_to_settle(Measure("deo", 0.03, low=0.0, high=0.07, n=900, n_min=100), tol=0.01)
    400
    """
    if tol < 0:
        raise InputError(f"`tol` must be 0 or more; got {tol!r}.")
    if measure.value is None or measure.low is None or measure.high is None:
        return None
    if not measure.low <= tol <= measure.high:
        return measure.n_min
    half_width, distance = max(measure.value - measure.low, measure.high - measure.value), abs(measure.value - tol)
    if distance == 0:
        return None
    return max(measure.n_min, math.ceil(round(measure.n_min * (half_width / distance) ** 2, 6)))
