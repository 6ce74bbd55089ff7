"""The facts about one model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairalm.measures import Measure, merge_bins
from fairalm.measures.rates import Share
from fairalm.measures.text import interval, percent, with_interval
from fairalm.report.runs import ModelRecord
from fairalm.report.sums import hide_revealing
from fairalm.report.suppress import bands, is_exact, is_small, rate_band
from fairalm.runs.metrics import verdict

MOST_ROUNDS = 200  # of a training curve; longer ones are thinned
NO_FIGURE = {"value": None, "low": None, "high": None}
CURVES = {"error": "error", "train_error": "error", "gap": "gap", "saddle_gap": "saddle_gap"}


def model_facts(
    model: ModelRecord, constraint: Mapping[str, Any], rates: Mapping[str, Share], min_cell: int
) -> dict[str, Any]:
    """What may be said about a model on its test people, with these `rates` for each group.

    `constraint` is from :func:`fairalm.measures.describe`, with its ``tol``; no count under `min_cell` is shown.
    """
    entry, measure = model.splits["test"], constraint["key"]
    attributes = entry.get("attributes") or [list(entry["groups"])]
    shown = hide_revealing({name: bands(group, min_cell) for name, group in entry["groups"].items()}, attributes)
    is_coarse = not all(map(is_exact, shown.values()))
    return {
        "error": figure(entry["error"], is_coarse, min_cell),
        "gap": figure(entry[measure], is_coarse, min_cell),
        "verdict": verdict(Measure(measure, **entry[measure]), constraint["tol"]),
        "groups": [
            {
                "name": name,
                "counts": {key: None if band is None else list(band) for key, band in counts.items()},
                "rates": {rate: _rate(counts, share, _weighted(entry, name, rate)) for rate, share in rates.items()},
            }
            for name, counts in shown.items()
        ],
        "attributes": attributes,
        "scores": _scores(entry, shown, min_cell),
        "settings": dict(model.settings),
        "seconds": model.seconds,
        "history": _history(model, measure, min_cell),
    }


def figure(entry: Mapping[str, Any], is_coarse: bool, min_cell: int) -> dict[str, Any]:
    """A measure with its interval, as numbers and as text.

    It is hidden if it rests on a cell with too few people. If one of the counts behind it is too small to be shown, it
    is rounded to whole points, and its interval outwards.
    """
    value, low, high = (entry[name] for name in ("value", "low", "high"))
    if is_small(entry["n_min"], min_cell):
        return {**NO_FIGURE, "text": f"hidden (a cell under {min_cell})"}
    if value is None:
        return {**NO_FIGURE, "text": "undefined"}
    digits = 0 if is_coarse else 1
    if is_coarse:
        value, low, high = coarse(entry).values()
    return {"value": value, "low": low, "high": high, "digits": digits, "text": with_interval(value, low, high, digits)}


def coarse(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A figure in whole points, its interval rounded outwards."""
    low, high = (
        None if entry[end] is None else toward(round(100 * entry[end], 6)) / 100
        for end, toward in (("low", math.floor), ("high", math.ceil))
    )
    return {"value": round(entry["value"], 2), "low": low, "high": high}


def _weighted(entry: Mapping[str, Any], name: str, rate: str) -> Mapping[str, Any] | None:
    """A rate of a group whose rows have weights; None if they have none, where the counts give the rate."""
    group = entry["groups"][name]
    figure: Mapping[str, Any] | None = group["rates"][rate] if "weights" in group else None
    return figure


def _rate(counts: Mapping[str, Any], share: Share, weighted: Mapping[str, Any] | None) -> dict[str, Any] | None:
    band = rate_band(counts, share)
    if not band:
        return None if band is None else {**NO_FIGURE, "text": "nobody", "interval": ""}
    if weighted is not None:
        is_coarse = band["least"] != band["most"]
        ends = coarse(weighted) if is_coarse else {name: round(weighted[name], 5) for name in NO_FIGURE}
        digits = 0 if is_coarse else 1
        shown = {"text": percent(ends["value"], digits), "interval": interval(ends["low"], ends["high"], digits)}
        return {**ends, "digits": digits, **shown}
    least, most, low, high = (round(band[name], 5) for name in ("least", "most", "low", "high"))
    if least == most:
        shown = {"text": percent(least), "interval": interval(low, high)}
        return {"value": least, "low": low, "high": high, "digits": 1, **shown}
    text = f"{100 * least:.0f} to {percent(most, 0)}"
    return {"value": None, "low": low, "high": high, "text": text, "interval": interval(low, high, 0)}


def _scores(entry: Mapping[str, Any], shown: Mapping[str, Any], min_cell: int) -> dict[str, Any] | None:
    """Thresholds, and for each group and label how many people score at or above them."""
    if "scores" not in entry or any("weights" in group for group in entry["groups"].values()):  # bins count rows
        return None
    binned = merge_bins(entry["scores"], min_cell)
    above = {
        (name, key): [sum(row[start:]) for start in range(len(row))]
        for name, counts in shown.items()
        for label, key in (("target", "tp"), ("other", "fp"))
        if counts[key] is not None and (row := binned["counts"][name][label]) is not None
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
    rows = [{key: kept.get((name, key)) for key in ("tp", "fp")} for name in shown]
    return {"edges": [binned["edges"][stop] for stop in stops], "above": rows}


def _history(model: ModelRecord, measure: str, min_cell: int) -> dict[str, list[Any]]:
    """Training curves: round, error, gap, saddle gap, and every multiplier; only the error if cells are too small.

    If the split that the curves are of is not recorded, the cells of the test people decide, and curves are in whole
    points.
    """
    columns = model.history
    if not columns:
        return {}
    is_counted = model.history_of in model.splits
    counted = model.splits[model.history_of if is_counted else "test"]
    is_hidden = is_small(counted[measure]["n_min"], min_cell)
    is_coarse = not (is_counted and all(is_exact(bands(group, min_cell)) for group in counted["groups"].values()))
    n_rounds = len(next(iter(columns.values())))
    step = -(-n_rounds // MOST_ROUNDS)
    kept: dict[str, list[Any]] = {"round": list(range(1, n_rounds + 1))[::step]}
    for name, column in columns.items():
        curve = CURVES.get(name) or ("gap" if name == f"train_{measure}" else None)
        if name.startswith(("lambda", "dual")):
            curve = name
        if curve is None or (is_hidden and curve != "error"):
            continue
        digits = 2 if is_coarse and curve in ("error", "gap") else 4
        kept[curve] = [_rounded(value, digits, is_gap=curve == "gap") for value in column[::step]]
    return kept


def _rounded(value: Any, digits: int, *, is_gap: bool) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return round(float(abs(value) if is_gap else value), digits)
