"""The pictures: differences of the two nets with intervals, and the paper's triptychs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm.io import write_png
from fairalm.vision.sheet import draw_sheet
from reproduction.figures import COLORS, new_figure, tidy
from reproduction.looks.cell import ATTRIBUTE, FAIR, PLAIN, Cell
from reproduction.looks.sets import SETS, read
from reproduction.looks.summary import DIFFERENCE, seed_table

PANELS = {
    ("leak", "excess"): "leak above chance",
    ("focus", "inside"): "focus: mass inside",
    ("focus", "overlap"): "focus: highest inside",
    ("focus", "peak_outside"): "peak outside",
}
ATTRIBUTES = {"xray": "hospital", "faces": "gender"}


def draw(table: pd.DataFrame, results: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw FairALM less unconstrained: a panel per measure, a line per set, a dot per seed; and write a PNG."""
    names = list(table["set"].unique())
    figure = new_figure(11, 1.6 + 0.6 * len(names))
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for axes, ((kind, measure), title) in zip(panels, PANELS.items(), strict=True):
        lines = table[(table["kind"] == kind) & (table["measure"] == measure)].set_index("set")
        for y, name in enumerate(names):
            cells = [result for result in results if result["config"]["set"] == name]
            seeds = 100 * seed_table(cells, kind, measure)[DIFFERENCE]
            axes.plot(seeds, np.full(len(seeds), y + 0.22), "|", color="#999999", ms=6)
            low, mean, high = 100 * lines.loc[name, [f"{DIFFERENCE}_low", DIFFERENCE, f"{DIFFERENCE}_high"]].astype(
                float
            )
            axes.plot([low, high], [y, y], color=COLORS[FAIR], lw=2, solid_capstyle="butt")
            axes.plot(mean, y, "o", color=COLORS[FAIR], ms=7, mec="white")
        axes.axvline(0, color="#444444", lw=0.8)
        axes.set_title(title, size=10)
        tidy(axes)
    panels[0].set_yticks(range(len(names)), [SETS[name].title for name in names])
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    figure.supxlabel("FairALM less unconstrained, points; bar: 95 % interval over the seeds, ticks: seeds", size=9)
    write_png(path, figure)


def draw_triptychs(
    results: Sequence[Mapping[str, Any]], cells: Sequence[Cell], out: Path, data_dir: str | None
) -> None:
    """Draw a sheet for each set whose first seed is there: looks-SET.png."""
    by_config = {(result["config"]["set"], result["config"]["seed"]): result for result in results}
    for cell in cells:
        sheet = by_config.get((cell.set, cell.seed), {}).get("sheet")
        if sheet is None:
            continue
        test = read(cell.set, cell.plan, cell.seed, data_dir).test.rows(sheet["rows"])
        titles = {ATTRIBUTE: ATTRIBUTES.get(cell.set, "colour"), PLAIN: PLAIN, FAIR: "FairALM"}
        columns = {titles[name]: np.array(maps, dtype=float) for name, maps in sheet["maps"].items()}
        draw_sheet(np.asarray(test.pixels), columns, out / f"looks-{cell.set}.png", masks=test.masks)
