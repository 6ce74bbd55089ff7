"""Choosing among the classifiers found: the single best, the best mixture, and what that proves.

All here is about a finite set of classifiers with errors ``e`` and gaps ``d``. The game with multipliers
|lambda| <= B over mixtures q of the set is the linear program

    min over q of  e(q) + B sum of (|d(q)| - tol)+   =   max over |lambda| <= B of  min over the set of
                                                         e + lambda d - tol |lambda|

and its dual prices are the best multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from fairalm.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Mixture:
    """The best mixture of a set of classifiers.

    Parameters
    ----------
    weights : array of shape (classifiers,)
        Probabilities; most are 0.
    value : float
        e(q) + B sum of (|d(q)| - tol)+, the value of the game on the set.
    prices : array of shape (rows,)
        The best multipliers: what a unit of gap costs in error.
    """

    weights: FloatArray
    value: float
    prices: FloatArray


def best_mixture(errors: FloatArray, gaps: FloatArray, *, tol: float, bound: float = 1.0) -> Mixture:
    """Solve the linear program above.

    Parameters
    ----------
    errors : array of shape (classifiers,)
    gaps : array of shape (classifiers, rows)
    tol, bound : float
        Tolerance on each gap, and B.

    Examples
    --------
    >>> found = best_mixture(np.array([0.1, 0.2]), np.array([[0.3], [-0.1]]), tol=0.0)
    >>> found.weights.round(2), round(found.value, 3), found.prices.round(2)
    (array([0.25, 0.75]), 0.175, array([0.25]))
    """
    n, rows = gaps.shape
    cost = np.concatenate([errors, np.full(rows, bound)])
    slack = -np.eye(rows)
    limits = np.block([[gaps.T, slack], [-gaps.T, slack]])
    simplex = np.concatenate([np.ones(n), np.zeros(rows)])[None, :]
    result = linprog(cost, A_ub=limits, b_ub=np.full(2 * rows, tol), A_eq=simplex, b_eq=[1.0], method="highs")
    marginals = -result.ineqlin.marginals
    weights = np.clip(np.asarray(result.x)[:n], 0.0, None)
    value = float(cost @ np.asarray(result.x))
    return Mixture(weights / weights.sum(), value, marginals[:rows] - marginals[rows:])


def choose_single(errors: FloatArray, gaps: FloatArray, *, tol: float) -> int:
    """The classifier with the smallest error among those within `tol`; if none is, the one with the smallest gap.

    >>> choose_single(np.array([0.10, 0.14, 0.13]), np.array([[0.3], [0.005], [-0.01]]), tol=0.01)
    2
    """
    largest = abs(gaps).max(axis=1)
    within = largest <= tol
    if within.any():
        return int(np.flatnonzero(within)[np.lexsort((largest[within], errors[within]))[0]])
    return int(np.lexsort((errors, largest))[0])


def penalised(error: float, gap: FloatArray, *, tol: float, bound: float) -> float:
    """E + B sum of (|d| - tol)+: what a classifier or mixture costs against the worst multiplier."""
    return float(error + bound * np.clip(abs(gap) - tol, 0.0, None).sum())


def lower_bound(errors: FloatArray, gaps: FloatArray, multiplier: FloatArray, *, tol: float) -> float:
    """Minimum over the set of e + lambda d, less tol |lambda|: no mixture of the set can cost less."""
    return float((errors + gaps @ multiplier).min() - tol * abs(multiplier).sum())


def saddle_gaps(
    errors: FloatArray, gaps: FloatArray, played: IntArray, multipliers: FloatArray, *, tol: float, bound: float
) -> FloatArray:
    """Saddle gap of the average play after each round: e(q) + B (|d(q)| - tol)+ less the best answer to lambda_bar.

    The best answer is sought among the classifiers played up to that round, so the figure is about mixtures of them.

    Parameters
    ----------
    errors : array of shape (classifiers,)
    gaps : array of shape (classifiers, rows)
    played : int array of shape (rounds,)
        Which classifier was played in each round.
    multipliers : array of shape (rounds, rows)
    tol, bound : float
        Tolerance on each gap, and B.
    """
    rounds = np.arange(1, len(played) + 1)[:, None]
    mean_error = np.cumsum(errors[played]) / rounds[:, 0]
    mean_gap = np.cumsum(gaps[played], axis=0) / rounds
    mean_lambda = np.cumsum(multipliers, axis=0) / rounds
    result = np.empty(len(played))
    seen: list[int] = []
    for t, index in enumerate(played.tolist()):
        if index not in seen:
            seen.append(index)
        floor = lower_bound(errors[seen], gaps[seen], mean_lambda[t], tol=tol)
        result[t] = penalised(mean_error[t], mean_gap[t], tol=tol, bound=bound) - floor
    return result
