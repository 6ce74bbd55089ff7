"""The experiment as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm.io import write_png
from reproduction.figures import COLORS, new_figure, tidy
from reproduction.xray.paper import REACHED
from reproduction.xray.settings import HOSPITAL
from reproduction.xray.summary import NAMES, label

OTHER = "#999999"  # of a rule that the paper does not have


def draw(nets: pd.DataFrame, path: Path) -> None:
    """The paper's figure: boxes of test error and DEO over the seeds, and how many nets have got to 20 % by when.

    Parameters
    ----------
    nets : pandas.DataFrame
        From :func:`reproduction.xray.summary.runs`.
    path : Path
        The PNG file.
    """
    rules = list(nets["label"].unique())
    figure = new_figure(11, 4)
    boxes = figure.subplots(1, 3)
    for axes, (name, word) in zip(boxes, NAMES.items(), strict=False):
        wide = 100 * nets.pivot(index="seed", columns="label", values=name)[rules]
        axes.plot(range(len(rules)), wide.to_numpy().T, color="#bbbbbb", lw=0.7, zorder=1)
        for place, rule in enumerate(rules):
            values, color = wide[rule].dropna(), _color(rule)
            axes.boxplot(
                values,
                positions=[place],
                widths=0.5,
                showfliers=False,
                medianprops={"color": color, "lw": 2},
                boxprops={"color": color},
                whiskerprops={"color": color},
                capprops={"color": color},
            )
            axes.plot(np.full(len(values), place), values, "o", color=color, ms=4, alpha=0.7)
        axes.set_xticks(range(len(rules)), [rule.replace(", ", ",\n") for rule in rules])
        axes.set(title=f"test {word}, %")
        tidy(axes)
    boxes[1].axhline(
        100 * nets["chance"].mean(), color="#333333", ls=":", lw=1, label="a net without any gap, on average"
    )
    boxes[1].set_ylim(0, 1.15 * boxes[1].get_ylim()[1])
    boxes[1].legend(fontsize=8, frameon=False, loc="upper right")
    last = int(nets["epochs"].max())
    for shift, rule in enumerate(rules):
        reached = nets.loc[nets["label"] == rule, "reached"].to_numpy()
        share = [100 * float((reached <= epoch).mean()) for epoch in range(last + 1)]
        # a little apart, or equal curves would hide each other
        boxes[2].step(range(last + 1), np.array(share) + 0.7 * shift, where="post", color=_color(rule), label=rule)
    boxes[2].set(title=f"nets with test error ≤ {100 * REACHED:.0f} % so far, %", xlabel="epoch", ylim=(0, 105))
    boxes[2].legend(fontsize=8, frameon=False, loc="upper left")
    tidy(boxes[2])
    figure.suptitle(f"Tuberculosis in X-rays of two hospitals, {nets['seed'].nunique()} seeds; grey lines join a seed")
    write_png(path, figure)


def draw_profiles(results: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Error and DEO after each epoch: each seed thin, the mean thick, the training batches dashed."""
    profiles: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        if result["config"]["rule"] != HOSPITAL:
            profiles.setdefault(label(result["config"]), []).append(result["profile"])
    figure = new_figure(11, 6)
    grid = figure.subplots(2, len(profiles), sharex=True, sharey="row", squeeze=False)
    for column, (rule, found) in enumerate(profiles.items()):
        color = _color(rule)
        for axes, (name, word) in zip(grid[:, column], NAMES.items(), strict=True):
            test, train = (
                100 * np.array([one[f"{part}_{name}"] for one in found], float) for part in ("test", "train")
            )
            epochs = np.arange(1, test.shape[1] + 1)
            axes.plot(epochs, test.T, color=color, lw=0.6, alpha=0.4)
            axes.plot(epochs, test.mean(axis=0), color=color, lw=2.5, label="test, mean of the seeds")
            axes.plot(epochs, train.mean(axis=0), color=color, lw=1.5, ls="--", label="training, mean")
            if name == "error":
                axes.axhline(100 * REACHED, color="#333333", lw=0.8, ls=":")
                axes.set_title(rule)
            if not column:
                axes.set_ylabel(f"{word}, %")
            tidy(axes)
        grid[-1, column].set_xlabel("epoch")
    grid[0, 0].legend(fontsize=8, frameon=False)
    write_png(path, figure)


def _color(rule: str) -> str:
    return COLORS.get(rule.split(",")[0], OTHER)
