"""Algorithm 1: the game between the classifier and the multipliers, over any oracle.

The oracle is a callable that answers a table of weights with a classifier's error and moments. :mod:`fairalm.signals`
has those that fit models; a finite family of classifiers is the simplest one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairalm.arrays import Array, FloatArray
from fairalm.methods.base import Method
from fairalm.mixtures import Mixture, best_mixture, choose_single, lower_bound, penalised, saddle_gaps
from fairalm.moments import Moments
from fairalm.result import GameResult, history_table

Predictor = Literal["single", "last", "average", "mixture"]
SETTLED = 2e-3  # a fifth of a point of error: a smaller gain is not worth another fit
MIXTURE_ROUNDS = 20  # fits, at most, for the mixture's own prices


@dataclass(frozen=True)
class Outcome:
    """A classifier as the game sees it.

    Parameters
    ----------
    error : float
        Its 0/1 error.
    moments : Moments
        The means of its cells, on the data that moves the multipliers.
    model : object
        The classifier itself.
    fit_moments : Moments, optional
        The means of its cells on the data it was fitted on, where that is other data.
    selection : float
        Share of rows that it predicts as the target.
    """

    error: float
    moments: Moments
    model: Any = None
    fit_moments: Moments | None = None
    selection: float = float("nan")

    @property
    def gap(self) -> FloatArray:
        """The gaps as a vector; 1, the worst possible, where a cell is empty and the gap is unknown."""
        return np.where(self.moments.defined, self.moments.gap, 1.0).astype(float).ravel()


#: (table of weights or None for the plain fit, the last classifier or None) -> the new classifier
Oracle = Callable[[Array | None, Outcome | None], Outcome]


class Game:
    """The classifiers found and the rounds played.

    Attributes
    ----------
    classifiers : list of Outcome
        The classifiers found; the first is the plain one.
    errors, gaps : arrays of shape (classifiers,) and (classifiers, rows)
        Their errors and gaps.
    played : list of int
        Which of them was played in each round.
    multipliers : list of array
        Lambda of each round.
    tol, bound : float
        The tolerance, and the B of the certificate.
    is_linear : bool
        Whether the gaps are linear in the classifier; only then there is a certificate.
    """

    def __init__(self, plain: Outcome, *, tol: float, bound: float = 1.0, is_linear: bool = True) -> None:
        self.classifiers = [plain]
        self.errors = np.array([plain.error])
        self.gaps = plain.gap[None, :]
        self.played: list[int] = []
        self.multipliers: list[FloatArray] = []
        self.tol, self.bound, self.is_linear = tol, bound, is_linear
        self._eligible: set[int] = set()
        self._mixture: Mixture | None = None
        self._multiplier_of: dict[int, FloatArray] = {}

    def add(self, outcome: Outcome, multiplier: FloatArray) -> int:
        """Add a classifier and the multipliers it was fitted for; returns its index."""
        self.classifiers.append(outcome)
        self._mixture = None
        self.errors = np.append(self.errors, outcome.error)
        self.gaps = np.vstack([self.gaps, outcome.gap])
        self._eligible.add(len(self.classifiers) - 1)
        self._multiplier_of[len(self.classifiers) - 1] = multiplier
        return len(self.classifiers) - 1

    def multiplier_of(self, index: int) -> FloatArray:
        """The multipliers a classifier was fitted for; 0 for the plain one."""
        return self._multiplier_of.get(index, np.zeros(self.gaps.shape[1]))

    def record(self, index: int, multiplier: FloatArray) -> None:
        """Record a round."""
        self.played.append(index)
        self.multipliers.append(multiplier)
        self._eligible.add(index)

    def mixture(self) -> Mixture:
        """The best mixture of the classifiers found."""
        if self._mixture is None:
            self._mixture = best_mixture(self.errors, self.gaps, tol=self.tol, bound=self.bound)
        return self._mixture

    def weights(self, predictor: Predictor) -> FloatArray:
        """The probabilities with which `predictor` draws from the classifiers found."""
        n = len(self.classifiers)
        if predictor == "average":
            return np.asarray(np.bincount(self.played, minlength=n) / len(self.played))
        if predictor == "mixture":
            return self.mixture().weights
        if predictor == "last":
            return np.asarray(np.eye(n)[self.played[-1]])
        eligible = np.array(sorted(self._eligible))  # the plain model only if it was played
        index = choose_single(self.errors[eligible], self.gaps[eligible], tol=self.tol)
        return np.asarray(np.eye(n)[eligible[index]])

    def cost(self, weights: FloatArray) -> float:
        """e(q) + B sum of (|d(q)| - tol)+ of a mixture of the classifiers found."""
        return penalised(float(weights @ self.errors), weights @ self.gaps, tol=self.tol, bound=self.bound)

    def excess(self, weights: FloatArray) -> float:
        """The certificate: cost of a mixture less what any mixture of the classifiers found must cost.

        The bound is that of the best multiplier for which the oracle fitted a classifier, so that its answer is among
        those found. NaN if the gaps are not linear.
        """
        if not self.is_linear:
            return float("nan")
        multipliers = np.unique([*self.multipliers, *self._multiplier_of.values()], axis=0)
        inside = multipliers[(abs(multipliers) <= self.bound).all(axis=1)]
        floors = [lower_bound(self.errors, self.gaps, multiplier, tol=self.tol) for multiplier in inside]
        return max(0.0, self.cost(weights) - max(floors, default=-np.inf))

    def is_settled(self, predictor: Predictor) -> bool:
        """Whether the predictor meets the tolerance and no mixture of the classifiers found beats it by `SETTLED`."""
        weights = self.weights(predictor)
        within = abs(weights @ self.gaps).max() <= self.tol + 1e-12
        return bool(within) and self.cost(weights) - self.mixture().value <= SETTLED

    def saddle_gaps(self) -> FloatArray:
        """Saddle gap of the average play after each round, see :func:`fairalm.mixtures.saddle_gaps`."""
        played, multipliers = np.array(self.played), np.stack(self.multipliers)
        return saddle_gaps(self.errors, self.gaps, played, multipliers, tol=self.tol, bound=self.bound)

    def result(self, predictor: Predictor) -> GameResult:
        """The models that `predictor` asks for, with their figures and the history of the game."""
        weights, played = self.weights(predictor), np.array(self.played)
        members = np.flatnonzero(weights)
        likeliest = int(members[np.argmax(weights[members])])
        return GameResult(
            members=members,
            weights=weights[members],
            models=[self.classifiers[i].model for i in members],
            error=float(weights @ self.errors),
            gap=float(abs(weights @ self.gaps).max()),
            selection=float(weights @ [outcome.selection for outcome in self.classifiers]),
            plain_selection=self.classifiers[0].selection,
            dual=self.multiplier_of(likeliest).reshape(self.classifiers[0].moments.gap.shape),
            optimality_gap=self.excess(weights),
            saddle_gap=self.excess(self.weights("average")),
            history=history_table(
                self.errors[played],
                self.gaps[played],
                np.stack(self.multipliers),
                self.saddle_gaps() if self.is_linear else float("nan"),
            ),
            tol=self.tol,
        )


def play(
    oracle: Oracle,
    method: Method,
    *,
    tol: float,
    max_iter: int = 50,
    bound: float = 1.0,
    predictor: Predictor = "single",
    early_stop: bool = True,
    resolution: float = 0.0,
    is_linear: bool = True,
    on_round: Callable[[int, Outcome], None] | None = None,
) -> Game:
    """Play Algorithm 1, with any method that moves the multipliers.

    Parameters
    ----------
    oracle : callable
        Fits a classifier to a table of weights.
    method : Method
        How the multipliers move.
    tol : float
        Bound on the gaps.
    max_iter : int
        Rounds at most.
    bound : float
        B of the certificate.
    predictor : {"single", "last", "average", "mixture"}
        The predictor that is wanted; it decides when to stop.
    early_stop : bool
        Stop as soon as that predictor meets the tolerance and no mixture of the classifiers found is much better.
    resolution : float
        Half a row of the smallest cell. A single gap cannot be closed further than that, so the game stops there even
        if it is above `tol`.
    is_linear : bool
        Whether the gaps are linear in the classifier. If so, the oracle is also asked for its answer to the best
        mixture's prices: for ``predictor="mixture"`` until that does not improve it, for a method whose weights are not
        its multipliers alone once, so that the certificate rests on an answer.
    on_round : callable, optional
        Called with the round and its outcome.
    """
    plain = oracle(None, None)
    game = Game(plain, tol=tol, bound=bound, is_linear=is_linear)
    last, dual, table = plain, method.start(plain.moments, tol), None
    for t in range(max_iter):
        asked = method.weights(last.moments, dual)
        if table is not None and np.array_equal(asked, table):
            break
        table = asked
        multiplier = np.asarray(method.multiplier(dual), dtype=float).ravel()
        index = _respond(game, oracle, table, last, multiplier, best=method.traits.plays_best)
        last = game.classifiers[index]
        game.record(index, multiplier)
        if on_round is not None:
            on_round(t + 1, last)
        if early_stop and (game.is_settled(predictor) or (len(last.gap) == 1 and abs(last.gap[0]) <= resolution)):
            break
        dual = method.update(last.moments, dual)
    if is_linear and method.traits.has_dual and (predictor == "mixture" or not method.traits.weights_are_multipliers):
        _answer_prices(game, oracle, MIXTURE_ROUNDS if predictor == "mixture" else 1)
    return game


def _respond(game: Game, oracle: Oracle, table: Array, last: Outcome, multiplier: FloatArray, *, best: bool) -> int:
    """The index of h_t. With `best`, a new classifier joins the others only if it lowers the Lagrangian."""
    new = oracle(table, last) if np.any(table) else None
    if best:
        values = game.errors + game.gaps @ multiplier
        if new is None or new.error + new.gap @ multiplier >= values.min():
            return int(values.argmin())
    return 0 if new is None else game.add(new, multiplier)


def _answer_prices(game: Game, oracle: Oracle, rounds: int) -> None:
    """Add the oracle's answer to the mixture's prices, until it no longer helps."""
    for _ in range(rounds):
        mixture = game.mixture()
        if not mixture.prices.any():
            return  # the plain model answers prices of 0
        at = game.classifiers[int(mixture.weights.argmax())]
        shape = at.moments.gap.shape
        new = oracle(at.moments.pull(mixture.prices.reshape(shape)), at)
        game.add(new, mixture.prices)
        reached = new.error + new.gap @ mixture.prices - game.tol * abs(mixture.prices).sum()
        if reached >= mixture.value - SETTLED:
            return


class FiniteOracle:
    """The exact oracle of a finite family, Algorithm 1's own setting: all errors and means are known.

    Parameters
    ----------
    errors : array of shape (family,)
    mu : array of shape (family, events, groups)
    counts : array of shape (events, groups), optional
        Cell sizes, which only matter for more than two groups; equal if left out.

    Examples
    --------
    >>> from fairalm.methods import FairALMLinear
    >>> oracle = FiniteOracle(np.array([0.1, 0.2]), np.array([[[0.4, 0.1]], [[0.2, 0.3]]]))
    >>> game = play(oracle, FairALMLinear(eta=1.0), tol=0.0, max_iter=500, early_stop=False)
    >>> abs(game.weights("average") @ game.gaps).max() < 0.01
    np.True_
    """

    def __init__(self, errors: FloatArray, mu: FloatArray, counts: FloatArray | None = None) -> None:
        counts = np.ones(mu.shape[1:]) if counts is None else counts
        self.errors, self.mu = errors, mu.reshape(len(errors), -1)
        self.outcomes = [
            Outcome(float(e), Moments(m, counts, float(counts.sum())), i)
            for i, (e, m) in enumerate(zip(errors, mu, strict=True))
        ]

    def __call__(self, table: Array | None, last: Outcome | None) -> Outcome:
        """The classifier with the smallest e + table · mu."""
        costs = self.errors if table is None else self.errors + self.mu @ np.ravel(table)
        return self.outcomes[int(costs.argmin())]
