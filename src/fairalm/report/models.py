"""The facts of one model, and the verdict on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairalm.measures import Measure, merge_bins, people_to_settle
from fairalm.measures.text import interval, percent, with_interval
from fairalm.report import words
from fairalm.report.runs import Model
from fairalm.report.suppress import bands, is_exact, is_small, rate_band

SHOWN_RATES = ("error", "selection", "tpr", "fpr", "ppv")
FAR = 100.0  # times as many people: a ratio beyond says nothing more
MOST_ROUNDS = 200  # of a training curve; longer ones are thinned
CURVES = {"error": "error", "train_error": "error", "gap": "gap", "saddle_gap": "saddle_gap"}


def model_facts(model: Model, measure: str, tol: float, min_cell: int) -> dict[str, Any]:
    """All that may be said of a model on its test people.

    Parameters
    ----------
    model : Model
        As its run keeps it.
    measure : str
        The criterion's.
    tol : float
        The tolerance.
    min_cell : int
        Fewest people of whom a count is shown.
    """
    entry = model.splits["test"]
    shown = {name: bands(group, min_cell) for name, group in entry["groups"].items()}
    is_coarse = not all(map(is_exact, shown.values()))
    return {
        "error": figure(entry["error"], is_coarse, min_cell),
        "gap": figure(entry[measure], is_coarse, min_cell),
        "verdict": words.verdict(_measure(measure, entry), tol),
        "groups": [
            {
                "name": name,
                "counts": {key: None if band is None else list(band) for key, band in counts.items()},
                "rates": {rate: _rate(counts, rate) for rate in SHOWN_RATES},
            }
            for name, counts in shown.items()
        ],
        "scores": _scores(entry, shown, min_cell),
        "settings": dict(model.settings),
        "seconds": model.seconds,
        "history": _history(model, measure, min_cell),
    }


def figure(entry: Mapping[str, Any], is_coarse: bool, min_cell: int) -> dict[str, Any]:
    """A measure with its interval, as numbers and as text.

    It is hidden if it rests on a cell of too few people, and in whole points, the interval outwards, if a count of too
    few people is among those it is computed from.
    """
    value, low, high = (entry[name] for name in ("value", "low", "high"))
    if is_small(entry["n_min"], min_cell):
        return {"value": None, "low": None, "high": None, "text": f"hidden (a cell under {min_cell} people)"}
    if value is None:
        return {"value": None, "low": None, "high": None, "text": "undefined"}
    digits = 0 if is_coarse else 1
    if is_coarse:
        value = round(value, 2)
        low, high = (
            None if end is None else toward(round(100 * end, 6)) / 100
            for end, toward in ((low, math.floor), (high, math.ceil))
        )
    return {"value": value, "low": low, "high": high, "text": with_interval(value, low, high, digits)}


def verdict_facts(model: Model, measure: str, tol: float, min_cell: int) -> dict[str, Any]:
    """Met, not met or cannot tell; the figure; and what would settle it."""
    entry = model.splits["test"]
    judged = _measure(measure, entry)
    facts = model_facts(model, measure, tol, min_cell)
    outcome, gap = facts["verdict"], facts["gap"]
    why = {
        "met": "The whole interval is within the tolerance.",
        "not met": "The whole interval is above the tolerance.",
        "cannot tell": "The interval reaches from within the tolerance to beyond it.",
        "undefined": "There are too few people to measure it.",
    }
    sentences = [f"{words.MEASURES[measure]} {gap['text']} against a tolerance of {words.points(tol)}."]
    sentences.append(why[outcome])
    if is_constant(entry):
        sentences.append("But it predicts one label for everybody: such a model has no gap, and no use.")
    elif outcome == "cannot tell":
        sentences.append(_settled(judged, tol, entry["error"]["n"]))
    return {"outcome": outcome, "name": model.name, "text": " ".join(sentences), "gap": gap, "tol": tol}


def _settled(judged: Measure, tol: float, n_people: int) -> str:
    """How many more test people would do, if the gap is what was measured: the width shrinks with the root of them."""
    if judged.n_min < words.ROUGH:
        return f"With under {words.ROUGH} people in its smallest cell, no forecast is made of how many would settle it."
    needed = people_to_settle(judged, tol)
    if needed is None:
        return "The gap is on the tolerance: no number of people would settle it."
    times = needed / judged.n_min
    more = words.about(n_people * (times - 1))
    ratio = f" ({times:,.1f} times as many as now)" if times < FAR else ", since it is so near the tolerance"
    return f"If that is the gap, {more} more test people would settle it{ratio}."


def is_constant(entry: Mapping[str, Any]) -> bool:
    """Whether one label is predicted for everybody."""
    groups = entry["groups"].values()
    predicted = [sum(group[a] + group[b] for group in groups) for a, b in (("tp", "fp"), ("tn", "fn"))]
    return 0 in predicted


def _measure(name: str, entry: Mapping[str, Any]) -> Measure:
    return Measure(name, **entry[name])


def _rate(counts: Mapping[str, Any], rate: str) -> dict[str, Any] | None:
    band = rate_band(counts, rate)
    if not band:
        return band if band is None else {"value": None, "low": None, "high": None, "text": "nobody", "interval": ""}
    least, most, low, high = (round(band[name], 5) for name in ("least", "most", "low", "high"))
    is_one = least == most
    text = percent(least) if is_one else f"{100 * least:.0f} to {percent(most, 0)}"
    return {
        "value": least if is_one else None,
        "low": low,
        "high": high,
        "text": text,
        "interval": interval(low, high, 1 if is_one else 0),
    }


def _scores(entry: Mapping[str, Any], shown: Mapping[str, Any], min_cell: int) -> dict[str, Any] | None:
    """Thresholds, and for each group and label how many people score at or above them."""
    if "scores" not in entry:
        return None
    binned = merge_bins(entry["scores"], min_cell)
    above = {
        (name, key): _above(binned["counts"][name][label])
        for name, counts in shown.items()
        for label, key in (("target", "tp"), ("other", "fp"))
        if counts[key] is not None and binned["counts"][name][label] is not None
    }
    stops = [
        stop
        for stop in range(1, len(binned["edges"]) - 1)  # the outer bins also hold what lies beyond them
        # people between a threshold and the model's own decision would come out by subtraction
        if not any(
            is_small(abs(row[stop] - entry["groups"][name][key]), min_cell) for (name, key), row in above.items()
        )
    ]
    if not stops or not above:
        return None
    rows = [{key: _at(above.get((name, key)), stops) for key in ("tp", "fp")} for name in shown]
    return {"edges": [binned["edges"][stop] for stop in stops], "above": rows}


def _above(row: list[int]) -> list[int]:
    """People of the row in or above each bin."""
    return [sum(row[start:]) for start in range(len(row))]


def _at(row: list[int] | None, stops: list[int]) -> list[int] | None:
    """All people of the row, then those at or above each stop; None if the row is hidden."""
    return None if row is None else [row[0], *(row[stop] for stop in stops)]


def _history(model: Model, measure: str, min_cell: int) -> dict[str, list[Any]]:
    """Training curves: round, error, gap, saddle gap, and every multiplier; only the error if cells are too small.

    Curves of people who are not counted go by the cells of the test people, and are in whole points.
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
