"""The charts of the page as files, for papers."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairalm.files import AnyPath, write_atomic
from fairalm.report.chart_data import chart_data
from fairalm.report.page import vl_convert
from fairalm.report.specs import specs

WIDTH = 480  # of a figure, in points
SCALE = 3  # pixels per point


def write_figures(folder: AnyPath, facts: Mapping[str, Any]) -> list[Path]:
    """Write every chart as PDF and PNG, and return the paths of the files."""
    module, written = vl_convert(), []
    for name, spec in specs(facts).items():
        chart = {**copy.deepcopy(spec), "width": WIDTH, "background": "white", "datasets": chart_data(facts, name)}
        chart["config"] = {**chart["config"], "font": "Helvetica, Arial, sans-serif"}
        contents = {"pdf": module.vegalite_to_pdf(chart), "png": module.vegalite_to_png(chart, scale=SCALE)}
        for suffix, content in contents.items():
            path = Path(folder) / f"{name}.{suffix}"
            write_atomic(path, content)
            written.append(path)
    return written
