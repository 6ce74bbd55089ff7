"""The figure of the trade-off between error and gap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.cli.compare import DEFAULT, FAIRLEARN
from fairalm.report.figures import write_chart
from fairalm.runs.comparison import PLAIN, Result

ROOM = 0.02  # error above the plain model's that is still shown
WIDTH, HEIGHT = 640, 330


def tradeoff(results: Sequence[Result], tol: float, title: Sequence[str], path: Path) -> None:
    """Draw test error against the gap, a point per method with its intervals, and write a PNG.

    Labels stand in a row on top, in the order of the points, each joined to its point. Methods whose error is far above
    the plain model's, which is the first result, are named below instead, so that the others can be told apart.
    """
    limit = float(results[0].error.value or 0) + ROOM
    shown = [r for r in results if r.gap.value is not None and float(r.error.value or 0) <= limit]
    shown.sort(key=lambda result: float(result.gap.value or 0))
    gap, error = (
        100 * np.array([[m.low, m.value, m.high] for m in measures], dtype=float)
        for measures in ([r.gap for r in shown], [r.error for r in shown])
    )
    right, low, high = 1.05 * gap.max(), error.min() - 0.3, error.max() + 0.1
    points = [
        {
            **{"gap_low": x[0], "gap": x[1], "gap_high": x[2], "error_low": y[0], "error": y[1], "error_high": y[2]},
            **{"label": _label(result.method), "color": _color(result.method), "place": place, "top": high},
        }
        for result, x, y, place in zip(shown, gap, error, _apart(gap[:, 1], right), strict=True)
    ]
    outside = [f"{r.method} (error {r.error}, DEO {r.gap})" for r in results if r not in shown]
    note = [f"Outside the figure: {'; '.join(outside)}"] if outside else []
    scales = {"x": [0, right], "y": [low, high]}
    titles = {"x": ["test DEO, %: gap in true positive rates between the groups", *note], "y": "test error, %"}
    spec = {
        "title": {"text": list(title), "anchor": "start", "fontSize": 12, "fontWeight": "normal", "offset": 16},
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": points},
        "encoding": {
            axis: {"type": "quantitative", "scale": {"domain": ends, "nice": False}, "axis": {"title": titles[axis]}}
            for axis, ends in scales.items()
        }
        | {"color": {"field": "color", "type": "nominal", "scale": None}},
        "layer": [*_band(tol, low), *_layers()],
        "config": {
            "font": "Helvetica, Arial, sans-serif",
            "view": {"stroke": None},
            "axis": {"grid": False, "titleFontWeight": "normal", "labelFontSize": 12, "titleFontSize": 12},
        },
    }
    write_chart(path, spec)


def _band(tol: float, low: float) -> list[dict[str, Any]]:
    """The gaps within the tolerance."""
    text = {"type": "text", "angle": 270, "align": "left", "dx": 4, "color": "#5a7d4a", "fontSize": 10}
    return [
        {"data": {"values": [{}]}, "mark": {"type": "rect", "color": "#e3efdd"}}
        | {"encoding": {"x": {"datum": 0}, "x2": {"datum": 100 * tol}, "color": {"value": "#e3efdd"}}},
        {"data": {"values": [{}]}, "mark": {**text, "text": f"within {100 * tol:.3g} %"}}
        | {"encoding": {"x": {"datum": 50 * tol}, "y": {"datum": low}, "color": {"value": text["color"]}}},
    ]


def _layers() -> list[dict[str, Any]]:
    """Intervals, lines to the labels, points and labels."""
    rule = {"type": "rule", "opacity": 0.35, "strokeWidth": 1.5}
    to_label = {"type": "rule", "opacity": 0.6, "strokeWidth": 0.8, "strokeDash": [2, 2]}
    text = {"type": "text", "angle": 320, "align": "left", "baseline": "middle", "dx": 3, "dy": -4, "fontSize": 12}
    layers = [
        (rule, {"x": "gap_low", "x2": "gap_high", "y": "error"}),
        (rule, {"x": "gap", "y": "error_low", "y2": "error_high"}),
        (to_label, {"x": "gap", "y": "error", "x2": "place", "y2": "top"}),
        ({"type": "point", "filled": True, "size": 80, "opacity": 1}, {"x": "gap", "y": "error"}),
        (text, {"x": "place", "y": "top", "text": "label"}),
    ]
    return [
        {"mark": mark, "encoding": {channel: {"field": field} for channel, field in fields.items()}}
        for mark, fields in layers
    ]


def _apart(places: FloatArray, right: float) -> FloatArray:
    """Move ascending places as little as needed to stand apart between 0 and `right`."""
    distance = right / max(len(places), 18)
    apart = np.clip(places, 0.0, right)
    for i in range(1, len(apart)):
        apart[i] = max(apart[i], apart[i - 1] + distance)
    apart[-1] = min(apart[-1], right)
    for i in range(len(apart) - 2, -1, -1):
        apart[i] = min(apart[i], apart[i + 1] - distance)
    return np.asarray(apart)


def _label(method: str) -> str:
    return f"{method} (default)" if method == DEFAULT else method


def _color(method: str) -> str:
    if method in FAIRLEARN:
        return "#b5651d"
    return {PLAIN: "#444444", DEFAULT: "#0b3d75"}.get(method, "#3b76b5")
