"""Fits of the last layer of a net to changing weights: the learner that the signals need."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from torch import Tensor, nn

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.nn.head import Linear

CONSTANT = 10.0  # logit of a head that predicts the same label for every row
WIDEST = 4096  # features, above which factorising the curvature costs more than it saves


class HeadFitter:
    """Fits logistic heads on the same features under changing weights.

    Minimises mean(|w| log-loss) + l2/2 |v|² over the weights v of the standardised features, with a free intercept; a
    negative weight counts as its absolute value on the other label. `x` are the features as they are.

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
        used = sign[size > 0]
        if bool((used == used[:1]).all()):  # only one label is left
            return Linear(np.zeros(self.x.shape[1]), CONSTANT * float(used[:1].sum()))

        def cost(point: FloatArray) -> tuple[float, FloatArray]:
            v, bias = self.weights_of(point[:-1]), 2 * point[-1]
            margin = sign * (self.x @ torch.from_numpy(v).to(self.x) + bias)
            pull = -size * sign * torch.sigmoid(-margin)  # derivative of each loss by its logit
            loss = (size * nn.functional.softplus(-margin)).double().mean()
            slope = (self.x.T @ pull).cpu().numpy().astype(float) / len(self.x) + self.l2 * v
            return float(loss) + self.l2 / 2 * float(v @ v), np.append(
                self.slopes_of(slope), 2 * float(pull.double().mean())
            )

        point = np.zeros(self.x.shape[1] + 1)
        if start is not None:
            point = np.append(self.point_of(start.weight), start.bias / 2)
        options: Any = {"maxiter": 1000, "gtol": 1e-5, "ftol": 1e-10}
        best = minimize(cost, point, jac=True, method="L-BFGS-B", options=options).x
        return Linear(self.weights_of(best[:-1]), float(2 * best[-1]))

    def weights_of(self, point: FloatArray) -> FloatArray:
        """The weights at a point in the coordinates of the curvature; one column per head, if there are several."""
        return point if self.root is None else np.asarray(solve_triangular(self.root, point, lower=True, trans="T"))

    def point_of(self, weights: FloatArray) -> FloatArray:
        """The point with these weights."""
        return weights if self.root is None else np.asarray(self.root.T @ weights)

    def slopes_of(self, slopes: FloatArray) -> FloatArray:
        """Derivatives by the point, from those by the weights."""
        return slopes if self.root is None else np.asarray(solve_triangular(self.root, slopes, lower=True))

    def _curvature(self) -> FloatArray:
        """Root of the curvature at even odds; in its coordinates the problem is well conditioned."""
        gram = (self.x.T @ self.x).to("cpu", torch.float64).numpy() / len(self.x)
        return np.asarray(np.linalg.cholesky(gram / 4 + (self.l2 + 1e-9) * np.eye(len(gram))))


class HeadLearner:
    """Fits heads on all rows, or on the rows `inside` of one fold, each starting from the one before."""

    def __init__(self, fitter: HeadFitter, inside: IntArray | None = None) -> None:
        self.fitter, self.inside, self.x = fitter, inside, fitter.x
        self.n_fits = 0
        self._start: Linear | None = None

    def fit(self, weights: FloatArray) -> Linear:
        """The head for one weight per row of the fold."""
        if self.inside is not None:  # the fitter averages over all rows
            n, own = len(self.x), weights
            weights = np.zeros(n)
            weights[self.inside] = own * (n / len(self.inside))
        self.n_fits += 1
        self._start = self.fitter.fit(weights, self._start)
        return self._start

    def margin(self, model: Linear, x: Tensor) -> FloatArray:
        """The logits."""
        return model.logits(x)

    def shifted(self, model: Linear, by: float) -> Linear:
        """The head with another bias; a constant one if `by` is infinite."""
        if np.isinf(by):
            return Linear(np.zeros_like(model.weight), -CONSTANT * float(np.sign(by)))
        return Linear(model.weight, model.bias - by)

    def n_coefficients(self, model: Linear) -> float:
        """Number of features."""
        return float(len(model.weight))
