"""The charts of the page as files, for papers."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairalm.files import AnyPath, write_atomic
from fairalm.report.chart_data import chart_data
from fairalm.report.chart_style import with_labels
from fairalm.report.shell import vl_convert
from fairalm.report.specs import specs

WIDTH = 480  # of a figure, in points
SCALE = 3  # pixels per point
TITLE = 80  # letters in a line of the title


def write_figure(path: AnyPath, facts: Mapping[str, Any], name: str, *, title: str) -> None:
    """Write one chart as PNG, with a title."""
    lines = textwrap.wrap(title.replace(" %", "\N{NO-BREAK SPACE}%"), TITLE)
    head = {"text": lines, "anchor": "start", "fontSize": 12, "fontWeight": "normal", "offset": 12}
    chart = _chart(facts, name, {**specs(facts)[name], "title": head})
    write_atomic(path, vl_convert().vega_to_png(chart, scale=SCALE))


def write_figures(folder: AnyPath, facts: Mapping[str, Any]) -> list[Path]:
    """Write every chart as PDF and PNG, and return the paths of the files."""
    module, written = vl_convert(), []
    for name, spec in specs(facts).items():
        chart = _chart(facts, name, spec)
        contents = {"pdf": module.vega_to_pdf(chart), "png": module.vega_to_png(chart, scale=SCALE)}
        for suffix, content in contents.items():
            path = Path(folder) / f"{name}.{suffix}"
            write_atomic(path, content)
            written.append(path)
    return written


def _chart(facts: Mapping[str, Any], name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A chart with its data as Vega, drawn on white."""
    chart = {**copy.deepcopy(dict(spec)), "width": WIDTH, "background": "white", "datasets": chart_data(facts, name)}
    chart["config"] = {**chart["config"], "font": "Helvetica, Arial, sans-serif"}
    return with_labels(vl_convert().vegalite_to_vega(chart), spec)
