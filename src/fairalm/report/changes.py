"""From the plain model to another, group by group: a gap can close because every group's rates fall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fairalm.report.runs import PLAIN_MODEL, ModelRecord


class Change(NamedTuple):
    """A rate of one group under the plain model and under another, as facts; None where it is hidden."""

    group: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @property
    def text(self) -> str:
        """Both figures, the second with its interval."""
        before, after = (figure["text"] if figure else "hidden" for figure in (self.before, self.after))
        return f"{before} → {after} {self.after['interval'] if self.after else ''}".rstrip()


def changed_rates(compared: Iterable[str]) -> list[str]:
    """The rates that are shown from the plain model to another; `compared` are those of the constraint.

    >>> changed_rates(["fnr"]), changed_rates(["fnr", "fpr"])
    (['tpr', 'selection'], ['tpr', 'fpr', 'selection'])
    """
    others = ["fpr"] if {"fpr", "tnr"} & set(compared) else []
    return ["tpr", *others, "selection"]


def plain_of(model: ModelRecord, models: Sequence[ModelRecord]) -> int | None:
    """Position of the plain model that was trained with the same seed and tested on the same people."""
    if model.kind == PLAIN_MODEL or not model.splits["test"]["groups"]:
        return None
    matches = (other.kind == PLAIN_MODEL and _people(other) == _people(model) for other in models)
    return next((number for number, is_match in enumerate(matches) if is_match), None)


def _people(model: ModelRecord) -> tuple[Any, ...]:
    """The seed, and how many test people each group has of each label."""
    groups = model.splits["test"]["groups"]
    sizes = {name: (counts["tp"] + counts["fn"], counts["fp"] + counts["tn"]) for name, counts in groups.items()}
    return model.settings.get("seed"), sizes


def changes(facts: Mapping[str, Any], model: Mapping[str, Any], rate: str) -> list[Change]:
    """How a rate of each group changes from the plain model to this one; none if there is no plain model beside it."""
    if model["plain"] is None:
        return []
    before = {group["name"]: group["rates"][rate] for group in facts["models"][model["plain"]]["groups"]}
    return [Change(group["name"], before[group["name"]], group["rates"][rate]) for group in model["groups"]]
