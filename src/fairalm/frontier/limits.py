"""What is asked of a point of the frontier, as limits of the linear program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from fairalm._coding import group_name
from fairalm._validation import no_such
from fairalm.arrays import FloatArray
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.frontier.joint import Rates, shares_of, slopes_of

PLAIN = "plain"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a point of the frontier must do.

    Parameters
    ----------
    constraints : tuple of Constraint
        Each with its tolerance, or ratio.
    acceptance : float, optional
        Share of all rows predicted as the target.
    cost_fp, cost_fn : float
        What a false positive and a false negative cost.
    floor : "plain" or float, optional
        No group's share predicted as the target (its TPR for equal opportunity and equalized odds) may fall below the
        plain model's, or below this number.
    """

    constraints: tuple[Constraint, ...]
    acceptance: float | None = None
    cost_fp: float = 1.0
    cost_fn: float = 1.0
    floor: Literal["plain"] | float | None = None

    def __post_init__(self) -> None:
        if self.acceptance is not None and not 0 <= self.acceptance <= 1:
            raise InputError(f"{{acceptance}} must lie in [0, 1]; got {self.acceptance!r}.", acceptance=None)
        for name in ("cost_fp", "cost_fn"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"{{{name}}} must be positive; got {getattr(self, name)!r}.", **{name: None})
        if isinstance(self.floor, str) and self.floor != PLAIN:
            raise InputError(f"{{floor}} must be 'plain' or a rate; got {self.floor!r}.", floor=None)
        if isinstance(self.floor, (int, float)) and not 0 <= self.floor <= 1:
            raise InputError(f"{{floor}} must lie in [0, 1]; got {self.floor!r}.", floor=None)
        if self.floor is not None and not any(_with_floor(constraint) for constraint in self.constraints):
            names = " and ".join(type(constraint).__name__ for constraint in self.constraints)
            raise InputError(
                f"{names} has no rate that {{floor}} could hold up: choose demographic parity, equal opportunity or"
                " equalized odds.",
                floor=None,
            )


def check_comparable(constraint: Constraint, names: Sequence[Any]) -> None:
    """Refuse a reference that is no group, and a ratio of what is not a share predicted as the target."""
    if constraint.reference is not None:
        _index(constraint.reference, names)
    if constraint.ratio is not None and not all(slopes_of(constraint)):
        raise InputError(
            f"{type(constraint).__name__} does not compare shares predicted as the target, so it has no ratio:"
            " give a `tol`, or choose demographic parity, equal opportunity or equalized odds."
        )


@dataclass
class Limits:
    """Rows of ``matrix @ sums <= bounds``, gathered one after the other."""

    n_sums: int
    matrix: list[FloatArray] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)

    def add(self, row: FloatArray, constant: float, bound: float) -> None:
        """Bound ``row @ sums + constant``."""
        self.matrix.append(row)
        self.bounds.append(bound - constant)

    def arrays(self) -> tuple[FloatArray, FloatArray]:
        """The matrix and the bounds."""
        return np.array(self.matrix).reshape(-1, self.n_sums), np.array(self.bounds)

    def compare(self, constraint: Constraint, rates: Rates, names: Sequence[Any], blocks: tuple[int, ...]) -> None:
        """Bound the differences or ratios between the groups of each attribute."""
        for (first, second), event in _pairs(constraint, names, blocks, len(rates.constants)):
            row, other = rates.table[event, first], rates.table[event, second]
            constant, other_constant = rates.constants[event, first], rates.constants[event, second]
            if constraint.ratio is None:
                if constraint.one_sided and rates.slopes[event] > 0:  # a share predicted may not be below the reference
                    row, constant, other, other_constant = other, other_constant, row, constant
                self.add(row - other, constant - other_constant, constraint.tol)
                continue
            # the share predicted: at least `ratio` times the second group's
            if rates.slopes[event] < 0:
                row, constant, other, other_constant = -row, 1 - constant, -other, 1 - other_constant
            self.add(constraint.ratio * other - row, constraint.ratio * other_constant - constant, 0.0)

    def raise_to(self, rates: Rates, floor: FloatArray) -> None:
        """Keep the share predicted as the target at or above `floor`, shape (events, groups), where it is not NaN."""
        for event, group in zip(*np.nonzero(np.isfinite(floor)), strict=True):
            sign = rates.slopes[event]
            constant = rates.constants[event, group] if sign > 0 else 1 - rates.constants[event, group]
            self.add(-sign * rates.table[event, group], -constant, -float(floor[event, group]))


def _pairs(
    constraint: Constraint, names: Sequence[Any], blocks: tuple[int, ...], n_events: int
) -> list[tuple[tuple[int, int], int]]:
    """Pairs of groups (first, second) and events: the first's rate is bounded against the second's."""
    start, pairs = 0, []
    reference = None if constraint.reference is None else _index(constraint.reference, names)
    back = constraint.ratio is None and not constraint.one_sided
    for size in blocks or (len(names),):
        own = range(start, start + size)
        both = [(first, second) for first in own for second in own if first != second]
        if reference in own:  # other attributes' groups are still compared with each other
            both = [pair for pair in both if pair[1] == reference or (back and pair[0] == reference)]
        pairs += both
        start += size
    return [(pair, event) for event in range(n_events) for pair in pairs]


def _index(reference: Any, names: Sequence[Any]) -> int:
    shown = [group_name(name) for name in names]
    if group_name(reference) not in shown:
        raise no_such("group", group_name(reference), shown)
    return shown.index(group_name(reference))


def floor_of(asked: Asked, constraint: Constraint, rates: Rates, plain: FloatArray) -> FloatArray:
    """The smallest share predicted as the target that each cell may have; NaN where none is asked.

    `plain` has the plain model's rates. Events about rows that do not have the target label have no floor: a
    higher false positive rate helps nobody.
    """
    floor = np.full(plain.shape, np.nan)
    if asked.floor is None:
        return floor
    for event in _with_floor(constraint):
        own = plain[event] if rates.slopes[event] > 0 else 1 - plain[event]
        floor[event] = own if asked.floor == PLAIN else float(asked.floor)
    return floor


def _with_floor(constraint: Constraint) -> list[int]:
    """Events whose rate of the target can be held up."""
    pairs = zip(slopes_of(constraint), shares_of(constraint), strict=True)
    return [
        event
        for event, (slope, shares) in enumerate(pairs)
        if slope and any(share.population != "other" for share in shares)
    ]
