"""What comes out of a game: the models to keep, their figures, and warnings about them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairalm.arrays import FloatArray
from fairalm.candidates import NEARLY_CONSTANT, WORSE_BY, selected_by_group
from fairalm.cells import CountedRows
from fairalm.exceptions import (
    ConstantModelWarning,
    FairALMWarning,
    LevellingDownWarning,
    NoBetterThanConstantWarning,
    OptimalityWarning,
    ToleranceWarning,
)
from fairalm.moments import divide

SHOWN = 4  # groups named in a warning


@dataclass(frozen=True, eq=False)
class GroupChange:
    """Rates of the compared groups, from the plain model to the fair one, each of shape (2, groups)."""

    tpr: FloatArray  # share predicted as the target among rows with the target label
    selection: FloatArray  # share predicted as the target
    overall: FloatArray  # the same over all groups, shape (2,)

    @classmethod
    def of(cls, rows: CountedRows, wrong: FloatArray) -> GroupChange:
        """From the wrong predictions of both models, shape (2, 2, groups)."""
        found, selected, counts = rows.counts[1] - wrong[:, 1], selected_by_group(rows, wrong), rows.counts
        overall = selected.sum(-1) / rows.total
        if rows.cells.compared is not None:
            found, selected, counts = (part @ rows.cells.compared.membership for part in (found, selected, counts))
        both = np.broadcast_to(counts[:, None], (2, 2, counts.shape[1]))
        return cls(divide(found, both[1]), divide(selected, both.sum(0)), overall)

    @property
    def is_levelled_down(self) -> bool:
        """Whether both rates fall by more than a point in every group."""
        return all(bool((rate[1] < rate[0] - WORSE_BY).all()) for rate in (self.tpr, self.selection))

    def levelling_down(self, names: tuple[str, ...]) -> str:
        """A sentence that says so, if every group loses; otherwise ""."""
        if not self.is_levelled_down:
            return ""
        before, after = self.tpr
        labels = names or tuple(map(str, range(len(after))))
        shown = [f"{name} {100 * a:.0f} → {100 * b:.0f} %" for name, a, b in zip(labels, before, after, strict=True)]
        listed = ", ".join(shown[:SHOWN]) + (", ..." if len(shown) > SHOWN else "")
        return (
            "The gap closed at the expense of every group: each is predicted the target less often than by the plain"
            f" model (true positive rates: {listed})."
        )

    def table(self, names: tuple[str, ...]) -> pd.DataFrame:
        """One row per group."""
        columns = {"tpr_plain": self.tpr[0], "tpr": self.tpr[1]}
        columns |= {"selection_plain": self.selection[0], "selection": self.selection[1]}
        return pd.DataFrame({"group": list(names), **columns})


@dataclass(frozen=True, eq=False)
class GameResult:
    """The predictor that was asked for, and how it was found.

    Attributes
    ----------
    weights : array
        The probabilities of the predictor's members.
    models : list
        The members, as they were fitted.
    shifts : array
        How far the threshold of each is moved, in units of its margin: 0 as it was fitted, ±inf for a constant.
    error, gap : float
        Error, and largest difference between two groups, of the predictor, where gaps were measured.
    constant_error : float
        Error of the better constant; NaN if it was not measured.
    dual : array of shape (events, rows of C)
        The multipliers that the likeliest member was fitted with.
    optimality_gap, saddle_gap : float
        How much more the predictor, and the average play, cost than any mixture of the classifiers found must; NaN for
        a constraint that is not linear.
    history : DataFrame
        One row per round: t, lambda, error, gap, Lagrangian, saddle gap.
    tol : float
        The tolerance that was asked for.
    change : GroupChange, optional
        The groups' rates, from the plain model to the predictor.
    """

    weights: FloatArray
    models: list[Any]
    shifts: FloatArray
    error: float
    gap: float
    constant_error: float
    dual: FloatArray
    optimality_gap: float
    saddle_gap: float
    history: pd.DataFrame
    tol: float
    change: GroupChange | None

    def warn(self, smallest_cell: int, names: tuple[str, ...] = (), *, mixture: bool = False) -> None:
        """Warn of what the user must know of this model.

        Parameters
        ----------
        smallest_cell : int
            Rows in the smallest cell.
        names : tuple of str
            The groups, for the warning that every one of them loses.
        mixture : bool
            Whether a mixture is something else to try.
        """
        ways = "Ways out: let the model see the protected attribute, another estimator, a larger {tol}"
        ways += ", {predictor}" if mixture else ""
        ways += ", or the frontier (FrontierClassifier, fairalm frontier)."
        facts: dict[type[FairALMWarning], str] = {
            ToleranceWarning: self._tolerance(smallest_cell, mixture),
            ConstantModelWarning: self._constant(),
            NoBetterThanConstantWarning: _with(ways, self._no_better()),
            LevellingDownWarning: _with(ways, self._levelling_down(names)),
            OptimalityWarning: _with(ways, self._far_from_optimal()) if mixture else "",
        }
        for kind, message in facts.items():
            if message:
                warnings.warn(kind(message, max_iter=None, tol=None, predictor="mixture"), stacklevel=3)

    def _tolerance(self, smallest_cell: int, mixture: bool) -> str:
        if self.gap <= self.tol + 1e-12:
            return ""
        n = len(self.history)
        message = (
            f"The gap is {100 * self.gap:.2g} points after {n} round{'s' * (n > 1)}, above the tolerance of"
            f" {100 * self.tol:.2g}."
        )
        if self.gap <= 1 / smallest_cell:
            return f"{message} One row in the smallest cell is {100 / smallest_cell:.1f} points."
        advice = " {predictor} may close it where no single model does." if mixture else ""
        return f"{message}{advice} More rounds ({{max_iter}}) may reach it."

    def _constant(self) -> str:
        if self.change is None:
            return ""
        plain, ours = self.change.overall
        if not min(ours, 1 - ours) < NEARLY_CONSTANT * min(plain, 1 - plain):
            return ""
        return (
            f"The fair model predicts the target for {100 * ours:.1f} % of the rows, the plain one for"
            f" {100 * plain:.1f} %: a constant has no gap, and no use. Try a smaller eta or a larger {{tol}}."
        )

    def _no_better(self) -> str:
        if not self.error >= self.constant_error:
            return ""
        return (
            f"The fair model is wrong for {100 * self.error:.1f} % of the rows; to predict the same for every row is"
            f" wrong for {100 * self.constant_error:.1f} %."
        )

    def _levelling_down(self, names: tuple[str, ...]) -> str:
        return "" if self.change is None else self.change.levelling_down(names)

    def _far_from_optimal(self) -> str:
        if self.gap > self.tol + 1e-12 or not self.optimality_gap > WORSE_BY:
            return ""  # above the tolerance the cost of the gap is in the figure; there is a warning of its own
        return (
            f"Mixtures of the models found may be within the tolerance at {100 * self.optimality_gap:.1f} points less"
            " error than this model."
        )


def _with(ways: str, fact: str) -> str:
    """A fact with the ways out of it, if there is one."""
    return f"{fact} {ways}" if fact else ""


def history_table(
    errors: FloatArray, gaps: FloatArray, spread: FloatArray, multipliers: FloatArray, saddle_gaps: FloatArray | float
) -> pd.DataFrame:
    """One row per round, given the error, gaps, largest difference between groups and multipliers of each."""
    is_one = multipliers.shape[1] == 1
    table: dict[str, Any] = {"t": np.arange(1, len(errors) + 1)}
    table |= {"lambda" if is_one else f"lambda_{i}": column for i, column in enumerate(multipliers.T)}
    table |= {
        "error": errors,
        "gap": gaps[:, 0] if is_one else spread,
        "lagrangian": errors + (multipliers * gaps).sum(axis=1),
        "saddle_gap": saddle_gaps,
    }
    return pd.DataFrame(table)
