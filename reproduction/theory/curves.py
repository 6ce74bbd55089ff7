"""Saddle gaps against T: Algorithm 1 with several steps, and exponentiated gradient, as a table and a figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairalm.arrays import FloatArray, IntArray
from reproduction.figures import new_figure
from reproduction.theory.families import Family
from reproduction.theory.plays import DualStep, ExponentiatedStep, LinearStep, Plays, play_many
from reproduction.theory.saddle import augmented_sides, exponentiated, first_case, larger, original_sides, second_case

ETAS = np.logspace(-2, 2, 17)  # a constant eta is sought among these
SECOND, FASTER, FIRST = "η = 1/T", "η = 1/T²", "η of the first case"
BEST, EG, BEST_EG = "best η", "exponentiated gradient", "exponentiated gradient, best step"
STYLES = {
    SECOND: ("#c0392b", "-"),
    FASTER: ("#c0392b", ":"),
    FIRST: ("#3b76b5", "-"),
    BEST: ("#0b3d75", "-"),
    EG: ("#b5651d", "-"),
    BEST_EG: ("#b5651d", ":"),
}
FAINT = 1e-9  # nothing below this is drawn: it is rounding


def lengths(rounds: int, per_decade: int = 10) -> IntArray:
    """T from 1 to `rounds`, evenly on a log axis.

    >>> lengths(100, per_decade=2)
    array([  1,   3,  10,  32, 100])
    """
    count = round(per_decade * np.log10(rounds)) + 1
    return np.unique(np.round(np.logspace(0.0, np.log10(rounds), count)).astype(np.int64))


def saddle_curves(family: Family, rounds: int, *, bound: float = 1.0) -> pd.DataFrame:
    """Play with each kind of step for each T up to `rounds`, and measure the average play.

    The table has a row per step and T: ``eta``; ``augmented``, the nu of L_T (NaN for exponentiated gradient, which has
    none); ``original``, the nu of the game itself with |lambda| <= `bound`; ``error``, ``gap``, ``last`` of the play.
    The "best" constant steps are those with the smallest ``original`` at that T, in hindsight.
    """
    T = lengths(rounds)[1:]  # after one round all have played the same
    first, theirs = first_case(T, family.largest, bound), exponentiated(T, family.largest, bound)
    steps: dict[str, tuple[DualStep, FloatArray]] = {
        SECOND: (LinearStep(), 1.0 / T),
        FASTER: (LinearStep(), 1.0 / T.astype(float) ** 2),
        FIRST: (LinearStep(bound), first.eta),
        EG: (ExponentiatedStep(bound), theirs.eta),
    }
    played = {name: play_many(family, step, eta, T) for name, (step, eta) in steps.items()}
    for name, step in ((BEST, LinearStep()), (BEST_EG, ExponentiatedStep(bound))):
        plays = play_many(family, step, np.tile(ETAS, len(T)), np.repeat(T, len(ETAS)))
        gaps = larger(original_sides(family, plays, bound)).reshape(len(T), len(ETAS))
        chosen = np.arange(len(T)) * len(ETAS) + gaps.argmin(axis=1)
        played[name] = Plays(*(values[chosen] for values in plays))
    tables = []
    for name, plays in played.items():
        columns: dict[str, Any] = {"family": family.name, "step": name, "T": plays.rounds, "eta": plays.eta}
        augmented = larger(augmented_sides(family, plays, bound if name == FIRST else None))
        columns["augmented"] = np.nan if name in (EG, BEST_EG) else augmented
        columns["original"] = larger(original_sides(family, plays, bound))
        tables.append(pd.DataFrame(columns | {"error": plays.error, "gap": plays.gap, "last": plays.last}))
    return pd.concat(tables, ignore_index=True)


def slopes(curves: pd.DataFrame, decades: float = 2.0) -> pd.DataFrame:
    """The exponent p of T^p that fits the last `decades` of each curve, by least squares on log axes."""
    late = curves[curves["T"] >= curves["T"].max() / 10.0**decades]

    def slope(part: pd.DataFrame, column: str) -> float:
        known = part[part[column] > 0]
        return float(np.polyfit(np.log(known["T"]), np.log(known[column]), 1)[0]) if len(known) > 1 else np.nan

    return pd.DataFrame(
        {"family": family, "step": step, **{name: slope(part, name) for name in ("augmented", "original")}}
        for (family, step), part in late.groupby(["family", "step"], sort=False)
    )


def draw(curves: pd.DataFrame, largest: float, *, bound: float = 1.0) -> Any:
    """Draw the saddle gaps of one family, whose L is `largest`: of L_T on the left, of the game itself on the right."""
    T = curves["T"].drop_duplicates().to_numpy()
    figure = new_figure(11, 5)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, column in ((left, "augmented"), (right, "original")):
        for step, (color, line) in STYLES.items():
            part = curves[(curves["step"] == step) & (curves[column] > FAINT)]
            if len(part):
                axes.plot(part["T"], part[column], color=color, ls=line, lw=1.6, label=step)
        axes.set(xscale="log", yscale="log", xlabel="rounds T")
        axes.spines[["top", "right"]].set_visible(False)
    first, theirs = first_case(T, largest, bound).nu, exponentiated(T, largest, bound).nu
    bounds = [
        (left, second_case(T, largest).nu, "bound of the second case, log² T / T", "--"),
        (left, first, "bound of the first case, sqrt(log T / T)", "-."),
        (right, theirs, "bound of exponentiated gradient, 1 / sqrt T", "--"),
        (right, 1.25 * first, "bound of the first case carried over (ours)", "-."),
    ]
    for axes, values, label, line in bounds:
        axes.plot(T, values, color="#888888", ls=line, lw=1, label=label)
    left.set(title="augmented Lagrangian L_T: what the theorem is about", ylabel="saddle gap ν of the average play")
    right.set(title=f"the game itself, |λ| ≤ {bound:g}: what we want solved")
    for axes in (left, right):
        axes.legend(fontsize=8, frameon=False, loc="lower left")
    figure.suptitle(f"{curves['family'].iloc[0]}: the average play after T rounds", x=0.01, ha="left", size=11)
    return figure
