"""The trade-off of one data set as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fairalm.io import write_png
from reproduction.figures import new_figure
from reproduction.tabular.paper import PAPER
from reproduction.tabular.rows import ROWS

COLORS = {
    "zafar": "#8c6d31",
    "hardt": "#b5651d",
    "donini": "#7b4173",
    "agarwal": "#c0392b",
    "algorithm-1": "#3b76b5",
    "fairalm": "#0b3d75",
    "plain": "#444444",
    "constant": "#999999",
}


def draw(lines: pd.DataFrame, title: str, path: Path) -> None:
    """Draw error against DEO, a point per method with the standard errors of both, and write a PNG.

    Rings are the numbers that the paper prints. The band is the DEO that a model without any gap shows on as many
    people.

    Parameters
    ----------
    lines : pandas.DataFrame
        The lines of one data set from :func:`summarise`.
    title : str
        Above the picture.
    path : Path
        The file.
    """
    name = str(lines["table"].iloc[0])
    figure = new_figure(8.5, 5)
    axes = figure.add_subplot()
    by_row = {str(line["row"]): line for line in lines.to_dict("records")}
    ours = by_row.get("fairalm")
    if ours is not None:
        axes.axvspan(0, ours["chance"], color="#e3efdd", lw=0, zorder=0, label="a model without any gap")
    for row, line in by_row.items():
        root = np.sqrt(line["seeds"])
        axes.errorbar(
            line["deo"],
            line["error"],
            xerr=line["deo_sd"] / root,
            yerr=line["error_sd"] / root,
            fmt="D" if ROWS[row].needs_group else "o",
            color=COLORS[row],
            ms=8,
            mec="white",
            elinewidth=1,
            zorder=3,
            label=ROWS[row].title + (" (is told the group)" if ROWS[row].needs_group else ""),
        )
        printed = PAPER.get(row, {}).get(name)
        if printed is not None:
            axes.plot(printed.deo, printed.error, "o", mfc="none", mec=COLORS[row], ms=9, mew=1.4)
    axes.plot([], [], "o", mfc="none", mec="#666666", ms=9, label="ring: printed in the paper")
    axes.set(xlabel="test DEO, %", ylabel="test error, %")
    axes.set_xlim(left=-0.02 * axes.get_xlim()[1])  # a point at 0 is whole
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.suptitle(title, x=0.01, ha="left", size=11)
    write_png(path, figure)
