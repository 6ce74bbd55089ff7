"""Where the game measures on Spark: on the training rows, on held-out rows, or out of fold.

One round is a fit (several, out of fold) and one aggregation over the rows. To the driver come the weights of the rows
by label, group, prediction and interval of the margin, and the margins of a bounded sample, which place the intervals.
"""

from __future__ import annotations

from functools import cached_property, reduce
from typing import Any, Literal

import numpy as np
from pyspark.ml.feature import Bucketizer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairalm.arrays import Array, FloatArray, IntArray
from fairalm.exceptions import InputError
from fairalm.moments import Moments
from fairalm.outcome import Outcome
from fairalm.shifts import Shifts, thresholds
from fairalm.spark.fitted import MARGIN, PREDICTED, Fitted
from fairalm.spark.frame import CODE, WEIGHT, CodedFrame
from fairalm.spark.learner import StageLearner

DualSignal = Literal["train", "heldout", "crossfit"]
SAMPLE = 10_000  # rows whose margins the driver sees, to place thresholds at their quantiles
INTERVAL = "fairalm_interval"


class FrameSignal:
    """Errors and gaps on the rows that are fitted on; an oracle of the game (see :data:`fairalm.outcome.Oracle`).

    Parameters
    ----------
    frame : CodedFrame
        The rows that are fitted on.
    estimator : Spark ML classifier
        What is fitted.
    target : float
        The label that is the target.
    measured : CodedFrame, optional
        The rows to measure on, if other ones.
    """

    name = "train"

    def __init__(self, frame: CodedFrame, estimator: Any, target: float, measured: CodedFrame | None = None) -> None:
        self.frame, self.measured = frame, frame if measured is None else measured
        self.estimator, self.target = estimator, target
        self.learner = StageLearner(estimator, frame, target)
        self.n_answers, self.fits_per_answer = 0, 1

    @property
    def n_fits(self) -> int:
        """Fits so far."""
        return self.n_answers * self.fits_per_answer

    @cached_property
    def sample(self) -> DataFrame:
        """The rows whose margins place the thresholds."""
        return self.measured.sample(SAMPLE)

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit to the table of weights and measure."""
        self.n_answers += 1
        factors = self.factors(table, last)
        fitted = self.learner.fit(factors)
        scored, sampled = self.scored(fitted, factors)
        wrong, shifts = measure(self.measured, scored, sampled)
        return outcome(self.measured, fitted, wrong, shifts, self.fit_moments(fitted))

    def factors(self, table: Array | None, last: Outcome | None) -> FloatArray:
        """What the weights of the rows are multiplied by, shape (2, groups)."""
        rows = self.frame.rows
        if table is None or last is None:
            return np.ones_like(rows.counts)
        moments = last.moments if last.fit_moments is None else last.fit_moments
        return rows.total * rows.row_weights(table, moments)

    def scored(self, fitted: Fitted, factors: FloatArray) -> tuple[DataFrame, DataFrame]:
        """The measured rows and their sample, with margins and predictions."""
        return fitted.scored(self.measured.data), fitted.scored(self.sample)

    def fit_moments(self, fitted: Fitted) -> Moments | None:
        """Means on the rows that are fitted on, if others are measured."""
        return None


class HeldoutSignal(FrameSignal):
    """Fits on some rows; errors and gaps on others."""

    name = "heldout"

    def fit_moments(self, fitted: Fitted) -> Moments:
        """Counts, and for a constraint that must be linearised also the means."""
        rows = self.frame.rows
        wrong = np.zeros_like(rows.counts)
        if not rows.cells.is_linear:
            wrong = measure(self.frame, fitted.scored(self.frame.data), None)[0]
        return rows.cells.moments(np.vstack([rows.counts, wrong]))


class CrossfitSignal(FrameSignal):
    """Fits on all rows; errors and gaps from predictions of models that were fitted without the row."""

    name = "crossfit"

    def __init__(self, frame: CodedFrame, estimator: Any, target: float, n_folds: int) -> None:
        super().__init__(frame, estimator, target)
        self.fold = frame.fold(n_folds)
        self.learners = [StageLearner(estimator, frame.part(self.fold != k), target) for k in range(n_folds)]
        self.fits_per_answer = n_folds + 1

    def scored(self, fitted: Fitted, factors: FloatArray) -> tuple[DataFrame, DataFrame]:
        """Each row by the model that was fitted without it, with the same weight for a row in each fit."""
        models = [learner.fit(factors) for learner in self.learners]

        def out_of_fold(data: DataFrame) -> DataFrame:
            parts = (model.scored(data.where(self.fold == k)) for k, model in enumerate(models))
            return reduce(DataFrame.union, (part.select(CODE, WEIGHT, MARGIN, PREDICTED) for part in parts))

        return out_of_fold(self.measured.data), out_of_fold(self.sample)


def make_signal(
    kind: DualSignal, frame: CodedFrame, estimator: Any, target: float, heldout_size: float, n_folds: int
) -> FrameSignal:
    """The signal of a kind."""
    if kind == "train":
        return FrameSignal(frame, estimator, target)
    if kind == "crossfit":
        return CrossfitSignal(frame, estimator, target, n_folds)
    held_out = frame.fold(1000) < round(1000 * heldout_size)
    fitted, measured = frame.part(~held_out), frame.part(held_out)
    if min(fitted.rows.sizes.min(), measured.rows.sizes.min()) == 0:
        raise InputError("The held-out rows leave a cell empty: hold out another share, or set dualSignal='crossfit'.")
    return HeldoutSignal(fitted, estimator, target, measured)


def measure(frame: CodedFrame, scored: DataFrame, sampled: DataFrame | None) -> tuple[FloatArray, Shifts]:
    """Weight of the wrong predictions by label and group, and the same under moved thresholds: one aggregation.

    Without a sample, or where predictions do not go by the margin, only the constants are moved to.
    """
    rows, inner = frame.rows, np.empty(0)
    if sampled is not None:
        known = np.array(sampled.select(MARGIN, WEIGHT).collect(), dtype=float).reshape(-1, 2)
        inner = thresholds(known[:, 0], known[:, 1]) if len(known) else inner
    cuts = np.union1d(inner, [0.0])
    splits = [-np.inf, *np.nextafter(cuts, np.inf), np.inf]  # a bucket begins at its split, ours just above it
    bucketed = Bucketizer(splits=splits, inputCol=MARGIN, outputCol=INTERVAL).transform(scored)
    sums = bucketed.groupBy(CODE, INTERVAL, PREDICTED).agg(F.sum(WEIGHT)).collect()
    columns = [np.array(column) for column in zip(*sums, strict=True)]
    code, place, is_predicted, weight = columns[0], columns[1].astype(int), columns[2].astype(bool), columns[3]
    n_groups, zero = rows.cells.n_groups, int(np.searchsorted(cuts, 0.0))
    is_wrong = is_predicted != (code >= n_groups)
    wrong = _table(code[is_wrong], weight[is_wrong], 2 * n_groups)
    if ((place > zero) != is_predicted).any():
        inner, place = inner[:0], np.zeros_like(place)
    else:
        place = place - (place > zero)
    table = _table(code + 2 * n_groups * place, weight, 2 * n_groups * (len(inner) + 1))
    return wrong.reshape(2, -1), Shifts.counted(rows, inner, table.reshape(-1, 2, n_groups))


def _table(place: IntArray, weight: FloatArray, size: int) -> FloatArray:
    return np.bincount(place, weight, minlength=size).astype(float)


def outcome(
    frame: CodedFrame, fitted: Fitted, wrong: FloatArray, shifts: Shifts, fit_moments: Moments | None
) -> Outcome:
    """A model as the game sees it."""
    rows = frame.rows
    moments = rows.cells.moments(np.vstack([rows.counts, wrong]))
    return Outcome(float(wrong.sum() / rows.total), moments, fitted, fit_moments, wrong, shifts)
