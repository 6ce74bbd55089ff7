"""What comes out of a game: the models to keep, their figures, and warnings about them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairalm.arrays import FloatArray, IntArray
from fairalm.exceptions import ConstantModelWarning, ToleranceWarning

NEARLY_CONSTANT = 0.1  # the rarer prediction is made a tenth as often as by the plain model


@dataclass(frozen=True, eq=False)
class GameResult:
    """The predictor that was asked for, and how it was found.

    Attributes
    ----------
    members : int array
        The classifiers that the predictor draws from, as indices into ``Game.classifiers``.
    weights : array
        Their probabilities.
    models : list
        The classifiers themselves.
    error, gap, selection : float
        Error, largest absolute gap and share predicted as the target, of the predictor, where gaps were measured.
    plain_selection : float
        Share that the plain model predicts as the target.
    dual : array of shape (events, rows of C)
        The multipliers that the likeliest member was fitted with.
    optimality_gap, saddle_gap : float
        How much more the predictor, and the average play, cost than any mixture of the classifiers found must; NaN for
        a constraint that is not linear.
    history : DataFrame
        One row per round: t, lambda, error, gap, Lagrangian, saddle gap.
    tol : float
        The tolerance that was asked for.
    """

    members: IntArray
    weights: FloatArray
    models: list[Any]
    error: float
    gap: float
    selection: float
    plain_selection: float
    dual: FloatArray
    optimality_gap: float
    saddle_gap: float
    history: pd.DataFrame
    tol: float

    def warn(self, smallest_cell: int, *, advice: str = "", **parameters: Any) -> None:
        """Warn of a gap above the tolerance, and of a model that is constant where the plain one is not.

        Parameters
        ----------
        smallest_cell : int
            Rows in the smallest cell.
        advice : str
            What to try against a gap, besides more rounds, with its `parameters` as in :class:`fairalm.InputError`.
        """
        if self.gap > self.tol + 1e-12:
            n = len(self.history)
            message = (
                f"The gap is {100 * self.gap:.2g} points after {n} round{'s' * (n > 1)}, above the tolerance of"
                f" {100 * self.tol:.2g}."
            )
            if self.gap <= 1 / smallest_cell:
                message += f" One row in the smallest cell is {100 / smallest_cell:.1f} points."
            else:
                message += f" {advice} More rounds ({{max_iter}}) may reach it.".replace("  ", " ")
            warnings.warn(ToleranceWarning(message, max_iter=None, **parameters), stacklevel=3)
        ours, plain = self.selection, self.plain_selection
        if min(ours, 1 - ours) < NEARLY_CONSTANT * min(plain, 1 - plain):
            message = (
                f"The fair model predicts the target for {100 * ours:.1f} % of the rows, the plain one for"
                f" {100 * plain:.1f} %: a constant has no gap, and no use. Try a smaller eta or a larger tol."
            )
            warnings.warn(ConstantModelWarning(message), stacklevel=3)


def history_table(
    errors: FloatArray, gaps: FloatArray, multipliers: FloatArray, saddle_gaps: FloatArray | float
) -> pd.DataFrame:
    """One row per round, given the error, gaps and multipliers of each."""
    is_one = multipliers.shape[1] == 1
    table: dict[str, Any] = {"t": np.arange(1, len(errors) + 1)}
    table |= {"lambda" if is_one else f"lambda_{i}": column for i, column in enumerate(multipliers.T)}
    table |= {
        "error": errors,
        "gap": gaps[:, 0] if is_one else abs(gaps).max(axis=1),
        "lagrangian": errors + (multipliers * gaps).sum(axis=1),
        "saddle_gap": saddle_gaps,
    }
    return pd.DataFrame(table)
