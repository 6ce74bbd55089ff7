"""The game while one model is boosted: after a round its predictions come in, and weights for the next round go out.

Nothing here knows which library boosts. A row's weight depends on its label and group only, so the answer to a round is
a small table of factors, one for each label and group, in which every row is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm.arrays import BoolArray, FloatArray
from fairalm.cells import Rows
from fairalm.methods import Method
from fairalm.mixtures import choose_single
from fairalm.moments import Moments, divide
from fairalm.result import GroupChange, history_table
from fairalm.selection import select_nvp

EVERY = 2  # rounds from one dual step to the next: reading the scores is most of what the game costs


class Answer(NamedTuple):
    """What the next round is fitted to, one entry per row."""

    factor: npt.NDArray[np.float32]  # times the row's own weight
    flipped: BoolArray | None  # rows that count for the other label; None if no row ever did


class Plan(NamedTuple):
    """Which rounds there are, and when to stop.

    With `patience`, the model is that of the round that NVP chooses, and the fit ends once this has been the same round
    for so many.
    """

    n_rounds: int  # at most
    n_measured: int  # the held-out rows join the others after so many, and nothing is measured any more
    patience: int | None = None
    keep: float = 0.95  # of the best accuracy, see :func:`fairalm.select_nvp`


@dataclass(frozen=True, eq=False)
class Round:
    """A round whose predictions were measured."""

    t: int
    error: float
    wrong: FloatArray  # share of wrong predictions by label and group
    moments: Moments
    multiplier: FloatArray

    @property
    def is_constant(self) -> bool:
        """Whether every row was predicted the same."""
        return bool((self.wrong == [[0.0], [1.0]]).all() or (self.wrong == [[1.0], [0.0]]).all())


class BoostGame:
    """The game over the rounds of one boosted model.

    Parameters
    ----------
    rows : Rows
        All rows.
    method : Method
        How the multipliers move.
    tol : float
        Bound on the difference between any two groups.
    plan : Plan
        When to measure and when to stop.
    heldout : bool array, optional
        Rows to measure on; they have no weight until they join. All rows if left out.
    """

    def __init__(self, rows: Rows, method: Method, *, tol: float, plan: Plan, heldout: BoolArray | None = None) -> None:
        self.rows, self.method, self.tol, self.plan, self.heldout = rows, method, tol, plan, heldout
        self.weight = rows.weight if heldout is None else np.where(heldout, rows.weight, 0.0)
        self.counts = rows.sums(self.weight)
        self.t = 0
        self.rounds: list[Round] = []
        plain = self._moments(np.zeros_like(self.counts))
        self.dual = method.start(plain, plain.row_tolerance(tol))
        self.table = np.ones_like(self.counts)
        self._flips = False

    def start(self) -> Answer:
        """What the first round is fitted to."""
        return self._answer()

    @property
    def measures(self) -> bool:
        """Whether the round to come is measured."""
        t = self.t + 1
        return t <= self.plan.n_measured and (t % EVERY == 0 or t == self.plan.n_measured)

    def skip(self) -> None:
        """A round that is not measured."""
        self.t += 1

    def play(self, predicted: BoolArray) -> Answer:
        """A round that is measured: from its predictions to what the next one is fitted to.

        Parameters
        ----------
        predicted : bool array of shape (rows,)
            Which rows are predicted as the target.
        """
        self.t += 1
        wrong = divide(self.rows.sums(self.weight * (predicted != self.rows.positive)), self.counts)
        moments = self._moments(wrong)
        error = float((wrong * self.rows.counts).sum() / self.rows.total)
        multiplier = np.asarray(self.method.multiplier(self.dual), dtype=float).ravel()
        self.rounds.append(Round(self.t, error, wrong, moments, multiplier))
        self.dual = self.method.update(moments, self.dual)
        weights = np.asarray(self.method.weights(moments, self.dual))
        self.table = 1.0 + self.rows.total * self.rows.cells.loss_weights(weights, moments)
        return self._answer()

    @property
    def is_over(self) -> bool:
        """Whether this was the last round."""
        if self.t >= self.plan.n_rounds:
            return True
        patience = self.plan.patience
        return patience is not None and bool(self.rounds) and self.t - self.chosen.t >= patience

    @property
    def best_round(self) -> int:
        """The rounds that the model consists of."""
        return self.plan.n_rounds if self.plan.n_measured < self.plan.n_rounds else self.chosen.t

    @property
    def chosen(self) -> Round:
        """The round with the smallest error within the tolerance, else the smallest gap; with patience, NVP's choice.

        Where rows join later it is the last one that was measured, since its multipliers are those of the model.
        """
        if self.plan.n_measured < self.plan.n_rounds:
            return self.rounds[-1]
        useful = [played for played in self.rounds if not played.is_constant] or self.rounds
        errors = np.array([played.error for played in useful])
        if self.plan.patience is None:
            spread = np.stack([played.moments.spread.ravel() for played in useful])
            return useful[choose_single(errors, spread, tol=self.tol)]
        gaps = [played.moments.max_gap for played in useful]
        return useful[select_nvp(errors, gaps, keep=self.plan.keep)]

    def history(self) -> pd.DataFrame:
        """One row per measured round: t, lambda, error, gap, Lagrangian."""
        table = history_table(
            np.array([played.error for played in self.rounds]),
            np.stack([np.asarray(played.moments.gap).ravel() for played in self.rounds]),
            np.array([played.moments.max_gap for played in self.rounds]),
            np.stack([played.multiplier for played in self.rounds]),
            np.nan,
        )
        return table.assign(t=[played.t for played in self.rounds]).drop(columns="saddle_gap")

    def rates(self, names: tuple[str, ...]) -> pd.DataFrame:
        """One row per compared group: true positive rate and selection rate of the chosen round."""
        wrong = self.chosen.wrong * self.rows.counts
        change = GroupChange.of(self.rows, np.stack([wrong, wrong]))
        return pd.DataFrame({"group": list(names), "tpr": change.tpr[1], "selection": change.selection[1]})

    @property
    def constant_error(self) -> float:
        """Error of the better constant."""
        share = float(self.rows.counts[1].sum() / self.rows.total)
        return min(share, 1.0 - share)

    def _moments(self, wrong: FloatArray) -> Moments:
        """Means of the cells at these shares of wrong predictions, if all rows had them."""
        return self.rows.cells.moments(np.vstack([self.rows.counts, wrong * self.rows.counts]))

    def _answer(self) -> Answer:
        flips = self.table < 0
        self._flips = self._flips or bool(flips.any())
        factor = abs(self.table).astype(np.float32).ravel()[self.rows.code]
        if self.heldout is not None and self.t < self.plan.n_measured:
            factor[self.heldout] = 0.0
        return Answer(factor, flips.ravel()[self.rows.code] if self._flips else None)
