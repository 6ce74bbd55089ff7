"""What the figures of all experiments share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

#: The color of a method in every figure; colour-blind safe (Okabe and Ito).
COLORS = {
    "unconstrained": "#444444",
    "l2": "#E69F00",
    "reweight": "#56B4E9",
    "adversarial": "#CC79A7",
    "lagrangian": "#009E73",
    "proxy-lagrangian": "#D55E00",
    "fairalm": "#0072B2",
}


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, in inches; without matplotlib, an error that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Figures need matplotlib: pip install "fairalm[report]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def tidy(axes: Any) -> None:
    """No frame above and to the right, a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)


def panels(
    width: float, height: float, rows: Mapping[str, str], columns: Iterable[str], xlabel: str, **shared: Any
) -> tuple[Any, dict[tuple[str, str], Any]]:
    """A figure with a grid of axes, by row and column; `rows` are names and what the y-axis says."""
    figure, names = new_figure(width, height), list(columns)
    grid = figure.subplots(len(rows), len(names), squeeze=False, **shared)
    for axes, name in zip(grid[0], names, strict=True):
        axes.set_title(name, size=10)
    for line, ylabel in zip(grid, rows.values(), strict=True):
        line[0].set_ylabel(ylabel)
        for axes in line:
            tidy(axes)
    for axes in grid[-1]:
        axes.set_xlabel(xlabel)
    return figure, {(row, name): grid[i, j] for i, row in enumerate(rows) for j, name in enumerate(names)}


def plot_profile(axes: Any, seeds: Sequence[Sequence[float]], *, thin: bool = True, **style: Any) -> None:
    """Plot shares by epoch in percent: a `thin` line for each seed, which may end early, and the mean of all."""
    table = 100 * pd.DataFrame(seeds, dtype=float).T
    table.index += 1
    if thin:
        axes.plot(table, color=style["color"], lw=0.6, alpha=0.5)
    axes.plot(table.dropna().mean(axis=1), **style)


def interval_point(axes: Any, line: Mapping[Any, Any], y: str, **style: Any) -> None:
    """Plot a figure of a line against its DEO, with the intervals of both."""
    x_error, y_error = ([[line[k] - line[f"{k}_low"]], [line[f"{k}_high"] - line[k]]] for k in ("deo", y))
    axes.errorbar(line["deo"], line[y], xerr=x_error, yerr=y_error, mec="white", **style)
