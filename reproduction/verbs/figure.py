"""The experiment as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm.io import write_png
from reproduction.figures import COLORS, new_figure, tidy
from reproduction.verbs.pages import name_of
from reproduction.verbs.rules import RULES, SEVEN, SWEPT
from reproduction.verbs.summary import Results, title

WORDS = {"error": "test error, %", "deo": "test DEO, %"}
FAIR_HEAD = "#000000"


def profiles(results: Results, path: Path) -> None:
    """Draw error and DEO on the test part after each epoch, mean over the seeds, a column per data set."""
    curves: dict[tuple[str, str], list[Any]] = {}
    for result in results:
        config = result["config"]
        if result["history"]:
            curves.setdefault((config["data"], config["rule"]), []).append(result["history"])
    data = list(dict.fromkeys(name for name, _ in curves))
    figure = new_figure(2.7 * len(data) + 1.8, 5.4)
    grid = figure.subplots(2, len(data), sharex="col", squeeze=False)
    for (name, rule), histories in curves.items():
        for row, measure in zip(grid, WORDS, strict=True):
            mean = 100 * np.mean([history[measure] for history in histories], axis=0)
            row[data.index(name)].plot(
                np.arange(1, len(mean) + 1),
                mean,
                color=_color(rule),
                ls="--" if RULES[rule].is_heldout else "-",
                lw=2 if RULES[rule].method == "fairalm" else 1.2,
                label=title(rule),
            )
    for row, (measure, word) in zip(grid, WORDS.items(), strict=True):
        for axes, name in zip(row, data, strict=True):
            tidy(axes)
            axes.set_ylim(bottom=0)
            if measure == "error":
                axes.set_title(name_of(name), size=10)
            else:
                axes.set_xlabel("epoch")
        row[0].set_ylabel(word)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8, frameon=False)
    write_png(path, figure)


def tradeoff(table: pd.DataFrame, path: Path) -> None:
    """Draw error and worst-group error against DEO on Waterbirds, with the test part's intervals."""
    figure = new_figure(11, 4.6)
    panels = figure.subplots(1, 2, sharex=True)
    for axes, (name, word) in zip(
        panels, {"error": "test error, %", "worst": "error of the worst group, %"}.items(), strict=True
    ):
        for line in table[table["data"] == "waterbirds"].to_dict("records"):
            rule = RULES[line["rule"]]
            axes.errorbar(
                line["deo"],
                line[name],
                xerr=[[line["deo"] - line["deo_low"]], [line["deo_high"] - line["deo"]]],
                yerr=[[line[name] - line[f"{name}_low"]], [line[f"{name}_high"] - line[name]]],
                fmt="*" if not rule.method else "s" if rule.is_heldout else "o",
                ms=11 if not rule.method else 8,
                color=_color(line["rule"]),
                mec="white",
                elinewidth=0.8,
                label=rule.title,
            )
        axes.set(xlabel="test DEO, %", ylabel=word)
        tidy(axes)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False)
    write_png(path, figure)


def steadiness(swept: pd.DataFrame, path: Path) -> None:
    """Draw error and DEO against eta: a line per rule, a band of one standard deviation over the seeds."""
    figure = new_figure(9, 6)
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, is_heldout in enumerate((False, True)):
        for rule in (rule for rule in SWEPT if RULES[rule].is_heldout == is_heldout):
            part = swept[swept["rule"] == rule].groupby("eta")
            for row, measure in zip(grid, WORDS, strict=True):
                mean, sd = 100 * part[measure].mean(), 100 * part[measure].std().fillna(0.0)
                axes = row[column]
                axes.plot(mean.index, mean, "o-", color=_color(rule), ms=4, label=SEVEN[RULES[rule].method].title)
                axes.fill_between(mean.index, mean - sd, mean + sd, color=_color(rule), alpha=0.15, lw=0)
        grid[0][column].set_title("multipliers moved by " + ("held-out pictures" if is_heldout else "training batches"))
        grid[1][column].set(xlabel="eta", xscale="log")
    for row, word in zip(grid, WORDS.values(), strict=True):
        row[0].set_ylabel(word)
        for axes in row:
            tidy(axes)
    grid[0][0].legend(fontsize=8, frameon=False)
    write_png(path, figure)


def _color(rule: str) -> str:
    return COLORS.get(RULES[rule].method, FAIR_HEAD)
