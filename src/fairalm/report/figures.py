"""The charts of the page as files, for papers."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairalm.files import AnyPath, write_atomic
from fairalm.plain_text import for_xml
from fairalm.report.chart_data import chart_data
from fairalm.report.chart_style import layer
from fairalm.report.shell import vl_convert
from fairalm.report.specs import specs

WIDTH = 480  # of a figure, in points
SCALE = 3  # pixels per point
TITLE = 80  # letters in a line of the title
LETTER, LINE = 6.0, 14.0  # points that a letter of a label is wide, and a label is tall


def write_chart(path: AnyPath, spec: Mapping[str, Any]) -> None:
    """Write a chart of Vega-Lite with its data as PNG, on white."""
    module = vl_convert()
    vega = module.vegalite_to_vega(for_xml({**spec, "background": "white"}))
    write_atomic(path, module.vega_to_png(vega, scale=SCALE))


def write_figure(path: AnyPath, facts: Mapping[str, Any], name: str, *, title: str) -> None:
    """Write one chart as PNG, with a title."""
    lines = textwrap.wrap(title.replace(" %", "\N{NO-BREAK SPACE}%"), TITLE)
    head = {"text": lines, "anchor": "start", "fontSize": 12, "fontWeight": "normal", "offset": 12}
    chart = _chart(facts, name, {**specs(facts)[name], "title": head})
    write_atomic(path, vl_convert().vega_to_png(chart, scale=SCALE))


def figure_names(facts: Mapping[str, Any]) -> list[str]:
    """The files of all charts that have something to show, each as PDF and PNG; none if every count is hidden."""
    return [f"{name}.{suffix}" for name in _drawn(facts) for suffix in ("pdf", "png")]


def write_figures(paths: Mapping[str, Path], facts: Mapping[str, Any]) -> None:
    """Write every chart as PDF and PNG; `paths` says where each file of :func:`figure_names` goes."""
    module = vl_convert()
    for name, spec in _drawn(facts).items():
        chart = _chart(facts, name, spec)
        write_atomic(paths[f"{name}.pdf"], module.vega_to_pdf(chart))
        write_atomic(paths[f"{name}.png"], module.vega_to_png(chart, scale=SCALE))


def _drawn(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: spec for name, spec in specs(facts).items() if any(chart_data(facts, name).values())}


def _chart(facts: Mapping[str, Any], name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A chart with its data as Vega, drawn on white."""
    data = chart_data(facts, name)
    chart = {**copy.deepcopy(dict(spec)), "width": WIDTH, "background": "white", "datasets": data}
    chart["config"] = {**chart["config"], "font": "Helvetica, Arial, sans-serif"}
    if "labelled" in data:  # Vega's own labels need a browser
        data["labelled"] = _apart(data["labelled"], chart)
        text = {"type": "text", "align": "left", "dx": 8, "dy": -8, "fontSize": 11}
        chart["layer"].append(layer("labelled", text, text={"field": "label", "type": "nominal"}))
    vega: dict[str, Any] = vl_convert().vegalite_to_vega(for_xml(chart))
    return vega


def _apart(rows: Sequence[dict[str, Any]], chart: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows whose labels, to the right of their points, stand on no label before them; the first come first."""
    (left, right), (low, high) = (chart["encoding"][axis]["scale"]["domain"] for axis in "xy")
    kept: list[dict[str, Any]] = []
    boxes: list[tuple[float, float, float]] = []  # left, right, height
    for row in rows:
        x = WIDTH * (row["gap"] - left) / (right - left)
        y = chart["height"] * (row["error"] - low) / (high - low)
        end = x + LETTER * len(row["label"])
        if end < WIDTH + LETTER * 8 and not any(x < b and a < end and abs(y - at) < LINE for a, b, at in boxes):
            kept.append(row)
            boxes.append((x, end, y))
    return kept
