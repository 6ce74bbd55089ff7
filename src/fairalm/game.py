"""Algorithm 1: the game between the classifier and the multipliers, over any oracle.

The oracle is a callable that answers a table of weights with a classifier's error and moments. :mod:`fairalm.signals`
has those that fit models; :mod:`fairalm.finite` has the simplest one, a finite family of classifiers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from fairalm.arrays import Array, BoolArray, FloatArray
from fairalm.candidates import SETTLED, WORSE_BY, Candidates
from fairalm.cells import CountedRows
from fairalm.methods.base import Method
from fairalm.mixtures import Mixture, lower_bound, penalised, saddle_gaps, size_of
from fairalm.outcome import Oracle, Outcome
from fairalm.result import GameResult, GroupChange, history_table

Predictor = Literal["single", "last", "average", "mixture"]
MIXTURE_ROUNDS = 20  # fits, at most, for the mixture's own prices
AROUND = (0.85, 0.95, 1.05, 1.15)  # of the best multiplier, tried where a single model is far from the best mixture
AROUND_SEVERAL = (0.95, 1.05)  # the same for several gaps
PATIENCE = 6  # rounds without a clearly better model, after which several gaps are given up
PATIENCE_WITHIN = 3  # the same once a model is within the tolerance


class Game:
    """The classifiers found and the rounds played.

    Attributes
    ----------
    classifiers : list of Outcome
        The classifiers found; the first is the plain one.
    played : list of int
        Which of them was played in each round.
    multipliers : list of array
        Lambda of each round.
    tol, bound : float
        The tolerance, and the B of the certificate.
    is_linear : bool
        Whether the gaps are linear in the classifier; only then there is a certificate.
    rows : CountedRows, optional
        The rows that errors and gaps are measured on.
    """

    def __init__(
        self, plain: Outcome, *, tol: float, bound: float = 1.0, is_linear: bool = True, rows: CountedRows | None = None
    ) -> None:
        self.classifiers = [plain]
        self.played: list[int] = []
        self.multipliers: list[FloatArray] = []
        self.tol, self.bound, self.is_linear, self.rows = tol, bound, is_linear, rows
        self._eligible: set[int] = set()
        self._multiplier_of: dict[int, FloatArray] = {}
        self._candidates: Candidates | None = None
        self._mixture: tuple[Candidates, Mixture] | None = None  # the last that was asked for

    def add(self, outcome: Outcome, multiplier: FloatArray) -> int:
        """Add a classifier and the multipliers it was fitted for; returns its index."""
        self.classifiers.append(outcome)
        self._candidates = None
        self._eligible.add(len(self.classifiers) - 1)
        self._multiplier_of[len(self.classifiers) - 1] = multiplier
        return len(self.classifiers) - 1

    def multiplier_of(self, index: int) -> FloatArray:
        """The multipliers a classifier was fitted for; 0 for the plain one."""
        return self._multiplier_of.get(index, np.zeros(self.classifiers[0].moments.gap.size))

    def record(self, index: int, multiplier: FloatArray) -> None:
        """Record a round."""
        self.played.append(index)
        self.multipliers.append(multiplier)
        self._eligible.add(index)

    @property
    def errors(self) -> FloatArray:
        """Errors of the classifiers found."""
        return np.array([outcome.error for outcome in self.classifiers])

    @property
    def gaps(self) -> FloatArray:
        """Gaps of the classifiers found, shape (classifiers, rows of C)."""
        return np.stack([outcome.gap for outcome in self.classifiers])

    @property
    def candidates(self) -> Candidates:
        """What can be returned: the classifiers found, in their order, then their shifts and the constants."""
        if self._candidates is None:
            found = self.classifiers
            if self.rows is None:
                self._candidates = Candidates.of(self.errors, [outcome.moments for outcome in found])
            else:
                wrong = [outcome.wrong for outcome in found if outcome.wrong is not None]
                shifts = [outcome.shifts for outcome in found if outcome.shifts is not None]
                self._candidates = Candidates.measured(self.rows, wrong, shifts)
        return self._candidates

    def mixture(self) -> Mixture:
        """The best mixture of the candidates."""
        found = self.candidates
        if self._mixture is None:
            self._mixture = found, found.mixture(self.tol)
        elif self._mixture[0] is not found:
            self._mixture = found, found.improved(*self._mixture, self.tol)
        return self._mixture[1]

    def weights(self, predictor: Predictor) -> FloatArray:
        """The probabilities with which `predictor` draws from the candidates."""
        n = len(self.candidates.errors)
        if predictor == "average":
            return np.asarray(np.bincount(self.played, minlength=n) / len(self.played))
        if predictor == "mixture":
            return self.mixture().weights
        index = self.played[-1]
        if predictor == "single":
            index = self.candidates.single(self.is_eligible, tol=self.tol, bound=self.bound)
        return np.asarray(np.eye(1, n, index)[0])

    @property
    def is_eligible(self) -> BoolArray:
        """Which candidates may be returned as a single model."""
        return np.isin(self.candidates.fit, sorted(self._eligible))  # the plain model only if it was played

    def excess(self, weights: FloatArray) -> float:
        """The certificate: cost of a mixture less what any mixture of the candidates must cost.

        The bound is that of the best multiplier for which the oracle fitted a classifier, so that its answer is among
        those found. NaN if the gaps are not linear.
        """
        if not self.is_linear:
            return float("nan")
        found = self.candidates
        prices = self._prices(np.unique([*self.multipliers, *self._multiplier_of.values()], axis=0))
        inside = prices[(size_of(prices) <= self.bound + 1e-12).all(axis=1)]
        floors = [lower_bound(found.errors, found.mu, price, tol=self.tol) for price in inside]
        return max(0.0, found.cost(weights, tol=self.tol, bound=self.bound) - max(floors, default=-np.inf))

    def _prices(self, multipliers: FloatArray) -> FloatArray:
        """Multipliers as one number per cell, C'lambda: shape (n, events, groups)."""
        moments = self.classifiers[0].moments
        return np.stack([np.asarray(moments.pull(row.reshape(moments.gap.shape))) for row in multipliers])

    def is_settled(self, predictor: Predictor) -> bool:
        """Whether the predictor meets the tolerance and no mixture of the classifiers found beats it by `SETTLED`.

        For a single model and for this mixture thresholds are not moved: a threshold at which a weak model is nearly
        constant must not end the search for a better one. A moved threshold does end it if the model is as good as the
        plain one, or if it is nearly so and better than any mixture of models on both sides. The best mixture itself,
        which the constants keep within the tolerance from the start, is settled once the certificate proves it best.
        """
        found = self.candidates
        weights = self.weights(predictor)
        if predictor == "mixture":
            return self.excess(weights) <= SETTLED
        if predictor == "single":
            if found.spread_of(weights).max() <= self.tol and self._costs_little(float(weights @ found.errors)):
                return True
            index = found.best_as_fitted(self.is_eligible, tol=self.tol)
            weights = np.eye(1, len(found.errors), index)[0]
        if found.spread_of(weights).max() > self.tol + 1e-12:
            return False
        best = found.mixture(self.tol, among=found.as_fitted | found.is_constant)
        return float(weights @ found.errors) - best.value <= SETTLED

    def _costs_little(self, error: float) -> bool:
        """Whether a single model within the tolerance is as good as the plain one, or nearly and as any mixture."""
        found, extra = self.candidates, error - self.candidates.errors[0]
        if extra <= SETTLED or extra > 2 * WORSE_BY:
            return bool(extra <= SETTLED)
        between = found.mixture(self.tol, among=found.as_fitted)
        return bool(found.spread_of(between.weights).max() <= self.tol + 1e-9 and error <= between.value)

    def best_cost(self) -> float:
        """Cost of the best classifier found, as it was fitted."""
        found = self.candidates
        return float(penalised(found.errors, found.spread, tol=self.tol, bound=self.bound)[found.as_fitted].min())

    @property
    def is_within(self) -> bool:
        """Whether some classifier found is within the tolerance, as it was fitted."""
        return bool((self.candidates.spread[self.candidates.as_fitted].max(axis=1) <= self.tol + 1e-12).any())

    def saddle_gaps(self) -> FloatArray:
        """Saddle gap of the average play after each round, see :func:`fairalm.mixtures.saddle_gaps`."""
        found, played, prices = self.candidates, np.array(self.played), self._prices(np.stack(self.multipliers))
        limits: Any = {"tol": self.tol, "bound": self.bound, "blocks": found.blocks}
        return saddle_gaps(found.errors, found.mu, played, prices, **limits)

    def result(self, predictor: Predictor) -> GameResult:
        """The models that `predictor` asks for, with their figures and the history of the game."""
        found, weights, played = self.candidates, self.weights(predictor), np.array(self.played)
        members = np.flatnonzero(weights)
        likeliest = int(found.fit[members[np.argmax(weights[members])]])
        change = None
        if self.rows is not None and found.wrong is not None:
            change = GroupChange.of(self.rows, np.stack([found.wrong[0], np.tensordot(weights, found.wrong, 1)]))
        return GameResult(
            weights=weights[members],
            models=[self.classifiers[i].model for i in found.fit[members]],
            shifts=found.by[members],
            error=float(weights @ found.errors),
            gap=float(found.spread_of(weights).max()),
            constant_error=float(found.errors[found.is_constant].min()) if found.is_constant.any() else np.nan,
            dual=self.multiplier_of(likeliest).reshape(self.classifiers[0].moments.gap.shape),
            optimality_gap=self.excess(weights),
            saddle_gap=self.excess(self.weights("average")),
            history=history_table(
                found.errors[played],
                self.gaps[played],
                found.spread[played].max(axis=1),
                np.stack(self.multipliers),
                self.saddle_gaps() if self.is_linear else float("nan"),
            ),
            tol=self.tol,
            change=change,
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
    rows: CountedRows | None = None,
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
        Bound on the difference between any two groups.
    max_iter : int
        Rounds at most.
    bound : float
        B of the certificate.
    predictor : {"single", "last", "average", "mixture"}
        The predictor that is wanted; it decides when to stop.
    early_stop : bool
        Stop as soon as that predictor meets the tolerance and no mixture of the classifiers found is much better, as
        soon as the multipliers stand still, or, with several gaps and a method for full fits, after six rounds
        without a better model (three, once a model is within the tolerance). Otherwise `max_iter` rounds are played.
    resolution : float
        Half a row of the smallest cell. A single gap cannot be closed further than that, so the game stops there even
        if it is above `tol`.
    is_linear : bool
        Whether the gaps are linear in the classifier. If so, the oracle is also asked for its answer to the best
        mixture's prices: for ``predictor="mixture"`` until that does not improve it, for a method whose weights are not
        its multipliers alone once, so that the certificate rests on an answer.
    rows : CountedRows, optional
        The rows that the oracle measures on. With them the game can move thresholds and knows the constants.
    on_round : callable, optional
        Called with the round and its outcome.
    """
    plain = oracle(None, None)
    game = Game(plain, tol=tol, bound=bound, is_linear=is_linear, rows=rows)
    last, dual, table, index = plain, method.start(plain.moments, plain.moments.row_tolerance(tol)), None, 0
    costs: list[float] = []
    is_costly = method.traits.only_for == "full fits" and len(plain.gap) > 1
    for t in range(max_iter):
        asked = method.weights(last.moments, dual)
        multiplier = np.asarray(method.multiplier(dual), dtype=float).ravel()
        stands_still = table is not None and np.array_equal(asked, table)
        if stands_still and early_stop:
            break
        if not stands_still:
            index = _respond(game, oracle, asked, last, multiplier, best=method.traits.plays_best)
        table, last = asked, game.classifiers[index]
        game.record(index, multiplier)
        if on_round is not None:
            on_round(t + 1, last)
        if early_stop:
            costs.append(game.best_cost())
            is_closed = len(last.gap) == 1 and abs(last.gap[0]) <= resolution
            patience = PATIENCE_WITHIN if game.is_within else PATIENCE
            if game.is_settled(predictor) or is_closed or (is_costly and _is_stalled(costs, patience)):
                break
        dual = method.update(last.moments, dual)
    if is_linear and early_stop and predictor == "single" and method.traits.only_for == "full fits":
        _look_around(game, oracle)
    if is_linear and method.traits.has_dual and (predictor == "mixture" or not method.traits.weights_are_multipliers):
        _answer_prices(game, oracle, MIXTURE_ROUNDS if predictor == "mixture" else 1)
    return game


def _look_around(game: Game, oracle: Oracle) -> None:
    """If a mixture may be better than the single model by a point, try smaller and larger multipliers of its kind."""
    if game.excess(game.weights("single")) <= WORSE_BY:
        return
    best = game.candidates.best_as_fitted(game.is_eligible, tol=game.tol)
    multiplier, at = game.multiplier_of(best), game.classifiers[best]
    factors = AROUND if multiplier.size == 1 else AROUND_SEVERAL
    for factor in factors if multiplier.any() else ():
        asked = factor * multiplier
        game.add(oracle(at.moments.pull(asked.reshape(at.moments.gap.shape)), at), asked)


def _is_stalled(costs: list[float], patience: int) -> bool:
    """Whether the last `patience` rounds brought no model that costs a tenth of a point less."""
    return len(costs) > patience and costs[-1] >= costs[-1 - patience] - SETTLED / 2


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
        mixture, found = game.mixture(), game.candidates
        if not mixture.prices.any():
            return  # the plain model answers prices of 0
        at = game.classifiers[int(found.fit[mixture.weights.argmax()])]
        new = oracle(mixture.prices, at)
        is_one_row = at.moments.gap.shape[1] == 1
        game.add(new, (mixture.prices[:, :1] if is_one_row else mixture.prices).ravel())
        if mixture.value - game.mixture().value <= SETTLED / 20:
            return  # and the prices would hardly change
