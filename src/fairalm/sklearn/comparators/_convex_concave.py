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

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from fairalm._validation import FloatArray
from fairalm.sklearn.comparators._base import BoolArray

GROWTH = 1.2  # of tau, per round with the bound broken; a larger one freezes theta too early
MET = 1e-4  # of the plain covariance: the bound holds up to this
NEAR = 0.5  # in log odds: rows within this of the boundary have variables of their own from the start
SETTLED = 1e-7  # of log loss: no round below this is worth its program


@dataclass(frozen=True)
class LogLoss:
    """Mean log loss plus penalty/(2n) times the squared coefficients; the last column is the intercept."""

    rows: FloatArray
    positive: BoolArray
    penalty: float

    @property
    def ridge(self) -> FloatArray:
        """The penalty of each coefficient; none on the intercept."""
        n, p = self.rows.shape
        return np.append(np.full(p - 1, self.penalty / n), 0.0)

    def __call__(self, theta: FloatArray) -> float:
        """The loss."""
        margin = np.where(self.positive, 1, -1) * (self.rows @ theta)
        return float(np.logaddexp(0, -margin).mean() + 0.5 * self.ridge @ theta**2)

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian."""
        chance, n = expit(self.rows @ theta), len(self.rows)
        gradient = self.rows.T @ (chance - self.positive) / n + self.ridge * theta
        hessian = (self.rows * (chance * (1 - chance) / n)[:, None]).T @ self.rows + np.diag(self.ridge)
        return gradient, hessian


class Covariance:
    """a'min(0, X theta).

    Parameters
    ----------
    rows : array of shape (m, p)
        The rows with y = 1.
    weight : array of shape (m,)
        a: (z - mean of z) / N.
    """

    def __init__(self, rows: FloatArray, weight: FloatArray) -> None:
        self.rows: Any = sp.csr_array(rows)
        self.above, self.below = np.maximum(weight, 0), np.maximum(-weight, 0)

    def __call__(self, theta: FloatArray) -> float:
        """The covariance."""
        return float((self.above - self.below) @ np.minimum(self.rows @ theta, 0))

    def slopes(self, theta: FloatArray, among: BoolArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Gradients of u and v, of some rows only if asked; tangents pass through 0, as both are homogeneous."""
        missed = self.rows @ theta < 0
        if among is not None:
            missed = missed & among
        return -self.rows.T @ (self.above * missed), -self.rows.T @ (self.below * missed)


def solve(
    loss: LogLoss, covariance: Covariance, theta: FloatArray, *, bound: float, max_iter: int
) -> tuple[FloatArray, int, bool]:
    """Theta with little loss and |covariance| within the bound; the rounds; whether the bound holds.

    Parameters
    ----------
    loss, covariance
        The two functions.
    theta : array of shape (p,)
        Where to start: the plain model, which breaks the bound.
    bound : float
        c.
    max_iter : int
        Rounds at most.
    """
    allowed = bound + MET * abs(covariance(theta))
    slope_u, slope_v = covariance.slopes(theta)
    slope = slope_u - slope_v
    curvature = slope @ np.linalg.solve(loss.derivatives(theta)[1], slope)
    tau = float(0.5 * (abs(covariance(theta)) - bound) / curvature)  # half the multiplier of the linearised problem

    def merit(at: FloatArray) -> float:
        return loss(at) + tau * max(0.0, abs(covariance(at)) - bound)

    for t in range(1, max_iter + 1):
        before, step = merit(theta), _round(loss, covariance, theta, tau, bound) - theta
        length = 1.0
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
    """The theta that solves the convex problem at the last one.

    Rows far from the boundary keep the linear piece they are on, which saves their variables; those found to have
    crossed it get theirs, until none does and the answer is that of the whole problem.
    """
    distance = covariance.rows @ theta
    near = np.abs(distance) <= NEAR
    expansion = loss.derivatives(theta)
    while True:
        found = _program(covariance, theta, *expansion, near=near, tau=tau, bound=bound)
        crossed = ~near & ((covariance.rows @ found < 0) != (distance < 0))
        if not crossed.any():
            return found
        near |= crossed


def _program(
    covariance: Covariance,
    theta: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    *,
    near: BoolArray,
    tau: float,
    bound: float,
) -> FloatArray:
    """One quadratic program in theta, h of the near rows, and s."""
    clarabel = import_clarabel()
    m, p = int(near.sum()), len(theta)
    tangents, far = covariance.slopes(theta), covariance.slopes(theta, among=~near)
    sides = np.stack(
        [
            np.concatenate([far[0] - tangents[1], covariance.above[near], [-1, 0]]),
            np.concatenate([far[1] - tangents[0], covariance.below[near], [0, -1]]),
        ]
    )
    rows, one = covariance.rows[near], sp.eye_array(m)
    signs: Any = [
        [-rows, -one, None],  # h >= -X theta
        [None, -one, None],  # h >= 0
        [None, None, -sp.eye_array(2)],  # s >= 0
    ]
    limits = sp.vstack([sp.block_array(signs), sp.csr_array(sides)], format="csc")
    right = np.concatenate([np.zeros(2 * m + 2), [bound, bound]])
    quadratic = sp.block_diag([np.triu(hessian), sp.csc_array((m + 2, m + 2))], format="csc")
    linear = np.concatenate([gradient - hessian @ theta, np.zeros(m), [tau, tau]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(right))]
    return np.array(clarabel.DefaultSolver(quadratic, linear, limits, right, cones, settings).solve().x)[:p]


def import_clarabel() -> Any:
    """The solver, or the command that installs it."""
    try:
        import clarabel
    except ImportError as error:
        raise ImportError('ZafarClassifier solves with clarabel: pip install "fairalm[compare]"') from error
    return clarabel
