"""The figures of the results on CelebA."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reproduction.celeba.table import PROFILES, arm_name, nets
from reproduction.experiment import Results
from reproduction.figures import COLORS, interval_point, panels, plot_profile

SHADES = (COLORS["unconstrained"], "#9ecae1", "#4292c6", "#08519c", "#fdbe85", "#fd8d3c", "#d94801", "#7f2704")
#: column of profiles.png -> the method beside the unconstrained net, and whether gradients accumulate
FAMILIES = {"FairALM": ("fairalm", False), "l2": ("l2", False), "l2, gradients never zeroed": ("l2", True)}


def draw_points(table: pd.DataFrame) -> Any:
    """Draw error against DEO: ours with intervals, the printed ones without."""
    title = "CelebA, Attractive by gender; bars are 95 % intervals, the paper prints none"
    figure, grid = panels(8.5, 4.5, {"error": "test error, %"}, [title], "test DEO, %")
    (axes,) = grid.values()
    ours = ("#444444", COLORS["fairalm"], "#56B4E9", "#999999", COLORS["l2"], "#CC79A7", "#D55E00")
    colors, marks = iter(ours), iter("sX^")
    for line in table.to_dict("records"):
        if line["by"] == "paper":
            axes.plot(line["deo"], line["error"], next(marks), mfc="none", mec="#a03030", ms=8, label=line["model"])
        else:
            interval_point(axes, line, "error", fmt="o", color=next(colors), ms=7, label=line["model"])
    axes.set_xlim(left=-1)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def draw_profiles(results: Results) -> Any:
    """Draw error, DEO and the share predicted attractive after every epoch, a column for each family of nets."""
    families = {"ResNet-18": nets(results, "resnet18")}
    for column, (method, accumulates) in FAMILIES.items():
        alike = [net for net in nets(results, "relu3") if net["config"]["accumulates"] == accumulates]
        families[column] = [net for net in alike if net["config"]["method"] in (method, "unconstrained")]
    figure, grid = panels(13, 8, PROFILES, families, "epoch", sharey="row", sharex="col")
    for (name, column), axes in grid.items():
        arms = [arm_name(net["config"]) for net in families[column]]
        for arm, color in zip(dict.fromkeys(arms), SHADES, strict=False):
            alike = [net for net, own in zip(families[column], arms, strict=True) if own == arm]
            seeds = [net["history"].get(f"test_{name}", []) for net in alike]
            plot_profile(axes, seeds, color=color, label=arm, marker="o", ms=2.5)
        axes.xaxis.get_major_locator().set_params(integer=True)
        if name == "error" and families[column]:
            axes.legend(fontsize=7, frameon=False, ncols=2)
    return figure
