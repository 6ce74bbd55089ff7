"""Where the game measures errors and gaps: on the training rows, on held-out rows, or out of fold.

A signal is an oracle of the game (see :data:`fairalm.game.Oracle`). A backend brings a :class:`Learner`, which fits
models to weights and says which rows they predict as the target; the signals do the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from fairalm.arrays import Array, BoolArray, FloatArray, IntArray
from fairalm.cells import Rows
from fairalm.exceptions import InputError
from fairalm.game import Outcome
from fairalm.moments import Moments


class Learner(Protocol):
    """What a backend brings: fits of one kind of model to the same rows, under changing weights."""

    x: Any  # features of the rows it fits on, as `selects` takes them
    n_fits: int

    def fit(self, weights: FloatArray) -> Any:
        """A model fitted to one weight per row, 1 for a plain fit; a negative weight counts for the other label."""

    def selects(self, model: Any, x: Any) -> BoolArray:
        """Which rows the model predicts as the target."""


class Signal:
    """Errors and gaps on the rows that are fitted on; the base of the other signals.

    Parameters
    ----------
    rows : Rows
        The rows that are fitted on.
    learner : Learner
        Fits on these rows.
    """

    def __init__(self, rows: Rows, learner: Learner) -> None:
        self.fitted, self.measured, self.learner = rows, rows, learner

    @property
    def smallest_cell(self) -> int:
        """Rows in the smallest cell that gaps are measured on."""
        return int(self.measured.sizes.min())

    @property
    def n_fits(self) -> int:
        """Fits so far."""
        return self.learner.n_fits

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit to the table of weights and measure."""
        model = self.learner.fit(self.sample_weight(table, last))
        return self.outcome(model, self.learner.selects(model, self.learner.x))

    def sample_weight(self, table: Array | None, last: Outcome | None) -> FloatArray:
        """One weight per row to fit on; the user's own for the plain fit."""
        if table is None or last is None:
            return self.fitted.weight
        moments = last.moments if last.fit_moments is None else last.fit_moments
        return self.fitted.total * self.fitted.sample_weight(table, moments)

    def outcome(self, model: Any, selected: BoolArray, fit_moments: Moments | None = None) -> Outcome:
        """A model as the game sees it, from the rows it selects among those measured."""
        rows = self.measured
        loss = selected != rows.positive
        error, selection = (float(np.average(part, weights=rows.weight)) for part in (loss, selected))
        return Outcome(error, rows.moments(loss), model, fit_moments, selection)


class HeldoutSignal(Signal):
    """Fits on some rows; errors and gaps on others.

    Parameters
    ----------
    rows, learner
        As in :class:`Signal`.
    heldout : Rows
        The rows to measure on.
    x : object
        Their features, as the learner takes them.
    """

    def __init__(self, rows: Rows, learner: Learner, heldout: Rows, x: Any) -> None:
        super().__init__(rows, learner)
        self.measured, self.x = heldout, x
        if self.smallest_cell == 0:
            message = "The held-out rows leave a cell empty: hold out more rows, or pass {dual_signal}."
            raise InputError(message, dual_signal="crossfit")

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit on the one part, predict the other; both for a constraint that must be linearised."""
        model = self.learner.fit(self.sample_weight(table, last))
        loss: Any = np.zeros(len(self.fitted.positive))
        if not self.fitted.cells.is_linear:
            loss = self.learner.selects(model, self.learner.x) != self.fitted.positive
        return self.outcome(model, self.learner.selects(model, self.x), self.fitted.moments(loss))


class Fold(NamedTuple):
    """One fold of a :class:`CrossfitSignal`."""

    learner: Learner  # fits on the rows inside
    inside: IntArray
    outside: IntArray
    x: Any  # features of the rows outside


class CrossfitSignal(Signal):
    """Fits on all rows; errors and gaps from predictions of models that were fitted without the row.

    Parameters
    ----------
    rows, learner
        As in :class:`Signal`.
    folds : sequence of Fold
        Every row is outside of exactly one.
    """

    def __init__(self, rows: Rows, learner: Learner, folds: Sequence[Fold]) -> None:
        super().__init__(rows, learner)
        self.folds = folds

    @property
    def n_fits(self) -> int:
        """Fits so far, those of the folds included."""
        return self.learner.n_fits + sum(fold.learner.n_fits for fold in self.folds)

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit one model more than there are folds, with the same weight for a row in each."""
        weights = self.sample_weight(table, last)
        model = self.learner.fit(weights)
        selected = np.zeros(len(weights), dtype=bool)
        for fold in self.folds:
            selected[fold.outside] = fold.learner.selects(fold.learner.fit(weights[fold.inside]), fold.x)
        return self.outcome(model, selected)
