"""The data of the charts; the page's script makes the same for the model that a reader chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairalm.report.changes import changes

Rows = list[dict[str, Any]]
CHANGED_MODELS = ("fair model", "plain model")


def chart_data(facts: Mapping[str, Any], name: str) -> dict[str, Rows]:
    """The data of a chart, by the names that its spec uses."""
    models = facts["models"]
    chosen = models[facts["headline"]]
    if name == "rates":
        rates = [
            {"rate": facts["rates"][rate]["name"], "group": group["name"], **figure}
            for group in chosen["groups"]
            for rate, figure in group["rates"].items()
            if figure and figure["low"] is not None
        ]
        return {"rates": rates}
    if name.startswith("change-"):
        return {"changes": change_rows(facts, chosen, name.removeprefix("change-"))}
    if name == "tradeoff":
        drawn = {part: facts["tradeoff"][part] for part in ("points", "front", "labelled")}
        return {**drawn, "chosen": [point for point in drawn["points"] if point["id"] == chosen["id"]]}
    if name == "frontier":
        curve: dict[str, Rows] = facts["frontier"]["drawn"]
        return curve
    kind = name.removeprefix("curve-")
    rows = [row for model in models for row in curve_rows(model, kind)]
    return {"curves": rows, "chosen": curve_rows(chosen, kind)}


def change_rows(facts: Mapping[str, Any], model: Mapping[str, Any], rate: str) -> Rows:
    """Two rows per group: its rate under the plain model and, drawn on top, the fair one; none where it is hidden."""
    return [
        {"group": change.group, "model": name, **figure, "tip": f"{change.group}: {change.text}"}
        for change in changes(facts, model, rate)
        for name, figure in zip(reversed(CHANGED_MODELS), (change.before, change.after), strict=True)
        if figure and figure["low"] is not None
    ]


def curve_rows(model: Mapping[str, Any], curve: str) -> Rows:
    """A model's training curves of one kind, a row per round; several curves if there are several multipliers."""
    history = model["history"]
    names = [name for name in history if name.startswith(("lambda", "dual"))] if curve == "multiplier" else [curve]
    return [
        {"model": model["name"], "line": f"{model['id']} {name}", "round": at, "value": value}
        for name in names
        if name in history
        for at, value in zip(history["round"], history[name], strict=True)
        if value is not None
    ]
