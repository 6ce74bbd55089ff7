"""Audits as they may be shown: unchanged, or if a count is small, with every figure computed from rounded counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fairalm.measures import Measure
from fairalm.measures.definitions import MEASURES
from fairalm.measures.rates import COUNTS, GroupRates
from fairalm.report import audit_cells as cells
from fairalm.report.audit_cells import Audit, Counts, Groups, Table
from fairalm.report.release import LEFT_OUT
from fairalm.report.rounding import EXACT, is_rough, rate_range, rounded, rounding_moves, unit_for
from fairalm.runs.audit_tables import compared, measured, ratio_verdict
from fairalm.runs.metrics import verdict

WEIGHTED = "Left out: shares, ratios and tests, because rows have weights."
UNMATCHED = "Left out: the table of {name}, because its groups cannot be matched with those of its columns."
TIGHT = "Left out: the tables of all columns but {name}, because their sums would reveal a small count."
Confusion = Mapping[str, int]


class AuditRelease(NamedTuple):
    """An audit to be shown, and what its counts are rounded to."""

    audit: dict[str, Any]
    unit: int = EXACT
    left_out: tuple[str, ...] = ()  # what is left out, in sentences

    @property
    def is_rounded(self) -> bool:
        """Whether counts are rounded."""
        return self.unit != EXACT


def release_audit(audit: Audit, min_cell: int) -> AuditRelease:
    """The content of an audit.json if no count in it is small; else the same from rounded counts."""
    tables = {table["attribute"]: table for table in cells.attribute_tables(audit)}
    groups = {name: cells.counted(audit, name) for name in tables}
    unknown = {name: cells.unknown_counts(table) for name, table in tables.items()}
    crossed = next((table for table in tables.values() if len(table["columns"]) > 1), None)
    alone = {name: own for name, own in groups.items() if len(tables[name]["columns"]) == 1}
    is_matched = crossed is not None and cells.can_match(crossed, alone)
    rests = (
        cells.not_crossed(crossed, groups[crossed["attribute"]], alone) if crossed is not None and is_matched else {}
    )
    every = [own for each in (*groups.values(), *rests.values(), unknown) for own in each.values()]
    if not any(cells.has_small(own, min_cell) for own in every):
        return AuditRelease(dict(audit))
    unit, left_out = unit_for(min_cell), []
    if crossed is not None and not is_matched:
        left_out.append(UNMATCHED.format(name=crossed["attribute"]))
        groups, crossed = alone, None
    loose = (cells.is_loose([*own.values(), unknown[name]], unit, min_cell) for name, own in groups.items())
    if crossed is None and len(groups) > 1 and not all(loose):
        first = next(iter(groups))
        groups = {first: groups[first]}
        left_out.append(TIGHT.format(name=first))
    if audit["config"]["weight"]:
        left_out.append(WEIGHTED)
    shown = {
        name: {group: cells.rounded_group(own, unit) for group, own in each.items()} for name, each in groups.items()
    }
    if crossed is not None:
        shown |= cells.sums(crossed, shown[crossed["attribute"]], rests, unit)
    return AuditRelease(_released(audit, shown, unit), unit, tuple(left_out))


def _released(audit: Audit, shown: Mapping[str, Groups], unit: int) -> dict[str, Any]:
    """The content of an audit.json from the counts to be shown."""
    kept = {
        what: [table for table in audit[what] if table["attribute"] in shown]
        for what in ("selection", "scoring", "outcomes", "thresholds")
    }
    first, is_weighted = cells.attribute_tables(kept)[0], bool(audit["config"]["weight"])
    rows = sum(own["n"] for own in shown[first["attribute"]].values()) + rounded(first["unknown"]["n"], unit)
    found: dict[str, Any] = {**audit, "data": {**audit["data"], "rows": rows, "fingerprint": LEFT_OUT}}
    for what, part in (("selection", "k"), ("scoring", "s")):
        found[what] = [_comparison(audit, table, shown[table["attribute"]], part, unit) for table in kept[what]]
    tol = audit["config"]["tol"]
    tables = [] if is_weighted else kept["outcomes"]
    found["outcomes"] = [_outcomes(table, shown[table["attribute"]], tol, unit) for table in tables]
    tables = [] if is_weighted else kept["thresholds"]
    found["thresholds"] = [_thresholds(table, shown[table["attribute"]]) for table in tables]
    return found


def _comparison(audit: Audit, table: Table, groups: Groups, part: str, unit: int) -> dict[str, Any]:
    """A table of rounded counts. Groups of whose rate rounding leaves much open are in no ratio, test or verdict."""
    counts = {name: {"tp": 0, "fn": 0, "fp": own[part], "tn": own["n"] - own[part]} for name, own in groups.items()}
    ranges = {name: rate_range(own, "fpr", unit) for name, own in counts.items()}
    if audit["config"]["weight"]:
        ranges = {name: {} for name in ranges}
    fine = [name for name, own in ranges.items() if not is_rough(own)]
    unknown = {what: rounded(table["unknown"][what], unit) for what in ("n", "selected")}
    unknown["rate"] = min(unknown["selected"] / unknown["n"], 1.0) if unknown["n"] else None  # type: ignore[assignment]
    reference = table["reference"] if table["reference_is"] == "given" else None
    rows: dict[str, Any] = {name: _rough(own, part, ranges[name]) for name, own in groups.items()}
    if len(fine) < 2 or (reference is not None and reference not in fine):
        none = {"value": None, "low": None, "high": None, "n": 0, "n_min": 0, "note": LEFT_OUT, "verdict": LEFT_OUT}
        limits = {name: {**none, "limit": table[name]["limit"]} for name in ("ratio", "difference")}
        kept = {name: table[name] for name in ("attribute", "columns", "reference_is")}
        return {**kept, **limits, "reference": reference, "groups": rows, "unknown": unknown, "judged": []}
    own = compared(
        _group_rates({name: counts[name] for name in fine}),
        table["columns"],
        reference,
        unknown,
        audit["config"]["tol"],
    )
    for name in fine:
        rows[name] = _widened(own["groups"][name], ranges[name], ranges[own["reference"]])
    judged = [counts[name] for name in own["judged"]]
    ratio, difference = (
        _wider(own[name], rounding_moves(judged, "fpr", unit, kind))
        for name, kind in (("ratio", "ratio"), ("difference", "difference"))
    )
    ratio["verdict"] = ratio_verdict(_measure(ratio))
    difference["verdict"] = verdict(_measure(difference), difference["limit"])
    return {**own, "groups": rows, "ratio": ratio, "difference": difference}


def _rough(own: Counts, part: str, found: Mapping[str, float]) -> dict[str, Any]:
    """A group that is not compared; ``range`` is that of its rate."""
    rate = {"value": None, "low": None, "high": None, "k": own[part], "n": own["n"]}
    return {"n": own["n"], "selected": own[part], "against": None, "rate": rate, "range": dict(found)}


def _widened(group: Mapping[str, Any], own: Mapping[str, float], reference: Mapping[str, float]) -> dict[str, Any]:
    """A group whose intervals allow for the rounding of its counts and of the reference's."""
    found = {**group, "rate": {**group["rate"], "low": own["low"], "high": own["high"]}}
    against = group["against"]
    if against is not None and against["ratio"] and against["ratio_low"] is not None:
        less = own["least"] / own["value"] * reference["value"] / reference["most"]
        more = own["most"] / own["value"] * reference["value"] / max(reference["least"], 1e-9)
        ends = {"ratio_low": against["ratio_low"] * less, "ratio_high": against["ratio_high"] * more}
        found["against"] = {**against, **ends}
    return found


def _wider(measure: Mapping[str, Any], change: float) -> dict[str, Any]:
    if measure["low"] is None:
        return dict(measure)
    return {**measure, "low": max(measure["low"] - change, 0.0), "high": min(measure["high"] + change, 1.0)}


def _measure(entry: Mapping[str, Any]) -> Measure:
    fields = ("value", "low", "high", "n", "n_min")
    return Measure("", *(entry[name] for name in fields))


def _outcomes(table: Table, groups: Groups, tol: float, unit: int) -> dict[str, Any]:
    """Every measure of rounded counts, with intervals that allow for the rounding."""
    counts = {
        name: {"tp": own["n1"] - own["w1"], "fn": own["w1"], "fp": own["w0"], "tn": own["n0"] - own["w0"]}
        for name, own in groups.items()
    }
    own = measured(_group_rates(counts), [table["attribute"]], tol)
    for name in own["verdicts"]:
        definition = MEASURES[name]
        moves = [
            rounding_moves(list(counts.values()), share, unit, definition.kind) for share in definition.rates.values()
        ]
        own[name] = _wider(own[name], max(moves))
        own["verdicts"][name] = verdict(replace(_measure(own[name]), name=name), tol)
    return {**own, "attribute": table["attribute"]}


def _thresholds(table: Table, groups: Groups) -> dict[str, Any]:
    """The shares above each decile, of rounded counts."""
    points = [
        {
            **point,
            "groups": {
                name: {
                    "selection": {
                        "k": (k := own[f"d{point['decile']}"]),
                        "n": (n := own["n"]),
                        "value": k / n if n else None,
                    }
                }
                for name, own in groups.items()
            },
        }
        for point in table["points"]
    ]
    return {**table, "points": points}


def _group_rates(counts: Mapping[str, Confusion]) -> GroupRates:
    arrays: Any = {part: np.array([own[part] for own in counts.values()], dtype=np.int64) for part in COUNTS}
    return GroupRates(tuple(counts), **arrays, target="selected")
