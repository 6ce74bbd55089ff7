"""Audits as they may be shown: unchanged, or if a count is small, with every figure computed from rounded counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from fairalm.measures.definitions import MEASURES
from fairalm.report import audit_cells as cells
from fairalm.report.audit_cells import Audit, Counts, Groups, Table
from fairalm.report.label_words import by_attribute
from fairalm.report.release import LEFT_OUT
from fairalm.report.rounded_counts import (
    group_rates_of,
    judged_again,
    labels_together,
    measure_in,
    outcome_counts,
    selected_counts,
    share_range,
    wider,
)
from fairalm.report.rounding import EXACT, is_rough, moves_of, rounded, rounding_moves, unit_for
from fairalm.runs.audit_labels import corrected
from fairalm.runs.audit_tables import compared, measured, ratio_verdict
from fairalm.runs.metrics import verdict

WEIGHTED = "Left out: shares, ratios and tests, because rows have weights."
UNMATCHED = "Left out: the table of {name}, because its groups cannot be matched with those of its columns."
TIGHT = "Left out: the tables of all columns but {name}, because their sums would reveal a small count."
NO_OUTCOMES = "Left out: the outcomes, because sums over labels or groups would reveal a small count."


class AuditRelease(NamedTuple):
    """An audit to be shown, and what its counts are rounded to."""

    audit: dict[str, Any]
    unit: int = EXACT
    left_out: tuple[str, ...] = ()  # what is left out, in sentences

    @property
    def is_rounded(self) -> bool:
        """Whether counts are rounded."""
        return self.unit != EXACT


def release_audit(audit: Audit, min_cell: int, *, rounds: bool = False) -> AuditRelease:
    """The content of an audit.json if no count in it is small; else, or if it `rounds`, the same of rounded counts."""
    tables = {table["attribute"]: table for table in cells.attribute_tables(audit)}
    groups = {name: cells.counted(audit, name) for name in tables}
    unknown = {name: cells.unknown_counts(audit, name) for name in tables}
    crossed = next((table for table in tables.values() if len(table["columns"]) > 1), None)
    alone = {name: own for name, own in groups.items() if len(tables[name]["columns"]) == 1}
    is_matched = crossed is not None and cells.can_match(crossed, alone)
    rests = (
        cells.not_crossed(crossed, groups[crossed["attribute"]], alone) if crossed is not None and is_matched else {}
    )
    every = [own for each in (*groups.values(), *rests.values(), unknown) for own in each.values()]
    if not (rounds or any(cells.has_small(own, min_cell) for own in every)):
        return AuditRelease(dict(audit))
    unit, left_out = unit_for(min_cell), []
    if audit["outcomes"]:  # each column has a table of them, whose sums are the same
        is_alone = crossed is None and len(groups) > 1
        if is_alone or (audit["labels"] and not all(cells.are_wrongs_loose(own, unit, min_cell) for own in every)):
            shown = release_audit(_without_outcomes(audit), min_cell, rounds=True)
            return shown._replace(left_out=(NO_OUTCOMES, *shown.left_out))
    if crossed is not None and not is_matched:
        if alone:  # else there are no tables whose sums could be taken
            left_out.append(UNMATCHED.format(name=crossed["attribute"]))
            groups = alone
        crossed = None
    loose = (cells.is_loose([*own.values(), unknown[name]], unit, min_cell) for name, own in groups.items())
    if crossed is None and len(groups) > 1 and not all(loose):
        first = next(iter(groups))
        groups = {first: groups[first]}
        left_out.append(TIGHT.format(name=first))
    if audit["config"]["weight"]:
        left_out.append(WEIGHTED)
    counts = {
        name: {group: cells.rounded_group(own, unit) for group, own in each.items()} for name, each in groups.items()
    }
    if crossed is not None:
        counts |= cells.sums(crossed, counts[crossed["attribute"]], rests, unit)
    return AuditRelease(_released(audit, counts, unit), unit, tuple(left_out))


def _without_outcomes(audit: Audit) -> dict[str, Any]:
    kept = ("attribute", "labels", "difference")
    return {**audit, "outcomes": [], "labels": [{name: table[name] for name in kept} for table in audit["labels"]]}


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
    if audit["labels"]:
        found["selection"] = [own for tables in by_attribute(found["selection"]) for own in corrected(tables)]
        found["labels"] = [labels_together(found, name, shown[name], unit) for name in shown]
    return found


def _comparison(audit: Audit, table: Table, groups: Groups, part: str, unit: int) -> dict[str, Any]:
    """A table of rounded counts. Groups of whose rate rounding leaves much open are in no ratio, test or verdict."""
    part, is_weighted = cells.key(part, table), bool(audit["config"]["weight"])
    counts = {name: selected_counts(own, part) for name, own in groups.items()}
    ranges = {name: {} if is_weighted else share_range(own, part, unit) for name, own in groups.items()}
    fine = [] if is_weighted else _fine(groups, part, unit)
    unknown = {what: rounded(table["unknown"][what], unit) for what in ("n", "selected")}
    unknown["rate"] = min(unknown["selected"] / unknown["n"], 1.0) if unknown["n"] else None  # type: ignore[assignment]
    reference = table["reference"] if table["reference_is"] == "given" else None
    rows: dict[str, Any] = {name: _rough(own, part, ranges[name]) for name, own in groups.items()}
    if len(fine) < 2 or (reference is not None and reference not in fine):
        none = {"value": None, "low": None, "high": None, "n": 0, "n_min": 0, "note": LEFT_OUT, "verdict": LEFT_OUT}
        limits = {name: {**none, "limit": table[name]["limit"]} for name in ("ratio", "difference") if name in table}
        kept = {name: table[name] for name in ("attribute", "label", "columns", "reference_is") if name in table}
        return {**kept, **limits, "reference": reference, "groups": rows, "unknown": unknown, "judged": []}
    own = compared(
        group_rates_of({name: counts[name] for name in fine}),
        table["columns"],
        reference,
        unknown,
        audit["config"]["tol"],
        table.get("label"),
    )
    for name in fine:
        rows[name] = _widened(own["groups"][name], ranges[name], ranges[own["reference"]])
    judged = [ranges[name] for name in own["judged"]]
    difference = wider(own["difference"], moves_of(judged, "difference"))
    found = {**own, "groups": rows, "difference": judged_again(difference)}
    if "ratio" in own:
        ratio = wider(own["ratio"], moves_of(judged, "ratio"))
        found["ratio"] = {**ratio, "verdict": ratio_verdict(measure_in(ratio))}
    return found


def _fine(groups: Groups, part: str, unit: int) -> list[str]:
    """The groups of whose rate, or of several labels of whose every rate, rounding leaves little open."""

    def parts(own: Counts) -> list[str]:
        return cells.label_keys(own, "k") if ":" in part else [part]

    return [
        name for name, own in groups.items() if not any(is_rough(share_range(own, each, unit)) for each in parts(own))
    ]


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


def _outcomes(table: Table, groups: Groups, tol: float, unit: int) -> dict[str, Any]:
    """Every measure of rounded counts, with intervals that allow for the rounding."""
    counts = {name: outcome_counts(own, table) for name, own in groups.items()}
    own = measured(group_rates_of(counts), [table["attribute"]], tol)
    for name in own["verdicts"]:
        definition = MEASURES[name]
        moves = [
            rounding_moves(list(counts.values()), share, unit, definition.kind) for share in definition.rates.values()
        ]
        own[name] = wider(own[name], max(moves))
        own["verdicts"][name] = verdict(replace(measure_in(own[name]), name=name), tol)
    return {**own, **{name: table[name] for name in ("attribute", "label") if name in table}}


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
