"""The chart of all models by error and gap: what is drawn, what is labelled, and what lies outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from fairalm.report.runs import PLAIN_MODEL
from fairalm.report.words import MODEL_KINDS

Facts = Mapping[str, Any]
FAR = 6.0  # times the usual distance from the median; a model further out is not drawn
LEAST = 0.01  # the usual distance is taken to be at least this
MOST_LABELLED = 20  # models; of more, only the plain one and the one of the verdict have a label


def tradeoff_facts(models: Sequence[Facts], headline: int, front: Sequence[int]) -> dict[str, Any]:
    """The points of the chart, those of the front, the labels, and in words the models far from all others."""
    points = [each for each in (_point(model) for model in models) if each]
    plain = models[headline]["plain"]
    kept = {headline, *(model["id"] for model in models if model["kind"] == PLAIN_MODEL)}
    most = {
        part: _reach([each[part] for each in points], [each[part] for each in points if each["id"] in kept])
        for part in ("gap", "error")
    }
    inside = [each for each in points if all(each[part] <= most[part] for part in most)]
    outside = [each["tip"] for each in points if each not in inside]
    first = [number for number in (headline, plain) if number is not None]
    ordered = sorted(inside, key=lambda each: first.index(each["id"]) if each["id"] in first else len(first))
    labelled = [each for each in ordered if each["id"] in first or len(models) <= MOST_LABELLED]
    return {
        "points": inside,
        "front": [each for each in inside if each["id"] in front],
        "labelled": [{**each, "label": _label(models[each["id"]], is_first=each["id"] in first)} for each in labelled],
        "outside": outside,
        "not_drawn": len(models) - len(points),
    }


def _point(model: Facts) -> dict[str, Any] | None:
    """A model in the chart; None if its error or gap is hidden or undefined."""
    error, gap = model["error"], model["gap"]
    if None in (error["value"], gap["value"]):
        return None
    return {
        "id": model["id"],
        "kind": MODEL_KINDS[model["kind"]],
        "tip": f"{model['name']}: gap {gap['text']}, error {error['text']}",
        **{"gap": gap["value"], "gap_low": gap["low"], "gap_high": gap["high"]},
        **{"error": error["value"], "error_low": error["low"], "error_high": error["high"]},
    }


def _label(model: Facts, *, is_first: bool) -> str:
    return str(model["name"] if is_first else model["settings"].get("method", model["name"]))


def _reach(values: Sequence[float], kept: Sequence[float]) -> float:
    """The largest value that is drawn: those of the kept models at least."""
    if not values:
        return 1.0
    middle = median(values)
    usual = max(LEAST, median(abs(value - middle) for value in values))
    return max([middle + FAR * usual, *kept])
