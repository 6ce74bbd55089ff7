"""The charts of the page as files for papers."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairalm.files import AnyPath, write_atomic
from fairalm.report.page import vl_convert
from fairalm.report.specs import rows, specs

WIDTH = 480  # of a figure, in points
SCALE = 3  # pixels per point


def write_figures(folder: AnyPath, facts: Mapping[str, Any]) -> list[Path]:
    """Write every chart as PDF and PNG.

    Returns
    -------
    list of path
        The files.
    """
    module, written = vl_convert(), []
    for name, spec in specs(facts).items():
        drawn = {**copy.deepcopy(spec), "width": WIDTH, "background": "white"}
        drawn["config"] = {**drawn["config"], "font": "Helvetica, Arial, sans-serif"}
        drawn["datasets"] = rows(facts, name)
        for suffix, content in (
            ("pdf", module.vegalite_to_pdf(drawn)),
            ("png", module.vegalite_to_png(drawn, scale=SCALE)),
        ):
            path = Path(folder) / f"{name}.{suffix}"
            write_atomic(path, content)
            written.append(path)
    return written
