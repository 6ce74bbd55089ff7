"""The classifiers that a game can return: those found, each with its threshold moved, and the two constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.cells import CountedRows
from fairalm.mixtures import Mixture, best_mixture, cheapest, choose_single, penalised
from fairalm.moments import Moments, spread_of
from fairalm.shifts import Shifts

SETTLED = 2e-3  # a fifth of a point of error: a smaller gain is not worth another fit
WORSE_BY = 0.01  # a point: below that, a rate is not called lower and a cost not higher
NEARLY_CONSTANT = 0.1  # the rarer prediction is made a tenth as often as by the plain model


@dataclass(frozen=True, eq=False)
class Candidates:
    """Classifiers as they were fitted, in the order of the game, followed by their shifts.

    Parameters
    ----------
    errors : array of shape (n,)
        Their 0/1 errors.
    mu : array of shape (n, events, groups)
        The means of their cells.
    spread : array of shape (n, events × attributes)
        What the tolerance bounds; 1, the largest possible, where a cell is empty.
    fit : int array of shape (n,)
        Which classifier of the game.
    by : array of shape (n,)
        How far its threshold is moved: 0 as it was fitted, ±inf for a constant.
    wrong : array of shape (n, 2, groups), optional
        Weight of the wrong predictions by label and group.
    rows : CountedRows, optional
        The rows that all this was measured on.
    blocks : tuple of int
        Groups of each protected attribute, if there are several.
    """

    errors: FloatArray
    mu: FloatArray
    spread: FloatArray
    fit: IntArray
    by: FloatArray
    wrong: FloatArray | None = None
    rows: CountedRows | None = None
    blocks: tuple[int, ...] = ()

    @classmethod
    def of(cls, errors: FloatArray, moments: list[Moments]) -> Candidates:
        """Classifiers of which no more is known than this: they have no shifts."""
        mu = np.stack([np.asarray(part.mu, dtype=float) for part in moments])
        spread, n = np.stack([part.spread.ravel() for part in moments]), np.arange(len(moments))
        return cls(errors, mu, spread, n, np.zeros(len(n)), blocks=moments[0].blocks)

    @classmethod
    def measured(cls, rows: CountedRows, wrong: list[FloatArray], shifts: list[Shifts]) -> Candidates:
        """From the wrong predictions of each classifier, and of its shifts."""
        n = np.arange(len(wrong))
        fit = np.concatenate([n, np.repeat(n, [len(part.by) for part in shifts])])
        by = np.concatenate([np.zeros(len(n)), *(part.by for part in shifts)])
        table = np.concatenate([np.stack(wrong), *(part.wrong for part in shifts)])
        mu, counts = rows.cells.means(np.concatenate([np.broadcast_to(rows.counts, table.shape), table], axis=1))
        blocks = () if rows.cells.compared is None else rows.cells.compared.blocks
        is_empty = spread_of((counts <= 0).astype(float), blocks) > 0
        spread = np.where(is_empty, 1.0, spread_of(mu, blocks)).reshape(len(by), -1)
        return cls(table.sum((1, 2)) / rows.total, mu, spread, fit, by, table, rows, blocks)

    @property
    def as_fitted(self) -> BoolArray:
        """Which are classifiers as they were fitted."""
        return np.asarray(self.by == 0)

    @property
    def is_constant(self) -> BoolArray:
        """Which predict the same for every row."""
        return np.asarray(np.isinf(self.by))

    def mixture(self, tol: float, among: BoolArray | None = None, begin: IntArray | None = None) -> Mixture:
        """The mixture with the smallest error within the tolerance, of all or of some."""
        used = np.ones(len(self.errors), dtype=bool) if among is None else among
        best = best_mixture(self.errors[used], self.mu[used], tol=tol, blocks=self.blocks, begin=begin)
        weights = np.zeros(len(self.errors))
        weights[used] = best.weights
        return Mixture(weights, best.value, best.prices)

    def improved(self, before: Candidates, mixture: Mixture, tol: float) -> Mixture:
        """The best mixture, given that of some of these candidates."""
        members = np.flatnonzero(mixture.weights)
        known = {(fit, by) for fit, by in zip(before.fit[members], before.by[members], strict=True)}
        again = [i for i, key in enumerate(zip(self.fit, self.by, strict=True)) if key in known]
        return self.mixture(tol, begin=np.union1d(again, cheapest(self.errors, self.mu, mixture.prices)).astype(int))

    def spread_of(self, weights: FloatArray) -> FloatArray:
        """The spreads of a mixture."""
        members = np.flatnonzero(weights)
        if len(members) == 1:
            return np.asarray(self.spread[members[0]])
        return np.asarray(spread_of(np.einsum("n,neg->eg", weights, self.mu), self.blocks).ravel())

    def cost(self, weights: FloatArray, *, tol: float, bound: float) -> float:
        """e(q) + B sum of (s(q) - tol)+ of a mixture."""
        return float(penalised(weights @ self.errors, self.spread_of(weights), tol=tol, bound=bound))

    def single(self, eligible: BoolArray, *, tol: float, bound: float) -> int:
        """The best of the `eligible` classifiers as they were fitted, unless a moved threshold is clearly better.

        As fitted: the smallest error within the tolerance, else the smallest spread. A classifier with a moved
        threshold must be within the tolerance, must not be (nearly) constant, and must cost less by a fifth of a point.
        """
        best = self.best_as_fitted(eligible, tol=tol)
        moved = ~self.as_fitted & (self.spread.max(axis=1) <= tol + 1e-12) & ~self.is_nearly_constant()
        if not moved.any():
            return best
        other = int(np.flatnonzero(moved)[self.errors[moved].argmin()])
        cost = penalised(self.errors[[best, other]], self.spread[[best, other]], tol=tol, bound=bound)
        return other if cost[1] < cost[0] - SETTLED else best

    def best_as_fitted(self, eligible: BoolArray, *, tol: float) -> int:
        """The best of the `eligible` classifiers as they were fitted, see :func:`fairalm.mixtures.choose_single`."""
        fitted = np.flatnonzero(eligible & self.as_fitted)
        return int(fitted[choose_single(self.errors[fitted], self.spread[fitted], tol=tol)])

    def is_nearly_constant(self) -> BoolArray:
        """Whether the rarer prediction is a tenth as frequent as the plain model's, or less."""
        if self.wrong is None or self.rows is None:
            return self.is_constant
        selected = selected_by_group(self.rows, self.wrong).sum(-1) / self.rows.total
        rarer = np.minimum(selected, 1 - selected)
        return np.asarray(rarer <= NEARLY_CONSTANT * rarer[0])


def selected_by_group(rows: CountedRows, wrong: FloatArray) -> FloatArray:
    """Weight of the rows predicted as the target, shape (..., groups)."""
    return np.asarray(wrong[..., 0, :] + rows.counts[1] - wrong[..., 1, :])
