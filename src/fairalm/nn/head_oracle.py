"""Fit the last layer on these weights: the oracle of the game over features."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from torch import Tensor, nn

from fairalm._validation import FloatArray
from fairalm.constraints import Constraint
from fairalm.datasets import stratified_folds
from fairalm.game import Outcome
from fairalm.moments import Array, Moments
from fairalm.nn.features import Features
from fairalm.nn.head import Linear

BoolArray = npt.NDArray[np.bool_]
CONSTANT = 10.0  # logit of a head that gives everyone the same label
WIDEST = 4096  # features up to which the curvature is worth its factorisation


class HeadFitter:
    """Fits logistic heads on the same features under changing weights.

    Minimises mean(|w| log-loss) + l2/2 |v|² over the weights v of the standardised features, with a free intercept; a
    negative weight counts as its size on the other label.

    Parameters
    ----------
    x : tensor of shape (n, features)
        The features as they are; they are standardised here.
    positive : bool array of shape (n,)
        The labels, True for the target.
    l2 : float
        Weight of the penalty.

    Examples
    --------
    >>> x = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    >>> fitter = HeadFitter(x, np.array([False, True, False, True]), l2=0.01)
    >>> head = fitter.fit(np.ones(4))
    >>> np.allclose(fitter.folded(head).logits(x), head.logits(fitter.x))
    True
    """

    def __init__(self, x: Tensor, positive: BoolArray, l2: float) -> None:
        self.l2 = l2
        self.sign = torch.from_numpy(np.where(positive, 1.0, -1.0)).to(x)
        self.mean, spread = x.mean(0), x.std(0, unbiased=False)
        is_constant = spread <= 1e-6 * x.abs().amax(0)
        self.inverse_scale = torch.where(is_constant, 0.0, 1 / torch.where(is_constant, 1.0, spread))
        self.x = self.standardised(x)
        self.root = self._curvature() if x.shape[1] <= WIDEST else None

    def standardised(self, x: Tensor) -> Tensor:
        """Other rows on the same scale; a feature that is constant in the fitted rows becomes 0."""
        return (x.to(self.mean) - self.mean) * self.inverse_scale

    def folded(self, head: Linear) -> Linear:
        """The same head for features as they are."""
        weight = head.weight * self.inverse_scale.cpu().numpy().astype(float)
        return Linear(weight, head.bias - float(weight @ self.mean.cpu().numpy().astype(float)))

    def fit(self, weights: FloatArray, start: Linear | None = None) -> Linear:
        """The head for these weights (1 for a plain fit), for standardised features."""
        size = torch.from_numpy(np.abs(weights)).to(self.x)
        sign = self.sign * torch.from_numpy(np.where(weights < 0, -1.0, 1.0)).to(self.x)
        counted = sign[size > 0]
        if bool((counted == counted[:1]).all()):  # nothing left to learn: one label for everyone
            return Linear(np.zeros(self.x.shape[1]), CONSTANT * float(counted[:1].sum()))

        def cost(point: FloatArray) -> tuple[float, FloatArray]:
            v, bias = self._weights_of(point[:-1]), 2 * point[-1]
            margin = sign * (self.x @ torch.from_numpy(v).to(self.x) + bias)
            pull = -size * sign * torch.sigmoid(-margin)  # derivative of each loss by its logit
            loss = (size * nn.functional.softplus(-margin)).double().mean()
            slope = (self.x.T @ pull).cpu().numpy().astype(float) / len(self.x) + self.l2 * v
            slope = slope if self.root is None else solve_triangular(self.root, slope, lower=True)
            return float(loss) + self.l2 / 2 * float(v @ v), np.append(slope, 2 * float(pull.double().mean()))

        point = np.zeros(self.x.shape[1] + 1)
        if start is not None:
            u = start.weight if self.root is None else self.root.T @ start.weight
            point = np.append(u, start.bias / 2)
        found = minimize(
            cost, point, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "gtol": 1e-5, "ftol": 1e-10}
        )
        return Linear(self._weights_of(found.x[:-1]), float(2 * found.x[-1]))

    def _weights_of(self, u: FloatArray) -> FloatArray:
        return u if self.root is None else np.asarray(solve_triangular(self.root, u, lower=True, trans="T"))

    def _curvature(self) -> FloatArray:
        """Root of the curvature at even odds, in whose coordinates the problem is nearly round."""
        gram = (self.x.T @ self.x).to("cpu", torch.float64).numpy() / len(self.x)
        return np.asarray(np.linalg.cholesky(gram / 4 + (self.l2 + 1e-9) * np.eye(len(gram))))


class HeadOracle:
    """Fits the head on one set of rows and measures it on them, on others, or out of fold."""

    def __init__(
        self,
        fitted: Features,
        measured: Features | None,
        constraint: Constraint,
        n_groups: int,
        n_folds: int,
        l2: float,
        device: torch.device,
    ) -> None:
        self.sign = -1.0 if constraint.target == 0 else 1.0  # of the head: it is fitted for the target
        self.positive = (fitted.y == 1) == (self.sign > 0)
        self.cells = constraint.cells(self.positive, fitted.group, n_groups)
        self.fitter = HeadFitter(fitted.x.to(device), self.positive, l2)
        rows = fitted if measured is None else measured
        self.held_x = None if measured is None else self.fitter.standardised(measured.x.to(device))
        self.held_positive = (rows.y == 1) == (self.sign > 0)
        self.held_cells = constraint.cells(self.held_positive, rows.group, n_groups)
        self.smallest_cell = int(min(cell_sizes(rows, constraint, n_groups, self.held_positive)))
        self.folds = np.full(len(fitted.y), -1)
        if n_folds:
            self.folds = stratified_folds(fitted.y, fitted.group, n_folds, np.random.default_rng(0))
        self.starts: dict[int, Linear] = {}  # the last head of each fold; -1 is that of all rows

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """Fit to the table of weights and measure."""
        weights = self.cells.people
        if table is not None and last is not None:
            at = last.moments if last.fit_moments is None else last.fit_moments
            weights = self.cells.total * self.cells.sample_weight(table, at)
        head = self._fit(-1, weights)
        fit_moments: Moments | None = None
        chosen = head.logits(self.fitter.x) > 0
        if self.held_x is not None:
            fit_moments = self.cells.moments(chosen != self.positive)
            chosen = head.logits(self.held_x) > 0
        n_folds = int(self.folds.max()) + 1
        for k in range(n_folds):
            outside = self.folds == k
            fold_head = self._fit(k, np.where(outside, 0.0, weights * n_folds / (n_folds - 1)))
            chosen[outside] = (fold_head.logits(self.fitter.x) > 0)[outside]
        loss = chosen != self.held_positive
        return Outcome(float(loss.mean()), self.held_cells.moments(loss), head, fit_moments, float(chosen.mean()))

    def _fit(self, k: int, weights: FloatArray) -> Linear:
        self.starts[k] = self.fitter.fit(weights, self.starts.get(k))
        return self.starts[k]


def cell_sizes(rows: Features, constraint: Constraint, n_groups: int, positive: BoolArray) -> list[int]:
    """People per cell."""
    sizes: list[int] = []
    for event in constraint.events(positive):
        inside = rows.group if event.mask is None else rows.group[event.mask]
        sizes += np.bincount(inside, minlength=n_groups).tolist()
    return sizes
