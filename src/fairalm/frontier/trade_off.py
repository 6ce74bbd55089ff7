"""The trade-off of one sample: a curve of tolerances, and from there whatever else is asked."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import pandas as pd

from fairalm.constraints import Constraint, as_constraint
from fairalm.exceptions import InputError, ToleranceWarning
from fairalm.frontier.curve import REACH, Frontier
from fairalm.frontier.limits import Asked
from fairalm.frontier.point import Point
from fairalm.frontier.sample import Sample
from fairalm.frontier.table import curve_table, figures_of
from fairalm.measures import definition_of
from fairalm.measures.text import with_interval

#: The tolerances of the curve, and the ratios of one for a constraint with a ratio.
TOLERANCES = (0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100)  # points
RATIOS = (100, 97.5, 95, 92.5, 90, 87.5, 85, 82.5, 80, 75, 70, 65, 60, 50, 40, 30, 20, 10, 5, 1)  # per cent

LEAST_REACH = 0.004  # how far margins are from a guess between two points of the curve, about
MISSED = 0.02  # by which a limit must be missed for a warning; a tie of one row in a small group is less


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


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The curve of a sample, solved once, and a point for whatever else is asked.

    Parameters
    ----------
    sample : Sample
    constraints : tuple of Constraint
        What the curve is about, each with the tolerance that :meth:`at` falls back to.
    target : label
        The label that the sample's probabilities are those of.
    points, figures : lists
        The points of the curve, and their figures.
    """

    sample: Sample
    constraints: tuple[Constraint, ...]
    target: Any
    points: list[Point]
    figures: list[dict[str, Any]]

    @classmethod
    def of(cls, sample: Sample, constraints: tuple[Constraint, ...], target: Any) -> TradeOff:
        """Solve for all points of the curve, each beginning where the one before ended."""
        points: list[Point] = []
        new = cls(sample, constraints, target, points, [])
        name, values = varied(constraints)
        near = None
        for value in values:
            change: dict[str, Any] = {name: value}
            own = tuple(replace(c, **change) if (c.ratio is None) == (name == "tol") else c for c in constraints)
            asked = Asked(constraints=own)
            if near is not None and not near.multipliers.any() and not near.ties:  # looser limits do not bind either
                near = replace(near, asked=asked)
                new.figures.append(dict(new.figures[-1]))
            else:
                near = new._frontier.point(asked, near)
                new.figures.append(figures_of(near, sample))
            points.append(near)
        return new

    @cached_property
    def _frontier(self) -> Frontier:
        """Keeps the rows as the program takes them."""
        return Frontier(self.sample)

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from the sample."""
        return {name: value for name, value in vars(self).items() if name != "_frontier"}

    @property
    def table(self) -> pd.DataFrame:
        """One row per tolerance, or per ratio."""
        name, values = varied(self.constraints)
        return curve_table(name, values, self.points, self.figures, self.sample)

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
        constraints = bounded(constraints, tol, ratio)
        for own in constraints:
            if own.target is not None and own.target != self.target:
                raise InputError(
                    f"The frontier was fitted for the target {self.target!r}, not {own.target!r}: fit another for that."
                )
        asked = Asked(constraints=constraints, acceptance=acceptance, cost_fp=cost_fp, cost_fn=cost_fn, floor=floor)
        for point in self.points:
            if point.asked == asked:
                return point
        alike: list[Point] = []
        if asked.acceptance is None and asked.floor is None:  # the same limits as those of the curve, in the same order
            alike = [point for point in self.points if kinds_of(point.asked.constraints) == kinds_of(asked.constraints)]
        alike.sort(key=lambda point: distance(point.asked.constraints, asked.constraints))
        if len(alike) < 2:
            return self._frontier.point(asked)
        near, other = alike[:2]
        apart, gone = (distance(own.constraints, near.asked.constraints) for own in (other.asked, asked))
        guess = (
            near.between(other, gone / apart) if distance(other.asked.constraints, asked.constraints) < apart else None
        )
        return self._frontier.point(asked, near, guess, REACH if guess is None else LEAST_REACH)

    def figures_of(self, point: Point) -> dict[str, Any]:
        """Error, gap and the rates of every group at a point, out of fold; warns of a limit that is missed."""
        known = [figures for own, figures in zip(self.points, self.figures, strict=True) if own is point]
        figures = dict(known[0]) if known else figures_of(point, self.sample)
        warn_if_missed(point, figures)
        return figures


def bounded(constraints: tuple[Constraint, ...], tol: float | None, ratio: float | None) -> tuple[Constraint, ...]:
    """The constraints with another tolerance, or another ratio, if one is given."""
    if tol is not None and ratio is not None:
        raise InputError(
            "Pass {tol} or {ratio}, not both: one bounds a difference, the other a ratio.", tol=None, ratio=None
        )
    if tol is None and ratio is None:
        return constraints
    changes: dict[str, Any] = {"ratio": ratio} if tol is None else {"tol": tol, "ratio": None}
    return tuple(replace(own, **changes) for own in constraints)


def warn_if_missed(point: Any, figures: Mapping[str, Any]) -> None:
    """Warn if the rule of a point exceeds a limit because of ties, or on rows that the models had not seen."""
    text, parameters = "", {}
    constraints = point.asked.constraints
    tol = max(own.tol for own in constraints)
    if point.excess > MISSED:
        text = (
            f"The classifier misses a limit by {100 * point.excess:.1f} points: for {100 * point.ties:.1f} % of the"
            " rows several predictions cost the same, and it can only predict them alike. Choose an estimator with"
            " finer probabilities, such as boosting in place of a single tree."
        )
    elif (
        figures["gap"] is not None
        and figures["gap_low"] > tol
        and all(own.ratio is None and not own.one_sided for own in constraints)
    ):
        gap, parameters = with_interval(figures["gap"], figures["gap_low"], figures["gap_high"]), {"tol": None}
        text = (
            f"The gap on rows that the models had not seen is {gap}, above the tolerance of {100 * tol:g} %: the"
            " estimated probabilities may not tell some groups apart, or too few rows correct them. Merge small"
            " groups, let the model see the protected attribute, or choose a larger {tol}."
        )
    if text:
        warnings.warn(ToleranceWarning(text, **parameters), stacklevel=4)


def varied(constraints: tuple[Constraint, ...]) -> tuple[str, list[float]]:
    """What varies along the curve, "tol" or "ratio", and its values."""
    name = "tol" if constraints[0].ratio is None else "ratio"
    return name, [value / 100 for value in (TOLERANCES if name == "tol" else RATIOS)]


def kinds_of(constraints: tuple[Constraint, ...]) -> list[Any]:
    """What they compare, whatever their tolerances."""
    return [(type(one), one.ratio is None, one.reference, one.one_sided) for one in constraints]


def distance(one: tuple[Constraint, ...], other: tuple[Constraint, ...]) -> float:
    """How far the tolerances and ratios of constraints of the same kinds are from each other."""
    return sum(abs(a.tol - b.tol) + abs((a.ratio or 0) - (b.ratio or 0)) for a, b in zip(one, other, strict=True))
