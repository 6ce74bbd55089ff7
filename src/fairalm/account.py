"""What a game says about itself: the table of its rounds, and its warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from fairalm.exceptions import ConstantModelWarning, ToleranceWarning
from fairalm.game import Game, Predictor, saddle_gaps

NEARLY_CONSTANT = 0.1  # the rarer prediction is made a tenth as often as by the plain model


def warn_about(game: Game, predictor: Predictor, smallest_cell: int, *, advice: str = "") -> None:
    """Warn of a gap above the tolerance, and of a model that came out constant where the plain one is not.

    Parameters
    ----------
    game : Game
        The game played.
    predictor : str
        The model that was taken from it.
    smallest_cell : int
        People in the smallest cell.
    advice : str
        What to try against a gap, besides more rounds.
    """
    weights = game.weights(predictor)
    gap, person = float(abs(weights @ game.gaps).max()), 1 / smallest_cell
    if gap > game.tol + 1e-12:
        message = (
            f"The gap is {100 * gap:.2g} points after {len(game.played)} rounds, above the tolerance of"
            f" {100 * game.tol:.2g}."
        )
        if gap <= person:
            message += f" One person in the smallest cell is {100 * person:.1f} points."
        else:
            message += f" {advice} More rounds ({{max_iter}}) may reach it.".replace("  ", " ")
        warnings.warn(ToleranceWarning(message, max_iter=None, predictor="mixture"), stacklevel=3)
    plain, ours = game.found[0].selection, float(weights @ game.selections)
    if min(ours, 1 - ours) < NEARLY_CONSTANT * min(plain, 1 - plain):
        warnings.warn(
            f"The fair model predicts the target for {100 * ours:.1f} % of people, the plain one for"
            f" {100 * plain:.1f} %: a constant has no gap, and no use. Try a smaller eta or a larger tol.",
            ConstantModelWarning,
            stacklevel=3,
        )


def history_table(game: Game, certified: bool) -> pd.DataFrame:
    """One row per round."""
    played = np.array(game.played)
    multipliers = np.stack(game.multipliers)
    errors, gaps = game.errors[played], game.gaps[played]
    one = multipliers.shape[1] == 1
    table: dict[str, Any] = {"t": np.arange(1, len(played) + 1)}
    table |= {"lambda" if one else f"lambda_{i}": column for i, column in enumerate(multipliers.T)}
    table |= {
        "error": errors,
        "gap": gaps[:, 0] if one else abs(gaps).max(axis=1),
        "lagrangian": errors + (multipliers * gaps).sum(axis=1),
        "saddle_gap": saddle_gaps(game) if certified else np.nan,
    }
    return pd.DataFrame(table)
