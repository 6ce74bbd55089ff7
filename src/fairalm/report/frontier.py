"""What a report says about the curve of a frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.measures.text import percent, points
from fairalm.report.changes import changed_rates
from fairalm.report.models import figure
from fairalm.report.release import counts_at
from fairalm.report.rounding import EXACT, is_rough, rate_range
from fairalm.report.runs import RunRecord

KINDS = CURVE, CHOSEN, PLAIN, CONSTANT = "the frontier", "chosen point", "plain model", "constant"
ENDS = (("", "value"), ("_low", "low"), ("_high", "high"))
ROOM = 0.5  # a constant further above the curve than this share of the curve's height is not drawn
LABELLED = {"tol": (0.0, 0.05, 0.1, 0.2, 0.3), "ratio": (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)}  # points with a label


def frontier_facts(records: Sequence[RunRecord], constraint: Mapping[str, Any], unit: int) -> dict[str, Any] | None:
    """The curve of the first run that has one and is judged by this constraint; None if none is or has.

    Its figures are of training people, out of fold; their counts are rounded to `unit`.
    """
    run = next((run for run in records if _is_drawn(run, constraint)), None)
    if run is None:
        return None
    kept, train = run.metrics["frontier"], run.models[0].splits["train"]
    changed = changed_rates(constraint["rates"])

    def row(kind: str, name: str, own: Mapping[str, Any], label: str = "") -> dict[str, Any]:
        figures = {part: _figure(own, part, unit) for part in ("error", "gap")}
        selection = percent(own["selection"], 1 if unit == EXACT else 0)
        groups = _groups(own["groups"], train, changed, unit)
        return {"kind": kind, "name": name, "label": label, "selection": selection, "groups": groups, **figures}

    varied, chosen = kept["varied"], kept["chosen"]
    plain, *constants = kept["baselines"]
    strictest_last = [own for own in reversed(kept["points"]) if own[varied] != chosen[varied]]
    own_rows = {(own["gap"], own["error"]): own for own in strictest_last}  # one of those that are the same
    ordered = sorted([*own_rows.values(), chosen], key=lambda own: float(own[varied]), reverse=varied == "tol")
    before, after = row(PLAIN, PLAIN, plain), row(CHOSEN, f"{_named(varied, chosen[varied])} (chosen)", chosen)
    rows = [before]
    for own in ordered:
        name = _named(varied, own[varied])
        label = name if own[varied] in LABELLED[varied] else ""
        rows.append(after if own is chosen else row(CURVE, name, own, label))
    rows += [row(CONSTANT, f"{run.label} for {own['model']}", own) for own in constants]
    moved = f"gap {_move(before, after, 'gap')}, share of wrong decisions (error) {_move(before, after, 'error')}"
    drawn = _drawn(rows)
    shown = [mark["name"] for mark in drawn["models"]]
    defined = [own for own in rows if None not in (own["error"]["value"], own["gap"]["value"])]
    above = [own for own in defined if own["kind"] == CONSTANT and own["name"] not in shown]
    return {
        "varied": {"tol": "tolerance", "ratio": "ratio"}[varied],
        "title": f"From the plain model to the chosen point: {moved}.",
        "rows": rows,
        "drawn": drawn,
        "outside": [f"{own['name']}, error {own['error']['text']}" for own in above],
    }


def _is_drawn(run: RunRecord, constraint: Mapping[str, Any]) -> bool:
    return "frontier" in run.metrics and run.metrics["measure"]["key"] == constraint["key"]


def _figure(own: Mapping[str, Any], part: str, unit: int) -> dict[str, Any]:
    return figure({end: own[f"{part}{suffix}"] for suffix, end in ENDS}, unit)


def _groups(
    groups: Mapping[str, Any], train: Mapping[str, Any], rates: Sequence[str], unit: int
) -> list[dict[str, Any]]:
    """Rates of each group per 1,000, out of fold."""
    return [
        {
            "name": name,
            "rates": {
                rate: _per_thousand(counts_at(own, train["groups"][name]), rate, own[rate], unit) for rate in rates
            },
        }
        for name, own in groups.items()
    ]


def _per_thousand(counts: Mapping[str, int], rate: str, share: float | None, unit: int) -> dict[str, Any] | None:
    """A rate per 1,000, or the range in which it lies if rounding leaves much of it open; None if nobody has it."""
    found = rate_range(counts, rate, unit)
    if not found or share is None:
        return None
    if unit != EXACT and is_rough(found):
        return {"value": None, "text": f"{1000 * found['least']:,.0f} to {1000 * found['most']:,.0f}"}
    number = round(1000 * share)
    return {"value": number / 1000, "of_1000": number, "text": f"{number:,}"}


def _named(varied: str, value: float) -> str:
    return points(value) if varied == "tol" else f"{value:.3g}"


def _move(before: Mapping[str, Any], after: Mapping[str, Any], part: str) -> str:
    values = (before[part]["value"], after[part]["value"])
    return " → ".join("left out" if value is None else percent(value) for value in values)


def _drawn(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The chart's data: the curve, and the models beside it; a constant far above all others is left out."""
    marks = [
        {
            **{name: row[name] for name in ("kind", "name", "label")},
            "tip": f"{row['name']}: gap {row['gap']['text']}, error {row['error']['text']}",
            **{f"{part}{suffix}": row[part][end] for part in ("error", "gap") for suffix, end in ENDS},
        }
        for row in rows
        if None not in (row["error"]["value"], row["gap"]["value"])
    ]
    curve, chosen, plain, constants = ([mark for mark in marks if mark["kind"] == kind] for kind in KINDS)
    ends = [mark[end] for mark in (*curve, *chosen, *plain) for end in ("error_low", "error_high")] or [0.0, 1.0]
    most = max(ends) + ROOM * (max(ends) - min(ends))
    models = [*plain, *(mark for mark in constants if mark["error"] <= most)]
    named = [{**mark, "label": mark["name"]} for mark in (*chosen, *models)]
    taken = {(mark["gap"], mark["error"]) for mark in named}
    labelled = [*named, *(mark for mark in curve if mark["label"] and (mark["gap"], mark["error"]) not in taken)]
    return {"curve": [*curve, *chosen], "chosen": chosen, "models": models, "labelled": labelled}
