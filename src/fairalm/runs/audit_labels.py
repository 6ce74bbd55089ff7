"""The tables of an audit of several labels: one per label against the rest, and the worst over the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairalm._validation import Groups
from fairalm.arrays import IntArray
from fairalm.measures import MEASURES, GroupRates, LabelRates, holm, measure_of
from fairalm.runs.audit_tables import (
    Entry,
    compared,
    difference_of,
    judged_difference,
    measured,
    rate_rows,
    some_groups,
    unknown_entry,
)
from fairalm.runs.decisions import CountedDecisions

GAPS = tuple(name for name, measure in MEASURES.items() if measure.kind == "difference")


@dataclass(frozen=True)
class LabelTables:
    """The tables of one attribute, in the order of the labels, and what they say together."""

    selection: list[Entry]
    outcomes: list[Entry]
    worst: Entry


def label_tables(
    counted: CountedDecisions, columns: Sequence[str], groups: Groups, reference: str | None
) -> LabelTables:
    """Each label of the decisions against the rest, by group."""
    given, rates = counted.given, counted.label_rates(groups)
    decided, selection, outcomes = counted.counts.table[given.decision].astype(str), [], []
    for label, own in rates.each.items():
        unknown = unknown_entry(counted, groups, (decided == label).to_numpy(dtype=bool))
        selection.append(compared(own, columns, reference, unknown, given.tol, label))
        if given.target is not None:
            outcomes.append({**measured(own, columns, given.tol), "label": label})
    worst = over_labels(rates, selection, outcomes, reference, given.tol)
    return LabelTables(corrected(selection), outcomes, worst)


def over_labels(
    rates: LabelRates, selection: Sequence[Entry], outcomes: Sequence[Entry], reference: str | None, tol: float
) -> Entry:
    """The worst of the tables of one attribute; the difference is that of the groups that verdicts are about."""
    first = selection[0]
    difference = first["difference"]
    if first["judged"]:  # else none is shown
        kept = np.array([code for code, name in enumerate(rates.names) if name in first["judged"]])
        difference = judged_difference(difference_of(_of_groups(rates, kept), reference, tol), tol)
    worst: Entry = {"attribute": first["attribute"], "labels": list(rates.each)}
    worst["difference"] = {**difference, "label": _largest(selection, "difference")}
    if outcomes:
        worst["error"] = measure_of("error", rates).to_dict()
        worst["errors"] = dict(zip(rates.names, rate_rows(rates.right, "error"), strict=True))
        worst["gaps"] = {name: _worst_gap(name, rates, outcomes, tol) for name in GAPS}
    return worst


def corrected(tables: Sequence[Entry]) -> list[Entry]:
    """The tables of an attribute with Holm's correction for all of its labels and groups."""
    tests = [group["against"] for table in tables for group in table["groups"].values() if _has_test(group)]
    p_holm = iter(holm([own["p"] for own in tests]).tolist())
    return [
        {
            **table,
            "groups": {
                name: {**group, "against": {**group["against"], "p_holm": next(p_holm)}} if _has_test(group) else group
                for name, group in table["groups"].items()
            },
        }
        for table in tables
    ]


def _has_test(group: Entry) -> bool:
    return group["against"] is not None and group["against"]["p"] is not None


def _worst_gap(name: str, rates: LabelRates, outcomes: Sequence[Entry], tol: float) -> Entry:
    """The largest gap over the labels of which it is defined; the one of errors is about all labels together."""
    defined = {table["label"] for table in outcomes if table[name]["value"] is not None}
    each = {label: own for label, own in rates.each.items() if label in defined} or rates.each
    gap = judged_difference(measure_of(name, replace(rates, each=each)), tol)
    return {**gap, "label": None if name == "error_parity" else _largest(outcomes, name)}


def _largest(tables: Sequence[Entry], name: str) -> str | None:
    """The label with the largest gap; None if no gap is defined."""
    values = {table["label"]: table[name]["value"] for table in tables if table[name]["value"] is not None}
    return max(values, key=lambda label: values[label], default=None)


def _of_groups(rates: LabelRates, kept: IntArray) -> LabelRates:
    each: dict[str, GroupRates] = {label: some_groups(own, kept) for label, own in rates.each.items()}
    return LabelRates(each, some_groups(rates.right, kept))
