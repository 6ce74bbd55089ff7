"""The picture: measured saddle gaps and the bounds, on log axes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairalm.io import write_png
from reproduction.figures import new_figure
from reproduction.theory.bounds import exponentiated_gradient, first_case, second_case
from reproduction.theory.rates import BEST, BEST_EG, EG, FASTER, FIRST, SECOND

STYLES = {
    SECOND: ("#c0392b", "-"),
    FASTER: ("#c0392b", ":"),
    FIRST: ("#3b76b5", "-"),
    BEST: ("#0b3d75", "-"),
    EG: ("#b5651d", "-"),
    BEST_EG: ("#b5651d", ":"),
}
FAINT = 1e-9  # nothing below this is drawn: it is rounding


def draw(curves: pd.DataFrame, largest: float, path: Path, *, bound: float = 1.0) -> None:
    """Draw the saddle gaps of one family, of L_T on the left and of the game itself on the right, and write a PNG.

    Parameters
    ----------
    curves : pandas.DataFrame
        From :func:`reproduction.theory.saddle_curves`.
    largest : float
        L of the family.
    path : Path
        The file.
    bound : float
        B.
    """
    T = curves["T"].drop_duplicates().to_numpy()
    figure = new_figure(11, 5)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, column in ((left, "augmented"), (right, "original")):
        for rule, (color, line) in STYLES.items():
            part = curves[(curves["rule"] == rule) & (curves[column] > FAINT)]
            if len(part):
                axes.plot(part["T"], part[column], color=color, ls=line, lw=1.6, label=rule)
        axes.set(xscale="log", yscale="log", xlabel="rounds T")
        axes.spines[["top", "right"]].set_visible(False)
    bounds = [
        (left, second_case(T, largest).nu, "bound of the second case, log² T / T", "--"),
        (left, first_case(T, largest, bound).nu, "bound of the first case, sqrt(log T / T)", "-."),
        (right, exponentiated_gradient(T, largest, bound).nu, "bound of exponentiated gradient, 1 / sqrt T", "--"),
        (right, 1.25 * first_case(T, largest, bound).nu, "bound of the first case carried over (ours)", "-."),
    ]
    for axes, values, label, line in bounds:
        axes.plot(T, values, color="#888888", ls=line, lw=1, label=label)
    left.set(title="augmented Lagrangian L_T: what the theorem is about", ylabel="saddle gap ν of the average play")
    right.set(title=f"the game itself, |λ| ≤ {bound:g}: what we want solved")
    for axes in (left, right):
        axes.legend(fontsize=8, frameon=False, loc="lower left")
    figure.suptitle(f"{curves['family'].iloc[0]}: the average play after T rounds", x=0.01, ha="left", size=11)
    write_png(path, figure)
