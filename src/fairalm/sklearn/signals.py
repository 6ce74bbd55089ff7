"""Where the game takes its errors and gaps from: the training rows, held-out rows, or out-of-fold predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from fairalm._validation import FloatArray, IntArray
from fairalm.constraints import Constraint
from fairalm.datasets import stratified_folds
from fairalm.exceptions import InputError
from fairalm.game import Outcome
from fairalm.moments import Array, Cells, Moments
from fairalm.sklearn.oracle import BoolArray, WeightedFitter


@dataclass(frozen=True)
class Problem:
    """The data of one fit, checked."""

    estimator: Any
    constraint: Constraint
    X: Any
    positive: BoolArray
    classes: tuple[Any, Any]
    group: IntArray
    n_groups: int
    people: FloatArray  # sample weights

    def rows(self, index: IntArray) -> Problem:
        """The same problem on some of the rows."""
        return Problem(
            self.estimator,
            self.constraint,
            _safe_indexing(self.X, index),
            self.positive[index],
            self.classes,
            self.group[index],
            self.n_groups,
            self.people[index],
        )

    def cells(self) -> Cells:
        """Who is in which cell."""
        return self.constraint.cells(self.positive, self.group, self.n_groups, self.people)

    def fitter(self) -> WeightedFitter:
        """Fits the estimator on these rows."""
        return WeightedFitter(self.estimator, self.X, self.positive, self.classes)


class Signal(ABC):
    """An oracle of the game (see :data:`fairalm.game.Oracle`) over a scikit-learn problem."""

    fitter: WeightedFitter
    cells: Cells  # of the rows that are fitted on
    measured: Problem  # the rows that errors and gaps are measured on

    @property
    def smallest_cell(self) -> int:
        """People in the smallest cell that gaps are measured on."""
        problem = self.measured
        sizes = [
            np.bincount(problem.group if event.mask is None else problem.group[event.mask], minlength=problem.n_groups)
            for event in problem.constraint.events(problem.positive)
        ]
        return int(np.min(sizes))

    @property
    def n_oracle_calls(self) -> int:
        """Fits so far."""
        return self.fitter.n_fits

    @abstractmethod
    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit to the table of weights and measure."""

    def sample_weight(self, table: Array | None, last: Outcome | None) -> FloatArray:
        """One weight per row to fit on; the user's own for the plain fit."""
        if table is None or last is None:
            return self.cells.people
        at = last.moments if last.fit_moments is None else last.fit_moments
        return self.cells.total * self.cells.sample_weight(table, at)


def outcome(
    problem: Problem, cells: Cells, chosen: BoolArray, model: Any, fit_moments: Moments | None = None
) -> Outcome:
    """A model as the game sees it, from whom it predicts as the target."""
    loss = chosen != problem.positive
    error = float(np.average(loss, weights=problem.people))
    selection = float(np.average(chosen, weights=problem.people))
    return Outcome(error, cells.moments(loss), model, fit_moments, selection)


class TrainSignal(Signal):
    """Errors and gaps on the rows that were fitted."""

    def __init__(self, problem: Problem) -> None:
        self.measured, self.cells, self.fitter = problem, problem.cells(), problem.fitter()

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit and predict once."""
        model = self.fitter.fit(self.sample_weight(table, last))
        chosen = model.predict(self.fitter.X) == self.measured.classes[1]
        return outcome(self.measured, self.cells, chosen, model)


class HeldoutSignal(Signal):
    """Fit on some rows, errors and gaps on the others."""

    def __init__(self, problem: Problem, share: float, rng: np.random.RandomState) -> None:
        n_folds = max(2, round(1 / share))
        fold = stratified_folds(problem.positive, problem.group, n_folds, rng)
        self.fitted = problem.rows(np.flatnonzero(fold > 0))
        self.measured = problem.rows(np.flatnonzero(fold == 0))
        if self.smallest_cell == 0:
            raise InputError("The held-out rows leave a cell empty: hold more out, or use dual_signal='crossfit'.")
        self.cells, self.fitter = self.fitted.cells(), self.fitted.fitter()
        self.held_cells = self.measured.cells()
        self.held_X = self.fitter.transform(self.measured.X)

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit on the one part, predict the other; both for a criterion that must be linearised."""
        model = self.fitter.fit(self.sample_weight(table, last))
        target = self.measured.classes[1]
        loss = np.zeros(len(self.fitted.positive))
        if not self.cells.is_linear:
            loss = (model.predict(self.fitter.X) == target) != self.fitted.positive
        chosen = model.predict(self.held_X) == target
        return outcome(self.measured, self.held_cells, chosen, model, self.cells.moments(loss))


class CrossfitSignal(Signal):
    """Fit on all rows; errors and gaps from predictions of models that did not see the row."""

    def __init__(self, problem: Problem, n_folds: int, rng: np.random.RandomState) -> None:
        self.measured, self.cells, self.fitter = problem, problem.cells(), problem.fitter()
        fold = stratified_folds(problem.positive, problem.group, n_folds, rng)
        self.parts = []
        for k in range(n_folds):
            inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            fitter = problem.rows(inside).fitter()
            self.parts.append((fitter, inside, outside, fitter.transform(_safe_indexing(problem.X, outside))))

    @property
    def n_oracle_calls(self) -> int:
        """Fits so far, the folds' too."""
        return self.fitter.n_fits + sum(part[0].n_fits for part in self.parts)

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit F + 1 models with the same weights per person."""
        weights = self.sample_weight(table, last)
        model = self.fitter.fit(weights)
        chosen = np.zeros(len(weights), dtype=bool)
        for fitter, inside, outside, unseen in self.parts:
            chosen[outside] = fitter.fit(weights[inside]).predict(unseen) == self.measured.classes[1]
        return outcome(self.measured, self.cells, chosen, model)
