"""Rates and measures of rounded counts, with intervals that allow for the rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairalm.measures import LabelRates, Measure
from fairalm.measures.rates import COUNTS, GroupRates
from fairalm.report.audit_cells import Counts, Groups, Table, key, label_keys
from fairalm.report.rounding import moves_of, rate_range, rounding_moves, sum_range
from fairalm.runs.audit_labels import over_labels
from fairalm.runs.metrics import verdict

Entry = dict[str, Any]


def selected_counts(own: Counts, part: str) -> dict[str, int]:
    """Those of a group who are selected, or part of it in another way, and the others."""
    return {"tp": 0, "fn": 0, "fp": own[part], "tn": own["n"] - own[part]}


def outcome_counts(own: Counts, table: Table) -> dict[str, int]:
    """The confusion counts of a group."""
    n1, w1, w0 = (own[key(what, table)] for what in ("n1", "w1", "w0"))
    n0 = own["n"] - n1 if "label" in table else own["n0"]
    return {"tp": n1 - w1, "fn": w1, "fp": w0, "tn": max(n0 - w0, 0)}


def share_range(own: Counts, part: str, unit: int) -> dict[str, float]:
    """The range of a share of a group. With several labels its size is a sum; with outcomes so is a label's count."""
    labels = len(label_keys(own, "k"))
    if not labels:
        return rate_range(selected_counts(own, part), "fpr", unit)
    terms = (1, labels + 1) if part == "s" else (3, labels + 1) if label_keys(own, "n1") else (1, labels - 1)
    return sum_range(own[part], own["n"] - own[part], terms, unit)


def group_rates_of(counts: Mapping[str, Mapping[str, int]]) -> GroupRates:
    """Confusion counts by group, for the measures."""
    arrays: Any = {part: np.array([own[part] for own in counts.values()], dtype=np.int64) for part in COUNTS}
    return GroupRates(tuple(counts), **arrays, target="selected")


def wider(measure: Mapping[str, Any], change: float) -> Entry:
    """A measure with an interval that is wider by a change."""
    if measure["low"] is None:
        return dict(measure)
    return {**measure, "low": max(measure["low"] - change, 0.0), "high": min(measure["high"] + change, 1.0)}


def measure_in(entry: Mapping[str, Any]) -> Measure:
    """The measure of an entry."""
    return Measure("", *(entry[name] for name in ("value", "low", "high", "n", "n_min")))


def judged_again(difference: Mapping[str, Any]) -> Entry:
    """A difference with the verdict of its interval."""
    return {**difference, "verdict": verdict(measure_in(difference), difference["limit"])}


def labels_together(audit: Mapping[str, Any], name: str, groups: Groups, unit: int) -> Entry:
    """What the tables of several labels say together, of an attribute whose tables are of rounded counts."""
    selection, outcomes = (
        [table for table in audit[what] if table["attribute"] == name] for what in ("selection", "outcomes")
    )
    first, tol = selection[0], audit["config"]["tol"]
    judged = first["judged"]
    rates = _label_rates(groups, selection, has_outcomes=bool(outcomes))
    worst = over_labels(
        rates, selection, outcomes, first["reference"] if first["reference_is"] == "given" else None, tol
    )

    def change(table: Table) -> float:
        return moves_of([share_range(groups[group], key("k", table), unit) for group in judged], "difference")

    if judged:
        worst["difference"] = judged_again(wider(worst["difference"], max(map(change, selection))))
    if outcomes:
        errors = {group: _error_range(own, unit) for group, own in groups.items()}
        worst["errors"] = {group: {**own, "range": errors[group]} for group, own in worst["errors"].items()}
        counts = [[outcome_counts(own, table) for own in groups.values()] for table in outcomes]
        changes = {
            "deo": max(rounding_moves(own, "tpr", unit, "difference") for own in counts),
            "error_parity": moves_of([own for own in errors.values() if own], "difference"),
        }
        worst["gaps"] = {gap: judged_again(wider(worst["gaps"][gap], far)) for gap, far in changes.items()}
    return worst


def _label_rates(groups: Groups, tables: Sequence[Table], *, has_outcomes: bool) -> LabelRates:
    each = {
        table["label"]: group_rates_of(
            {
                name: outcome_counts(own, table) if has_outcomes else selected_counts(own, key("k", table))
                for name, own in groups.items()
            }
        )
        for table in tables
    }
    right = {
        name: {"tp": own["n"] - (wrong := _wrong(own)), "fn": wrong, "fp": 0, "tn": 0} for name, own in groups.items()
    }
    return LabelRates(each, group_rates_of(right))


def _wrong(own: Counts) -> int:
    return sum(own[name] for name in label_keys(own, "w1"))


def _error_range(own: Counts, unit: int) -> dict[str, float]:
    n_labels = len(label_keys(own, "w1"))
    return sum_range(_wrong(own), own["n"] - _wrong(own), (n_labels, 2 * n_labels), unit)
