"""Where the game measures errors and gaps: on the training rows, on held-out rows, or out of fold.

A signal is an oracle of the game (see :data:`fairalm.game.Oracle`). A backend brings a :class:`Learner`, which fits
models to weights and says how far each row is on the target's side; the signals do the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from fairalm.arrays import Array, FloatArray, IntArray
from fairalm.cells import Rows
from fairalm.exceptions import InputError
from fairalm.moments import Moments
from fairalm.outcome import Outcome
from fairalm.shifts import Shifts

SMALL = 0.005  # half a point: a training error that is too low by no more than that is trusted
CRITICAL = 4.0  # standard errors between training and out-of-fold rates that are not put down to chance
MATERIAL = 0.01  # a point: smaller differences do no harm, even if they are certain


class Learner(Protocol):
    """What a backend brings: fits of one kind of model to the same rows, under changing weights."""

    x: Any  # features of the rows it fits on, as `margin` takes them
    n_fits: int

    def fit(self, weights: FloatArray) -> Any:
        """A model fitted to one weight per row, 1 for a plain fit; a negative weight counts for the other label.

        The array may be overwritten.
        """

    def margin(self, model: Any, x: Any) -> FloatArray:
        """How far each row is on the target's side; the model predicts the target where this is above 0."""

    def shifted(self, model: Any, by: float) -> Any:
        """The model that predicts the target where the margin is above `by`; ±inf makes it a constant."""

    def n_coefficients(self, model: Any) -> float:
        """Size of a linear model; infinite for any other."""


class Signal:
    """Errors and gaps on the rows that are fitted on; the base of the other signals.

    Parameters
    ----------
    rows : Rows
        The rows that are fitted on.
    learner : Learner
        Fits on these rows.
    """

    name = "train"

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
        return self.outcome(model, self.learner.margin(model, self.learner.x))

    def sample_weight(self, table: Array | None, last: Outcome | None) -> FloatArray:
        """One weight per row to fit on; the user's own for the plain fit."""
        if table is None or last is None:
            return self.fitted.weight
        moments = last.moments if last.fit_moments is None else last.fit_moments
        return self.fitted.total * self.fitted.sample_weight(table, moments)

    def outcome(self, model: Any, margin: FloatArray, fit_moments: Moments | None = None) -> Outcome:
        """A model as the game sees it, from its margins on the rows that are measured."""
        rows = self.measured
        wrong = rows.sums(rows.weight * ((margin > 0) != rows.positive))
        moments = rows.cells.moments(np.vstack([rows.counts, wrong]))
        error = float(wrong.sum() / rows.total)
        return Outcome(error, moments, model, fit_moments, wrong, Shifts.of(rows, margin))


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

    name = "heldout"

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
            loss = (self.learner.margin(model, self.learner.x) > 0) != self.fitted.positive
        return self.outcome(model, self.learner.margin(model, self.x), self.fitted.moments(loss))


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

    name = "crossfit"

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
        margin = self.out_of_fold(weights)
        return self.outcome(self.learner.fit(weights), margin)

    def out_of_fold(self, weights: FloatArray) -> FloatArray:
        """Margins of models that were fitted without the row."""
        margin = np.zeros(len(weights))
        for fold in self.folds:
            margin[fold.outside] = fold.learner.margin(fold.learner.fit(weights[fold.inside]), fold.x)
        return margin


class AutoSignal(CrossfitSignal):
    """Measures whether the training rates can be trusted: out of fold if they cannot.

    The plain model is fitted out of fold once. Where its out-of-fold rates differ from its training rates by more than
    chance, all gaps are measured out of fold.

    A linear model is trusted without that if out-of-fold rates could teach little. With k coefficients on n rows, its
    training error is too low by about k / 2n: fitted to the labels by least squares, by 2k / n times a label's variance
    (Efron, 1986), which is at most 1/4. That is little if it is at most half a point (100 rows per coefficient), or
    below the standard error of an out-of-fold gap between the two largest cells of an event: such a gap is mostly
    chance. Other models can fit single rows, so nothing is known about them before it is measured.

    Parameters
    ----------
    rows, learner
        As in :class:`Signal`.
    make_folds : callable
        Makes the folds of :class:`CrossfitSignal`, if they are needed.
    """

    name = "train"

    def __init__(self, rows: Rows, learner: Learner, make_folds: Callable[[], Sequence[Fold]]) -> None:
        super().__init__(rows, learner, ())
        self.make_folds = make_folds

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit and measure; the plain model decides how."""
        if table is not None and last is not None:
            return super().__call__(table, last) if self.name == "crossfit" else Signal.__call__(self, table, last)
        weights = self.sample_weight(table, last)
        model = self.learner.fit(weights)
        margin = self.learner.margin(model, self.learner.x)
        optimism = self.learner.n_coefficients(model) / (2 * len(weights))
        if optimism > max(SMALL, self._sampling_error(margin)):
            self.folds = self.make_folds()
            unseen = self.out_of_fold(weights)
            if self._differs(margin, unseen):
                self.name, margin = "crossfit", unseen
        return self.outcome(model, margin)

    def _sampling_error(self, margin: FloatArray) -> float:
        """Standard error of the gap between the two largest cells of an event, at equal rates; the smallest one."""
        rows = self.fitted
        rate = rows.moments((margin > 0) != rows.positive).event_mean
        variance = rate * (1 - rate) * np.sort(1 / rows.sizes, axis=1)[:, :2].sum(axis=1, keepdims=True)
        return float(np.sqrt(variance.min()))

    def _differs(self, margin: FloatArray, unseen: FloatArray) -> bool:
        """Whether the error, or the rate of some label and group, differs by more than chance and by over a point."""
        rows = self.fitted
        change = rows.weight * (((unseen > 0) != rows.positive) * 1.0 - ((margin > 0) != rows.positive))
        used = rows.cells.inside.any(axis=0)
        total, square, counts = (
            np.append(part[used].ravel(), part.sum()) for part in (rows.sums(change), rows.sums(change**2), rows.counts)
        )
        return bool((abs(total) > np.maximum(CRITICAL * np.sqrt(square), MATERIAL * counts)).any())
