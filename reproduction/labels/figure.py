"""The table as a picture."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairalm.io import write_png
from reproduction.figures import COLORS, new_figure, tidy
from reproduction.labels.cell import GROUPS
from reproduction.labels.paper import LEAST_DEO, PAPER
from reproduction.labels.summary import DEFAULT, F, U, labels_shown, rows_of

GREEN = COLORS["lagrangian"]  # of the default, which has no colour of its own
#: rule -> place in its row, so that intervals do not hide each other, marker, words
DRAWN = {
    U: (-0.24, "o", "U, unconstrained"),
    F: (0.0, "o", "F, FairALM"),
    DEFAULT: (0.24, "D", "default"),
}


def draw(table: pd.DataFrame, title: str, path: Path) -> None:
    """Draw the DEO per label of each rule, with intervals, and write a PNG.

    A panel per protected attribute. Rings are the numbers that the paper prints; the dashed line is its condition on U.

    Parameters
    ----------
    table : pandas.DataFrame
        From :func:`summarise`.
    title : str
        Above the picture.
    path : Path
        The file.
    """
    shown = {protected: labels_shown(table, protected) for protected in GROUPS}
    n_rows = max(map(len, shown.values()))
    figure = new_figure(11, 1.6 + 0.4 * n_rows)
    panels = figure.subplots(1, len(shown), sharex=True)
    for axes, (protected, labels) in zip(panels, shown.items(), strict=True):
        rows = rows_of(table, protected)
        for place, label in enumerate(labels):
            for rule, (side, marker, _) in DRAWN.items():
                row = rows.get((label, rule))
                if row is None or pd.isna(row["deo"]):
                    continue
                color = COLORS.get(rule, GREEN)
                axes.plot([row["deo_low"], row["deo_high"]], [place + side] * 2, color=color, lw=1.2)
                axes.plot(row["deo"], place + side, marker, color=color, ms=5)
            for value, rule in zip(PAPER[protected].get(label, ()), (U, F), strict=False):
                axes.plot(value, place + DRAWN[rule][0], "o", mfc="none", mec=COLORS[rule], ms=11, mew=1.3)
        axes.axvline(100 * LEAST_DEO, color="#999999", lw=1, ls="--", zorder=0)
        names = [label.replace("_", " ") + ("" if rows[label, U]["is_screened"] else " †") for label in labels]
        axes.set_yticks(range(len(labels)), names)
        axes.set_ylim(n_rows - 0.4, -0.6)
        axes.set(xlabel="test DEO, points", title=f"protected: {protected}")
        tidy(axes)
    for rule, (_, marker, words) in DRAWN.items():
        panels[0].plot([], [], marker, color=COLORS.get(rule, GREEN), ms=5, label=words)
    panels[0].plot([], [], "o", mfc="none", mec="#666666", ms=11, label="ring: printed in the paper")
    panels[0].legend(fontsize=8, frameon=False, loc="lower right")
    figure.suptitle(title, x=0.01, ha="left", size=11)
    write_png(path, figure)
