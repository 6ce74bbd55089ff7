"""The pictures: error against DEO, and what happens from epoch to epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm.io import write_png
from reproduction.celeba.summary import nets, profile
from reproduction.figures import COLORS, new_figure, tidy

Result = Mapping[str, Any]
ROWS = {"error": "test error, %", "deo": "test DEO, %", "selection": "predicted attractive, %"}
SHADES = ("#9ecae1", "#4292c6", "#08519c", "#fdbe85", "#fd8d3c", "#d94801", "#7f2704")


def draw_points(table: pd.DataFrame, path: Path) -> None:
    """Draw error against DEO: ours with intervals, the printed ones without."""
    figure = new_figure(8.5, 4.5)
    axes = figure.add_subplot()
    colors = iter(("#444444", COLORS["fairalm"], "#56B4E9", "#999999", COLORS["l2"]))
    marks = iter("sX^")
    for row in table.to_dict("records"):
        if row["by"] == "paper":
            axes.plot(row["deo"], row["error"], next(marks), mfc="none", mec="#a03030", ms=8, label=row["model"])
            continue
        ends = {
            f"{axis}err": [[row[name] - row[f"{name}_low"]], [row[f"{name}_high"] - row[name]]]
            for axis, name in (("x", "deo"), ("y", "error"))
        }
        axes.errorbar(
            row["deo"], row["error"], fmt="o", color=next(colors), ms=7, mec="white", label=row["model"], **ends
        )
    axes.set(xlabel="test DEO, %", ylabel="test error, %")
    axes.set_xlim(left=-1)
    tidy(axes)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.suptitle("CelebA, Attractive by gender; bars are 95 % intervals, the paper prints none", x=0.01, ha="left")
    write_png(path, figure)


def draw_profiles(results: Sequence[Result], path: Path) -> None:
    """Draw error, DEO and the share predicted attractive after every epoch: a column per family of runs.

    Lines are means over the seeds, bands reach from the lowest to the highest seed; a cross is where a seed ended in
    numerical errors.
    """
    small = nets(results, "relu3")
    columns = {
        "FairALM, ReLU net": [run for run in small if run["config"]["rule"] in ("fairalm", "unconstrained")],
        "l2, ReLU net": [run for run in small if run["config"]["rule"] in ("l2", "unconstrained")],
        "l2, gradients never zeroed": [run for run in small if run["config"]["rule"] in ("l2", "unconstrained")],
        "ResNet-18": nets(results, "resnet18"),
    }
    figure = new_figure(13, 8)
    grid = figure.subplots(len(ROWS), len(columns), sharey="row", sharex="col", squeeze=False)
    for place, (title, runs) in enumerate(columns.items()):
        wanted = "never" in title
        chosen = [run for run in runs if run["config"]["accumulates"] == wanted]
        for axes, (name, label) in zip(grid[:, place], ROWS.items(), strict=True):
            _lines(axes, chosen, name)
            tidy(axes)
            if place == 0:
                axes.set_ylabel(label)
        grid[0, place].set_title(title, size=10)
        if chosen:
            grid[0, place].legend(fontsize=7, frameon=False, ncols=2)
        grid[-1, place].set_xlabel("epoch")
        grid[-1, place].xaxis.get_major_locator().set_params(integer=True)
    write_png(path, figure)


def _lines(axes: Any, runs: Sequence[Result], name: str) -> None:
    shades = iter(SHADES)
    for eta in dict.fromkeys(run["config"]["eta"] for run in runs):
        same = [run for run in runs if run["config"]["eta"] == eta]
        color = COLORS["unconstrained"] if eta is None else next(shades)
        found = [profile(run, name) for run in same]
        table = np.full((len(found), max(map(len, found))), np.nan)
        for line, values in zip(table, found, strict=True):
            line[: len(values)] = values
        epochs = np.arange(1, table.shape[1] + 1)
        known = ~np.isnan(table).any(axis=0)  # all seeds still there
        axes.plot(
            epochs[known], table[:, known].mean(axis=0), "-o", ms=2.5, color=color, label=_label(same[0]), zorder=3
        )
        axes.fill_between(
            epochs[known], table[:, known].min(axis=0), table[:, known].max(axis=0), color=color, alpha=0.15, lw=0
        )
        for values, run in zip(found, same, strict=True):
            if run["diverged"] is not None and values:
                axes.plot(len(values), values[-1], "x", color=color, ms=8, mew=2, zorder=4)


def _label(run: Result) -> str:
    return "unconstrained" if run["config"]["eta"] is None else f"eta {run['config']['eta']:g}"
