"""The trade-off of one sample with several labels: a curve of tolerances, and from there whatever else is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.frontier.multiclass.asked import LabelsAsked, as_costs, target_codes
from fairalm.frontier.multiclass.curve import LabelFrontier, LabelPoint
from fairalm.frontier.multiclass.sample import LabelSample
from fairalm.frontier.multiclass.table import point_figures
from fairalm.frontier.trade_off import as_constraints, bounded, distance, kinds_of, varied, warn_if_missed


@dataclass(frozen=True, eq=False)
class LabelTradeOff:
    """The curve of a sample, solved once, and a point for whatever else is asked.

    Attributes as in :class:`fairalm.frontier.trade_off.TradeOff`; `targets` are the codes of the labels that the
    constraints are about, each against the rest.
    """

    sample: LabelSample
    constraints: tuple[Constraint, ...]
    targets: list[int]
    points: list[LabelPoint]
    figures: list[dict[str, Any]]

    @classmethod
    def of(cls, sample: LabelSample, constraints: tuple[Constraint, ...]) -> LabelTradeOff:
        """Solve for all points of the curve, each beginning where the one before ended."""
        new = cls(sample, constraints, target_codes(constraints, sample.labels), [], [])
        near, costs = None, as_costs(None, sample.labels)
        name, values = varied(constraints)
        for value in values:
            change: dict[str, Any] = {name: value}
            own = tuple(replace(c, **change) if (c.ratio is None) == (name == "tol") else c for c in constraints)
            asked = LabelsAsked(own, costs)
            if near is not None and not near.multipliers.any() and not near.ties:  # looser limits do not bind either
                near = replace(near, asked=asked)
                new.figures.append(dict(new.figures[-1]))
            else:
                near = new._frontier.point(asked, near)
                new.figures.append(point_figures(near, sample, new.targets))
            new.points.append(near)
        return new

    @cached_property
    def _frontier(self) -> LabelFrontier:
        """Keeps the rows as the program takes them."""
        return LabelFrontier(self.sample, self.targets)

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from the sample."""
        return {name: value for name, value in vars(self).items() if name != "_frontier"}

    @property
    def table(self) -> pd.DataFrame:
        """One row per tolerance, or per ratio."""
        name, values = varied(self.constraints)
        return pd.DataFrame([{name: value} | own for value, own in zip(values, self.figures, strict=True)])

    def at(
        self, *, tol: float | None = None, ratio: float | None = None, constraint: Any = None, costs: Any = None
    ) -> LabelPoint:
        """The point asked for: one of the curve, or a new one that begins at the nearest."""
        constraints = self.constraints if constraint is None else as_constraints(constraint)
        constraints = bounded(constraints, tol, ratio)
        labels = self.sample.labels
        if any(own.target is not None and target_codes([own], labels) != self.targets for own in constraints):
            shown = ", ".join(repr(labels[k]) for k in self.targets)
            raise InputError(
                f"The frontier was fitted for the labels {shown}: name the same as the target, or fit another."
            )
        asked = LabelsAsked(constraints, as_costs(costs, labels))
        for point in self.points:
            if point.asked == asked:
                return point
        alike = [point for point in self.points if kinds_of(point.asked.constraints) == kinds_of(asked.constraints)]
        near = min(alike, key=lambda point: distance(point.asked.constraints, asked.constraints), default=None)
        return self._frontier.point(asked, near)

    def figures_of(self, point: LabelPoint) -> dict[str, Any]:
        """Error, gap and rates of every label and group at a point, out of fold; warns of a limit that is missed."""
        known = [figures for own, figures in zip(self.points, self.figures, strict=True) if own is point]
        figures = dict(known[0]) if known else point_figures(point, self.sample, self.targets)
        warn_if_missed(point, figures)
        return figures
