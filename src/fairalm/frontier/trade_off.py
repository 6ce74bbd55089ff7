"""The trade-off of one sample: a curve of tolerances, and from there whatever else is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from fairalm.constraints import Constraint, as_constraint
from fairalm.exceptions import InputError
from fairalm.frontier.curve import Frontier, Point, Sample
from fairalm.frontier.limits import Asked
from fairalm.frontier.table import curve_table, figures_of
from fairalm.measures import definition_of

#: The tolerances of the curve, and the ratios of one for a constraint with a ratio.
TOLERANCES = (0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100)  # points
RATIOS = (100, 97.5, 95, 92.5, 90, 87.5, 85, 82.5, 80, 75, 70, 65, 60, 50, 40, 30, 20, 10, 5, 1)  # per cent


def as_constraints(given: Any) -> tuple[Constraint, ...]:
    """The constraints given as one, as its name or as a list; equal opportunity if None.

    >>> as_constraints("equal-opportunity")
    (EqualOpportunity(tol=0.01),)
    """
    several = given if isinstance(given, (list, tuple)) else [given]
    if not several:
        raise InputError("`constraint` is an empty list: name at least one.")
    constraints = tuple(as_constraint(one, plain=False) for one in several)
    for one in constraints:
        definition_of(one)  # refuses rates that cannot be measured
    if len({repr(one.target) for one in constraints}) > 1:
        raise InputError("The constraints have different targets: give them one.")
    return constraints


class TradeOff:
    """The curve of a sample, solved once, and a point for whatever else is asked.

    Parameters
    ----------
    sample : Sample
    constraints : tuple of Constraint
        What the curve is about, each with the tolerance that :meth:`at` falls back to.
    target : label
        The label that the sample's probabilities are those of.

    Attributes
    ----------
    table : DataFrame
        One row per tolerance, or per ratio.
    """

    def __init__(self, sample: Sample, constraints: tuple[Constraint, ...], target: Any) -> None:
        self.sample, self.constraints, self.target = sample, constraints, target
        self._points: list[Point] = []
        frontier = Frontier(sample)
        name = "tol" if constraints[0].ratio is None else "ratio"
        values = [value / 100 for value in (TOLERANCES if name == "tol" else RATIOS)]
        near = None
        for value in values:  # each point begins where the one before ended
            change: dict[str, Any] = {name: value}
            own = tuple(replace(c, **change) if (c.ratio is None) == (name == "tol") else c for c in constraints)
            near = frontier.point(Asked(constraints=own), near)
            self._points.append(near)
        self.table = curve_table(name, values, self._points, sample)

    def at(
        self,
        *,
        tol: float | None = None,
        ratio: float | None = None,
        constraint: Any = None,
        acceptance: float | None = None,
        cost_fp: float = 1.0,
        cost_fn: float = 1.0,
        floor: Literal["plain"] | float | None = None,
    ) -> Point:
        """The point asked for: one of the curve, or a new one that begins at the nearest."""
        constraints = self.constraints if constraint is None else as_constraints(constraint)
        if tol is not None and ratio is not None:
            raise InputError(
                "Pass {tol} or {ratio}, not both: one bounds a difference, the other a ratio.", tol=None, ratio=None
            )
        if tol is not None or ratio is not None:
            changes: dict[str, Any] = {"ratio": ratio} if tol is None else {"tol": tol, "ratio": None}
            constraints = tuple(replace(own, **changes) for own in constraints)
        for own in constraints:
            if own.target is not None and own.target != self.target:
                raise InputError(
                    f"The frontier was fitted for the target {self.target!r}, not {own.target!r}: fit another for that."
                )
        asked = Asked(constraints=constraints, acceptance=acceptance, cost_fp=cost_fp, cost_fn=cost_fn, floor=floor)
        for point in self._points:
            if point.asked == asked:
                return point
        near = None
        if asked.acceptance is None and asked.floor is None:  # the same limits as those of the curve, in the same order
            alike = [point for point in self._points if _kinds(point.asked) == _kinds(asked)]
            near = min(alike, key=lambda point: _distance(point.asked, asked), default=None)
        return Frontier(self.sample).point(asked, near)

    def figures(self, point: Point) -> dict[str, Any]:
        """Error, gap and the rates of every group at a point, out of fold."""
        return figures_of(point, self.sample)


def _kinds(asked: Asked) -> list[Any]:
    return [(type(one), one.ratio is None, one.reference, one.one_sided) for one in asked.constraints]


def _distance(one: Asked, other: Asked) -> float:
    pairs = zip(one.constraints, other.constraints, strict=True)
    return sum(abs(a.tol - b.tol) + abs((a.ratio or 0) - (b.ratio or 0)) for a, b in pairs)
