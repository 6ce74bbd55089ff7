"""The convex-concave procedure for log loss under a bound on a covariance of false negatives.

The covariance of theta is a'min(0, X theta) over the rows with y = 1, a difference of two convex functions: write
h = max(0, -X theta), then cov = v - u with u = a⁺'h and v = a⁻'h. Each round replaces the part that makes a side of
|u - v| <= c concave by its tangent at the last theta, which bounds it from above:

    min  loss + tau (s1 + s2)   such that   u - tangent of v <= c + s1,   v - tangent of u <= c + s2,   s >= 0

with tau raised until the bound holds (Lipp and Boyd 2016, whose slack lets it leave the plain model). The log loss
enters through its second-order expansion, so that a round is one quadratic program; a line search on the true
function keeps the descent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from fairalm.arrays import FloatArray
from fairalm.sklearn.comparators._base import BoolArray, import_extra

Expansion = tuple[FloatArray, FloatArray]  # gradient and Hessian
GROWTH = 1.2  # factor of tau per round with the bound broken; with a larger one theta stops too early
MET = 1e-4  # the bound may be broken by this share of the plain covariance
NEAR = 0.5  # rows within these log odds of the boundary have variables from the start
SETTLED = 1e-7  # the rounds end when they gain less log loss


class LogLoss:
    """Mean log loss plus penalty/(2n) times the squared coefficients; the last column is the intercept."""

    def __init__(self, rows: FloatArray, positive: BoolArray, penalty: float) -> None:
        self.rows, self.positive = rows, positive
        self.ridge = np.append(np.full(rows.shape[1] - 1, penalty / len(rows)), 0.0)  # none on the intercept

    def __call__(self, theta: FloatArray) -> float:
        """The loss."""
        margin = np.where(self.positive, 1, -1) * (self.rows @ theta)
        return float(np.logaddexp(0, -margin).mean() + 0.5 * self.ridge @ theta**2)

    def derivatives(self, theta: FloatArray) -> Expansion:
        """Gradient and Hessian."""
        chance, n = expit(self.rows @ theta), len(self.rows)
        gradient = self.rows.T @ (chance - self.positive) / n + self.ridge * theta
        return gradient, (self.rows * (chance * (1 - chance) / n)[:, None]).T @ self.rows + np.diag(self.ridge)


class Covariance:
    """a'min(0, X theta), for the rows X with y = 1 and the weight a = (z - mean of z) / N of each."""

    def __init__(self, rows: FloatArray, weight: FloatArray) -> None:
        self.rows: Any = sp.csr_array(rows)
        self.above, self.below = np.maximum(weight, 0), np.maximum(-weight, 0)

    def __call__(self, theta: FloatArray) -> float:
        """The covariance."""
        return float((self.above - self.below) @ np.minimum(self.rows @ theta, 0))

    def slopes(self, theta: FloatArray, among: BoolArray | bool = True) -> Expansion:
        """Gradients of u and v, over the rows in `among`; their tangents pass through 0, as both are homogeneous."""
        missed = (self.rows @ theta < 0) & among
        return -self.rows.T @ (self.above * missed), -self.rows.T @ (self.below * missed)


def solve(
    loss: LogLoss, covariance: Covariance, theta: FloatArray, *, bound: float, max_iter: int
) -> tuple[FloatArray, int, bool]:
    """Theta with little loss and |covariance| within the bound c; the rounds; whether the bound holds.

    `theta` is where to start: the plain model, which breaks the bound.
    """
    allowed = bound + MET * abs(covariance(theta))
    slope = np.subtract(*covariance.slopes(theta))
    curvature = slope @ np.linalg.solve(loss.derivatives(theta)[1], slope)
    tau = float(0.5 * (abs(covariance(theta)) - bound) / curvature)  # half the multiplier of the linearised problem

    def merit(at: FloatArray) -> float:
        return loss(at) + tau * max(0.0, abs(covariance(at)) - bound)

    for t in range(1, max_iter + 1):
        before, step, length = merit(theta), _round(loss, covariance, theta, tau, bound) - theta, 1.0
        while length > 1e-8 and not merit(theta + length * step) <= before:  # a solver may fail with NaN
            length /= 2
        if length > 1e-8:
            theta = theta + length * step
        if abs(covariance(theta)) > allowed:
            tau *= GROWTH
        elif before - merit(theta) < SETTLED:
            return theta, t, True
    return theta, max_iter, abs(covariance(theta)) <= allowed


def _round(loss: LogLoss, covariance: Covariance, theta: FloatArray, tau: float, bound: float) -> FloatArray:
    """The theta that solves the convex problem of one round.

    Rows far from the boundary have no variables and stay on their linear piece. Rows that cross the boundary all the
    same get variables, until none does; the answer is then that of the whole problem.
    """
    distance = covariance.rows @ theta
    near = np.abs(distance) <= NEAR
    expansion = loss.derivatives(theta)
    while True:
        solution = _program(covariance, theta, expansion, near, tau, bound)
        crossed = ~near & ((covariance.rows @ solution < 0) != (distance < 0))
        if not crossed.any():
            return solution
        near |= crossed


def _program(
    covariance: Covariance, theta: FloatArray, expansion: Expansion, near: BoolArray, tau: float, bound: float
) -> FloatArray:
    """One quadratic program in theta, h of the near rows, and s."""
    clarabel, (gradient, hessian) = import_extra("clarabel"), expansion
    m, p, one = int(near.sum()), len(theta), sp.eye_array(int(near.sum()))
    tangents, far = covariance.slopes(theta), covariance.slopes(theta, among=~near)
    first = np.concatenate([far[0] - tangents[1], covariance.above[near], [-1, 0]])
    second = np.concatenate([far[1] - tangents[0], covariance.below[near], [0, -1]])
    signs: Any = [
        [-covariance.rows[near], -one, None],  # h >= -X theta
        [None, -one, None],  # h >= 0
        [None, None, -sp.eye_array(2)],  # s >= 0
    ]
    limits = sp.vstack([sp.block_array(signs), sp.csr_array(np.stack([first, second]))], format="csc")
    right = np.concatenate([np.zeros(2 * m + 2), [bound, bound]])
    quadratic = sp.block_diag([np.triu(hessian), sp.csc_array((m + 2, m + 2))], format="csc")
    linear = np.concatenate([gradient - hessian @ theta, np.zeros(m), [tau, tau]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(right))]
    return np.array(clarabel.DefaultSolver(quadratic, linear, limits, right, cones, settings).solve().x)[:p]
