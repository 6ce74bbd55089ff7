"""The facts about one model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairalm.measures import Measure, merge_bins
from fairalm.measures.rates import COUNTS, Share
from fairalm.measures.text import interval, percent, with_interval
from fairalm.report.release import LEFT_OUT
from fairalm.report.rounding import EXACT, is_rough, is_small, rate_range
from fairalm.report.runs import ModelRecord
from fairalm.runs.metrics import verdict

MOST_ROUNDS = 200  # of a training curve; longer ones are thinned
NO_FIGURE = {"value": None, "low": None, "high": None}
CURVES = {"error": "error", "train_error": "error", "gap": "gap", "saddle_gap": "saddle_gap"}


def model_facts(
    model: ModelRecord, constraint: Mapping[str, Any], rates: Mapping[str, Share], *, unit: int, min_cell: int
) -> dict[str, Any]:
    """What may be said about a model on its test people, with these `rates` for each group.

    `constraint` is from :func:`fairalm.measures.describe`, with its ``tol``. `model` is one to be shown, and its counts
    are rounded to `unit`; thresholds part nobody, or at least `min_cell` people.
    """
    entry, measure = model.splits["test"], constraint["key"]
    is_left_out = entry[measure].get("note") == LEFT_OUT
    return {
        "error": figure(entry["error"], unit),
        "gap": figure(entry[measure], unit),
        "verdict": verdict(Measure(measure, **entry[measure]), constraint["tol"]),
        "groups": [
            {
                "name": name,
                "counts": {part: None if is_left_out else own[part] for part in COUNTS},
                "rates": {
                    rate: None if is_left_out else _rate(own, share, own.get("rates", {}).get(rate), unit)
                    for rate, share in rates.items()
                },
            }
            for name, own in entry["groups"].items()
        ],
        "attributes": entry.get("attributes") or [list(entry["groups"])],
        "scores": _scores(entry, min_cell),
        "settings": dict(model.settings),
        "seconds": model.seconds,
        "history": _history(model, measure),
    }


def figure(entry: Mapping[str, Any], unit: int = EXACT) -> dict[str, Any]:
    """A measure with its interval, as numbers and as text; of rounded counts in whole points."""
    value, low, high = (entry[name] for name in ("value", "low", "high"))
    if value is None:
        return {**NO_FIGURE, "text": LEFT_OUT if entry.get("note") == LEFT_OUT else "undefined"}
    digits = 1 if unit == EXACT else 0
    if unit != EXACT:
        value, low, high = coarse(entry).values()
    return {"value": value, "low": low, "high": high, "digits": digits, "text": with_interval(value, low, high, digits)}


def coarse(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A figure in whole points, its interval rounded outwards."""
    low, high = (
        None if entry[end] is None else toward(round(100 * entry[end], 6)) / 100
        for end, toward in (("low", math.floor), ("high", math.ceil))
    )
    return {"value": round(entry["value"], 2), "low": low, "high": high}


def _rate(counts: Mapping[str, int], share: Share, recorded: Mapping[str, Any] | None, unit: int) -> dict[str, Any]:
    """A rate of a group; of rounded counts, the range in which it lies if that is wide.

    `recorded` is the rate as the run has it, by weight if rows have weights; rounded counts have none.
    """
    found = rate_range(counts, share, unit)
    if not found:
        return {**NO_FIGURE, "text": "nobody" if unit == EXACT else f"under {unit // 2}", "interval": ""}
    ends = found if "weights" not in counts or recorded is None else recorded
    value, low, high = (round(ends[name], 5) for name in ("value", "low", "high"))
    if unit != EXACT and is_rough(found):
        text = f"{100 * found['least']:.0f} to {percent(found['most'], 0)}"
        return {"value": None, "low": low, "high": high, "text": text, "interval": interval(low, high, 0)}
    digits = 1 if unit == EXACT else 0
    shown = {"text": percent(value, digits), "interval": interval(low, high, digits)}
    return {"value": value, "low": low, "high": high, "digits": digits, **shown}


def _scores(entry: Mapping[str, Any], min_cell: int) -> dict[str, Any] | None:
    """Thresholds, and for each group and label how many people score at or above them."""
    if "scores" not in entry or any("weights" in group for group in entry["groups"].values()):  # bins count rows
        return None
    binned = merge_bins(entry["scores"], min_cell)
    above = {
        (name, key): [sum(row[start:]) for start in range(len(row))]
        for name in entry["groups"]
        for label, key in (("target", "tp"), ("other", "fp"))
        if (row := binned["counts"][name][label]) is not None
    }
    stops = [
        stop
        for stop in range(1, len(binned["edges"]) - 1)  # the outer bins contain scores beyond their edges
        # else subtraction would give the number of people between a threshold and the model's own decision
        if not any(
            is_small(abs(row[stop] - entry["groups"][name][key]), min_cell) for (name, key), row in above.items()
        )
    ]
    if not stops or not above:
        return None
    # per group and label: everybody, then those at or above each threshold
    kept = {cell: [row[stop] for stop in (0, *stops)] for cell, row in above.items()}
    rows = [{key: kept.get((name, key)) for key in ("tp", "fp")} for name in entry["groups"]]
    return {"edges": [binned["edges"][stop] for stop in stops], "above": rows}


def _history(model: ModelRecord, measure: str) -> dict[str, list[Any]]:
    """Training curves: round, error, gap, saddle gap, and every multiplier.

    If the split that the curves are of is not recorded, its counts may be small, and curves are in whole points.
    """
    columns = model.history
    if not columns:
        return {}
    is_coarse = model.history_of not in model.splits
    n_rounds = len(next(iter(columns.values())))
    step = -(-n_rounds // MOST_ROUNDS)
    kept: dict[str, list[Any]] = {"round": list(range(1, n_rounds + 1))[::step]}
    for name, column in columns.items():
        curve = CURVES.get(name) or ("gap" if name == f"train_{measure}" else None)
        if name.startswith(("lambda", "dual")):
            curve = name
        if curve is None:
            continue
        digits = 2 if is_coarse and curve in ("error", "gap") else 4
        kept[curve] = [_rounded(value, digits, is_gap=curve == "gap") for value in column[::step]]
    return kept


def _rounded(value: Any, digits: int, *, is_gap: bool) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return round(float(abs(value) if is_gap else value), digits)
