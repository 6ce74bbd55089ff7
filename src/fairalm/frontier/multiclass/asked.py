"""What is asked of a point of the frontier of several labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.frontier.joint import EVERYONE, Population, populations_of, slopes_of

Costs = tuple[tuple[float, ...], ...]
DEFAULTS = {"acceptance": None, "cost_fp": 1.0, "cost_fn": 1.0, "floor": None}


@dataclass(frozen=True)
class LabelsAsked:
    """What a point must do: constraints, each with its tolerance or ratio, and the costs of mistakes."""

    constraints: tuple[Constraint, ...]
    costs: Costs

    @property
    def cost_table(self) -> FloatArray:
        """What it costs to predict a label (second axis) where another one (first axis) is right."""
        return np.array(self.costs, dtype=float)


def as_costs(costs: Any, labels: Sequence[Any]) -> Costs:
    """Costs as a table, a row for each right label and a column for each predicted one; 1 for each mistake if None.

    >>> as_costs(None, ["a", "b"])
    ((0.0, 1.0), (1.0, 0.0))
    """
    n = len(labels)
    try:
        table = np.asarray(1 - np.eye(n) if costs is None else costs, dtype=float)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.shape != (n, n) or not np.isfinite(table).all():
        shown = ", ".join(map(str, labels))
        raise InputError(
            f"{{costs}} must be a table of {n} × {n} numbers, a row for each right label and a column for each"
            f" predicted one, both in the order {shown}; got {costs!r}.",
            costs=None,
        )
    if (np.diag(table)[:, None] > table).any():
        raise InputError("{costs} must be least on the diagonal: the right label costs least.", costs=None)
    return tuple(tuple(row) for row in table.tolist())


def target_codes(constraints: Sequence[Constraint], labels: Sequence[Any]) -> list[int]:
    """Codes of the labels that the constraints name, all of them if they name none."""
    target = constraints[0].target
    if target is None:
        return list(range(len(labels)))
    named = target if isinstance(target, tuple) else (target,)
    known = list(labels)
    for label in named:
        if label not in known:
            shown = ", ".join(repr(each) for each in known)
            raise InputError(f"{{target}} is not a label of y, whose labels are {shown}.", target=label)
    return sorted({known.index(label) for label in named})


def check_compares_predictions(constraint: Constraint) -> None:
    """Refuse a constraint that does not compare how often a label is predicted."""
    if not all(slopes_of(constraint)):
        raise InputError(
            f"{type(constraint).__name__} does not compare how often a label is predicted, so it has no frontier of"
            " more than two labels: choose equal opportunity, predictive equality, equalized odds or demographic"
            " parity, or one label against the rest."
        )


def label_populations(constraints: Sequence[Constraint], targets: Sequence[int], n_labels: int) -> list[Population]:
    """Whose groups must be known: those of everyone, of the labels that are targets, or of all labels."""
    needed = populations_of(constraints)
    codes = range(n_labels) if "other" in needed else targets if "target" in needed else ()
    return [*codes, *([EVERYONE] if EVERYONE in needed else [])]


def refuse_one_target(asked: Mapping[str, Any]) -> None:
    """Refuse what can be asked of two labels only, one of which is the target, unless it is left at its default."""
    for name, value in asked.items():
        if value != DEFAULTS[name]:
            raise InputError(
                f"{{{name}}} is for two labels, one of which is the target, and here each is compared against the rest:"
                " pass {costs}, a table with a row for each right label and a column for each predicted one, or fit one"
                " label against the rest.",
                **{name: value},
                costs=None,
            )


def refuse_costs(costs: Any) -> None:
    """Refuse a table of costs of two labels."""
    if costs is not None:
        raise InputError(
            "{costs} is for more than two labels: pass {cost_fp} and {cost_fn}.", costs=None, cost_fp=None, cost_fn=None
        )
