"""The data of one fit, and the signal that the game is played on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils import _safe_indexing

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.cells import Compared, Rows
from fairalm.constraints import Constraint
from fairalm.datasets import stratified_folds
from fairalm.signals import AutoSignal, CrossfitSignal, Fold, HeldoutSignal, Signal
from fairalm.sklearn.learner import EstimatorLearner

DualSignal = Literal["auto", "train", "heldout", "crossfit"]


@dataclass(frozen=True, eq=False)
class Problem:
    """An estimator, a constraint and the rows to fit on, all checked."""

    estimator: Any
    constraint: Constraint
    X: Any
    positive: BoolArray
    classes: tuple[Any, Any]
    group: IntArray
    n_groups: int
    weight: FloatArray
    compared: Compared | None = None
    many_fits: bool = True

    def part(self, index: IntArray) -> Problem:
        """The same problem on some of the rows."""
        X, positive, group = _safe_indexing(self.X, index), self.positive[index], self.group[index]
        return replace(self, X=X, positive=positive, group=group, weight=self.weight[index])

    def rows(self) -> Rows:
        """The rows by label and group."""
        return self.constraint.rows(self.positive, self.group, self.n_groups, self.weight, self.compared)

    def learner(self) -> EstimatorLearner:
        """Fits the estimator on these rows."""
        return EstimatorLearner(self.estimator, self.X, self.positive, self.classes, many=self.many_fits)

    def signal(self, kind: DualSignal, heldout_size: float, n_folds: int, rng: np.random.RandomState) -> Signal:
        """Where errors and gaps are measured."""
        if kind == "train":
            return Signal(self.rows(), self.learner())
        if kind == "heldout":
            fold = stratified_folds(self.positive, self.group, max(2, round(1 / heldout_size)), rng)
            fitted, heldout = self.part(np.flatnonzero(fold > 0)), self.part(np.flatnonzero(fold == 0))
            learner = fitted.learner()
            return HeldoutSignal(fitted.rows(), learner, heldout.rows(), learner.transform(heldout.X))
        rows, learner = self.rows(), self.learner()
        if kind == "auto":
            return AutoSignal(rows, learner, lambda: self._folds(n_folds, rng))
        return CrossfitSignal(rows, learner, self._folds(n_folds, rng))

    def _folds(self, n_folds: int, rng: np.random.RandomState) -> list[Fold]:
        fold, folds = stratified_folds(self.positive, self.group, n_folds, rng), []
        for k in range(n_folds):
            inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            fold_learner = self.part(inside).learner()
            unseen = fold_learner.transform(_safe_indexing(self.X, outside))
            folds.append(Fold(fold_learner, inside, outside, unseen))
        return folds
