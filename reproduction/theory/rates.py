"""Saddle gaps against T: Algorithm 1 with several steps, and exponentiated gradient."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairalm._validation import FloatArray, IntArray
from fairalm.exceptions import InputError
from reproduction.theory.bounds import exponentiated_gradient, first_case
from reproduction.theory.families import Family
from reproduction.theory.plays import DualStep, ExponentiatedStep, LinearStep, Plays, play_many
from reproduction.theory.saddle import augmented_sides, larger, original_sides

ETAS = np.logspace(-2, 2, 17)  # a constant eta is sought among these
SECOND, FASTER, FIRST = "η = 1/T", "η = 1/T²", "η of the first case"
BEST, EG, BEST_EG = "best η", "exponentiated gradient", "exponentiated gradient, best step"


def lengths(rounds: int, per_decade: int = 10) -> IntArray:
    """T from 1 to `rounds`, evenly on a log axis.

    >>> lengths(100, per_decade=2)
    array([  1,   3,  10,  32, 100])
    """
    if rounds < 1:
        raise InputError(f"A game needs at least one round; got rounds={rounds!r}.")
    count = round(per_decade * np.log10(rounds)) + 1
    return np.unique(np.round(np.logspace(0.0, np.log10(rounds), count)).astype(np.int64))


def saddle_curves(family: Family, rounds: int, *, bound: float = 1.0) -> pd.DataFrame:
    """Play each rule for each T and measure the average play.

    Parameters
    ----------
    family : Family
        With a mixture of gap 0.
    rounds : int
        The largest T.
    bound : float
        B, of the original game and of the rules that keep to it.

    Returns
    -------
    pandas.DataFrame
        A row per rule and T: ``eta``; ``augmented``, the nu of L_T (NaN for exponentiated gradient, which has none);
        ``original``, the nu of the game itself with |lambda| <= B; ``error``, ``gap``, ``last`` of the play. The "best"
        constant steps are those with the smallest ``original`` at that T, in hindsight.

    Examples
    --------
    >>> family = Family("two", np.array([0.1, 0.2]), np.array([0.3, -0.1]))
    >>> curves = saddle_curves(family, 100).set_index(["rule", "T"])
    >>> bool(curves.loc[("best η", 100), "original"] < 0.01 < curves.loc[("η = 1/T", 100), "original"])
    True
    """
    T = lengths(rounds)[1:]  # after one round every rule has played the same
    first, theirs = first_case(T, family.largest, bound), exponentiated_gradient(T, family.largest, bound)
    kept = ExponentiatedStep(bound)
    rules: list[tuple[str, DualStep, FloatArray]] = [
        (SECOND, LinearStep(), 1.0 / T),
        (FASTER, LinearStep(), 1.0 / T.astype(float) ** 2),
        (FIRST, LinearStep(bound), first.eta),
        (EG, kept, theirs.eta),
    ]
    tables = [_measured(family, rule, play_many(family, step, eta, T), bound) for rule, step, eta in rules]
    tables += [_best(family, rule, step, T, bound) for rule, step in ((BEST, LinearStep()), (BEST_EG, kept))]
    return pd.concat(tables, ignore_index=True)


def _measured(family: Family, rule: str, plays: Plays, bound: float) -> pd.DataFrame:
    within = bound if rule == FIRST else None
    augmented = larger(augmented_sides(family, plays, within))
    return pd.DataFrame(
        {
            "family": family.name,
            "rule": rule,
            "T": plays.rounds,
            "eta": plays.eta,
            "augmented": np.nan if rule in (EG, BEST_EG) else augmented,
            "original": larger(original_sides(family, plays, bound)),
            "error": plays.error,
            "gap": plays.gap,
            "last": plays.last,
        }
    )


def _best(family: Family, rule: str, step: DualStep, T: IntArray, bound: float) -> pd.DataFrame:
    """Of all constant steps, at each T, the one with the smallest gap of the original game."""
    plays = play_many(family, step, np.tile(ETAS, len(T)), np.repeat(T, len(ETAS)))
    gaps = larger(original_sides(family, plays, bound)).reshape(len(T), len(ETAS))
    chosen = np.arange(len(T)) * len(ETAS) + gaps.argmin(axis=1)
    return _measured(family, rule, plays.at(chosen), bound)


def slopes(curves: pd.DataFrame, decades: float = 2.0) -> pd.DataFrame:
    """The exponent p of T^p that fits the last `decades` of each curve, by least squares on log axes.

    Parameters
    ----------
    curves : pandas.DataFrame
        From :func:`saddle_curves`.
    decades : float
        How much of the curve, from its end.
    """
    late = curves[curves["T"] >= curves["T"].max() / 10.0**decades]
    rows = []
    for (family, rule), part in late.groupby(["family", "rule"], sort=False):
        row: dict[str, object] = {"family": family, "rule": rule}
        for column in ("augmented", "original"):
            known = part[part[column] > 0]
            enough = len(known) > 1
            row[column] = float(np.polyfit(np.log(known["T"]), np.log(known[column]), 1)[0]) if enough else np.nan
        rows.append(row)
    return pd.DataFrame(rows)
