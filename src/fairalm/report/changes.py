"""From the plain model to another, group by group: a gap can close because every group's rates fall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fairalm.measures.text import with_interval
from fairalm.report.models import coarse
from fairalm.report.release import LEFT_OUT
from fairalm.report.runs import PLAIN_MODEL, ModelRecord
from fairalm.report.verdict import RateChange

Facts = Mapping[str, Any]


class Change(NamedTuple):
    """A rate of one group under the plain model and under another, as facts; None where it is hidden."""

    group: str
    before: Facts | None
    after: Facts | None

    @property
    def text(self) -> str:
        """Both figures, the second with its interval."""
        before, after = (figure["text"] if figure else LEFT_OUT for figure in (self.before, self.after))
        return f"{before} → {after} {self.after['interval'] if self.after else ''}".rstrip()


def changed_rates(compared: Iterable[str]) -> list[str]:
    """The rates that are shown from the plain model to another; `compared` are those of the constraint.

    >>> changed_rates(["fnr"]), changed_rates(["fnr", "fpr"]), changed_rates(["selection"])
    (['tpr', 'selection'], ['tpr', 'fpr', 'selection'], ['selection', 'tpr'])
    """
    others = ["fpr"] if {"fpr", "tnr"} & set(compared) else []
    return ["selection", "tpr"] if set(compared) == {"selection"} else ["tpr", *others, "selection"]


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


def changes(facts: Facts, model: Facts, rate: str) -> list[Change]:
    """How a rate of each group changes from the plain model to this one; none if there is no plain model beside it."""
    if model["plain"] is None:
        return []
    before = {group["name"]: group["rates"][rate] for group in facts["models"][model["plain"]]["groups"]}
    return [Change(group["name"], before[group["name"]], group["rates"][rate]) for group in model["groups"]]


def group_changes(facts: Facts, model: Facts, rate: str) -> list[RateChange]:
    """The same as numbers, with the interval of each change; without a plain model there is no before."""
    known = (model["change"] or {}).get("groups", {})
    alone = [Change(group["name"], None, group["rates"][rate]) for group in model["groups"]]
    return [
        RateChange(
            each.group,
            each.before["value"] if each.before else None,
            each.after["value"] if each.after else None,
            known.get(each.group, {}).get(rate),
        )
        for each in changes(facts, model, rate) or alone
    ]


def change_facts(recorded: Facts | None, measure: str, before: Facts, after: Facts) -> dict[str, Any] | None:
    """The paired differences that a run records, as far as they may be shown.

    `before` and `after` are the facts of the two models. A difference is hidden where one of its two figures is, and in
    whole points where one of them is.
    """
    if recorded is None:
        return None
    parts = {"error": "error", "gap": measure}
    shown = {part: _shown(recorded.get(key), before[part], after[part]) for part, key in parts.items()}
    plain, known = {group["name"]: group["rates"] for group in before["groups"]}, recorded.get("groups", {})
    groups = {
        name: {rate: _shown(known.get(name, {}).get(rate), plain[name][rate], figure) for rate, figure in rates.items()}
        for name, rates in ((group["name"], group["rates"]) for group in after["groups"])
    }
    return {**shown, "groups": groups}


def _shown(change: Facts | None, before: Facts | None, after: Facts | None) -> dict[str, Any] | None:
    if not change or not before or not after or change["low"] is None or None in (before["value"], after["value"]):
        return None
    digits = min(before["digits"], after["digits"])
    ends = {name: round(change[name], 5) + 0.0 for name in ("value", "low", "high")} if digits else coarse(change)
    text = with_interval(ends["value"], ends["low"], ends["high"], digits, unit="", sign="+")
    return {**ends, "digits": digits, "text": text}
