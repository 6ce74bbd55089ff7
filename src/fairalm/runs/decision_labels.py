"""Which labels decisions and outcomes have: two, one of which means selected, or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairalm.arrays import BoolArray
from fairalm.exceptions import InputError
from fairalm.measures import Counts

MOST = 20  # labels that are compared one by one; more are ids, text or scores


@dataclass(frozen=True)
class DecisionLabels:
    """Decision and outcome of each line as booleans, and the label that is True; or several labels."""

    selected: BoolArray | None = None
    outcome: BoolArray | None = None
    positive: Any = None
    several: tuple[str, ...] = ()  # in order; empty if there are two, or if one counts against the others

    @classmethod
    def of(cls, counts: Counts, positive: Any, most: int = MOST) -> DecisionLabels:
        """The labels of a table of counts, after checking that there are at most `most`, or that one is named."""
        columns = [column for column in (counts.prediction, counts.target) if column is not None]
        if not columns:
            return cls()
        each = [_labels_in(counts, column) for column in columns]
        if positive is None and _are_several(counts, each, most):
            return cls(several=tuple(map(str, sorted({**each[0], **each[-1]}.values()))))
        positive = _positive(positive, columns, each, most if counts.prediction is not None else 2)
        selected, outcome = (
            None if column is None else (counts.table[column].astype(str) == str(positive)).to_numpy(dtype=bool)
            for column in (counts.prediction, counts.target)
        )
        return cls(selected, outcome, positive)


def _labels_in(counts: Counts, column: str) -> dict[str, Any]:
    if absent := counts.rows_without(column):
        raise InputError(f"Column {column!r} has {absent} missing values: drop or fill those rows first.")
    return {str(label): label for label in counts.table[column].tolist()}


def _are_several(counts: Counts, each: Sequence[dict[str, Any]], most: int) -> bool:
    """Whether decisions have several labels, and outcomes the same; two in common show that they are the same."""
    labels = {text: label for own in each for text, label in own.items()}
    is_one_type = len({type(label) is str for label in labels.values()}) == 1
    in_common = set(each[0]).intersection(*each)
    return counts.prediction is not None and 2 < len(labels) <= most and is_one_type and len(in_common) > 1


def _positive(positive: Any, columns: Sequence[str], each: Sequence[dict[str, Any]], most: int) -> Any:
    """The label that means selected, after checking that the columns hold the same two, or that it is named."""
    labels = {text: label for own in each for text, label in own.items()}
    shown = ", ".join(repr(label) for label in list(labels.values())[:5]) + (", ..." if len(labels) > 5 else "")
    is_two = len(labels) <= 2 and len({type(label) is str for label in labels.values()}) == 1
    if not is_two and (positive is None or (len(each) > 1 and any(positive not in own for own in each))):
        if len(columns) == 1:
            or_more = "" if most == 2 else f", or up to {most} labels"
            what = f"Column {columns[0]!r} must hold two values, such as yes and no{or_more}; it holds {shown}"
        else:
            or_more = "" if most == 2 else f", or up to {most}, of which both columns have two"
            what = (
                f"Columns {columns[0]!r} and {columns[1]!r} must hold the same two labels{or_more}; they hold {shown}"
            )
        raise InputError(
            f"{what}: say with {{positive}} which one counts, or name a column of scores with {{score}}.",
            positive=None,
            score=None,
        )
    if positive is not None:
        if positive not in labels:
            raise InputError(f"{{positive}} is not a label: there are {shown}.", positive=positive)
        return labels[positive]
    if len(labels) < 2:
        raise InputError(f"Only the label {shown} occurs: say with {{positive}} which one is positive.", positive=None)
    return max(labels.values())
