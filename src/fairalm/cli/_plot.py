"""The figure of the trade-off between error and gap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from fairalm.arrays import FloatArray
from fairalm.cli.compare import DEFAULT, FAIRLEARN
from fairalm.files import write_png
from fairalm.runs.comparison import PLAIN, Result

ROOM = 0.02  # error above the plain model's that is still shown


def tradeoff(results: Sequence[Result], tol: float, title: str, path: Path) -> None:
    """Draw test error against the gap, a point per method with its intervals, and write a PNG.

    Labels stand in a row on top, in the order of the points, each joined to its point. Methods whose error is far above
    the plain model's, which is the first result, are named below instead, so that the others can be told apart.
    """
    limit = float(results[0].error.value or 0) + ROOM
    shown = [r for r in results if r.gap.value is not None and float(r.error.value or 0) <= limit]
    shown.sort(key=lambda result: float(result.gap.value or 0))
    gap = 100 * np.array([[r.gap.low, r.gap.value, r.gap.high] for r in shown], dtype=float)
    error = 100 * np.array([[r.error.low, r.error.value, r.error.high] for r in shown], dtype=float)
    figure = Figure(figsize=(9, 5.8), layout="constrained")
    axes = figure.add_subplot()
    right, low, high = 1.05 * gap.max(), error.min() - 0.3, error.max() + 0.1
    axes.axvspan(0, 100 * tol, color="#e3efdd", lw=0, zorder=0)
    axes.text(
        50 * tol, low, f" within {100 * tol:.3g} %", rotation=90, va="bottom", ha="center", color="#5a7d4a", size=8
    )
    for result, x, y, place in zip(shown, gap, error, _apart(gap[:, 1], right), strict=True):
        color = _color(result.method)
        axes.hlines(y[1], x[0], x[2], color=color, alpha=0.35, lw=1.2)
        axes.vlines(x[1], y[0], y[2], color=color, alpha=0.35, lw=1.2)
        axes.plot(x[1], y[1], "o", color=color, ms=8, mec="white", zorder=3)
        axes.plot([x[1], place], [y[1], high], color=color, alpha=0.6, lw=0.7, ls=":", clip_on=False)
        label = f"{result.method} (default)" if result.method == DEFAULT else result.method
        weight = "bold" if result.method in (PLAIN, DEFAULT) else "normal"
        axes.text(place, high, f" {label}", rotation=40, rotation_mode="anchor", color=color, weight=weight)
    axes.set(xlim=(0, right), ylim=(low, high), ylabel="test error, %")
    outside = [f"{r.method} (error {r.error}, DEO {r.gap})" for r in results if r not in shown]
    note = f"\nOutside the figure: {'; '.join(outside)}" if outside else ""
    axes.set_xlabel(f"test DEO, %: gap in true positive rates between the groups{note}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, x=0.01, ha="left", size=11)
    write_png(path, figure)


def _apart(places: FloatArray, right: float) -> FloatArray:
    """Move ascending places as little as needed to stand apart between 0 and `right`."""
    distance = right / max(len(places), 18)
    apart = np.clip(places, 0.0, right)
    for i in range(1, len(apart)):
        apart[i] = max(apart[i], apart[i - 1] + distance)
    apart[-1] = min(apart[-1], right)
    for i in range(len(apart) - 2, -1, -1):
        apart[i] = min(apart[i], apart[i + 1] - distance)
    return np.asarray(apart)


def _color(method: str) -> str:
    if method in FAIRLEARN:
        return "#b5651d"
    return {PLAIN: "#444444", DEFAULT: "#0b3d75"}.get(method, "#3b76b5")
