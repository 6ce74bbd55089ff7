"""Average plays: of one game after every round, or of thousands of games of different length and step at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairalm.arrays import FloatArray, IntArray
from fairalm.game import Game
from fairalm.methods.base import clip_to
from reproduction.theory.families import Family


class Plays(NamedTuple):
    """What the theory needs to know of T rounds of a game, for many T; arrays of the same length."""

    rounds: IntArray  # T
    eta: FloatArray  # the step
    error: FloatArray  # e(q) of the average play of the classifiers
    gap: FloatArray  # d(q) of it
    mean: FloatArray  # the average of lambda_1 ... lambda_T
    last: FloatArray  # lambda_T
    square: FloatArray  # the mean of lambda_t²
    earned: FloatArray  # the mean of lambda_t d_t
    largest: FloatArray  # the largest absolute d_t


def plays_of(game: Game, eta: float) -> Plays:
    """The average plays of a game of :func:`fairalm.game.play` after each round."""
    multipliers, played = np.stack(game.multipliers)[:, 0], np.array(game.played)
    rounds, gaps = np.arange(1, len(played) + 1), game.gaps[played, 0]
    terms = np.stack([game.errors[played], gaps, multipliers, multipliers**2, multipliers * gaps])
    error, gap, mean, square, earned = np.cumsum(terms, axis=1) / rounds
    largest = np.maximum.accumulate(abs(gaps))
    return Plays(rounds, np.full(len(rounds), eta), error, gap, mean, multipliers, square, earned, largest)


@dataclass(frozen=True)
class LinearStep:
    """Algorithm 1: lambda + (eta / t) d, kept within ±bound if there is one. The step of `FairALMLinear`.

    A step turns the state of a game into its lambda, and moves the state after round t.
    """

    bound: float | None = None

    def multiplier(self, state: FloatArray) -> FloatArray:
        return state

    def move(self, state: FloatArray, gap: FloatArray, eta: FloatArray, t: int) -> FloatArray:
        return np.asarray(clip_to(state + eta / t * gap, self.bound))


@dataclass(frozen=True)
class ExponentiatedStep:
    """Exponentiated gradient (Agarwal et al. 2018): theta + eta d, lambda = B (exp theta - exp -theta) / (1 + both).

    For an exact oracle and tol = 0 that is the step of `ProxyLagrangian`.
    """

    bound: float = 1.0

    def multiplier(self, state: FloatArray) -> FloatArray:
        fall = np.exp(-abs(state))  # cannot overflow
        return np.asarray(self.bound * np.sign(state) * (1.0 - fall**2) / (1.0 + fall + fall**2))

    def move(self, state: FloatArray, gap: FloatArray, eta: FloatArray, t: int) -> FloatArray:
        return np.asarray(state + eta * gap)


DualStep = LinearStep | ExponentiatedStep


def play_many(family: Family, step: DualStep, eta: npt.ArrayLike, rounds: npt.ArrayLike) -> Plays:
    """Play a game for each pair of `eta` and `rounds`, all at once, against the exact oracle."""
    lengths = np.asarray(rounds, dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")  # the longest first: those still playing are a slice
    steps, left = np.asarray(eta, dtype=float)[order], lengths[order]
    state, last = np.zeros(len(order)), np.zeros(len(order))
    sums = np.zeros((5, len(order)))  # error, gap, lambda, lambda², lambda d
    largest = np.zeros(len(order))
    errors, gaps, edges = family.pieces
    cuts = edges[1:-1]
    playing = np.searchsorted(-left, -np.arange(left.max() + 1), side="right")
    for t in range(1, int(left.max()) + 1):
        n = int(playing[t])
        multiplier = step.multiplier(state[:n])
        answer = np.searchsorted(cuts, multiplier)
        gap = gaps[answer]
        sums[:, :n] += np.stack([errors[answer], gap, multiplier, multiplier**2, multiplier * gap])
        np.maximum(largest[:n], abs(gap), out=largest[:n])
        last[:n] = multiplier
        state[:n] = step.move(state[:n], gap, steps[:n], t)
    sums /= left
    back = np.argsort(order)
    error, mean_gap, mean, square, earned = sums[:, back]
    return Plays(lengths, steps[back], error, mean_gap, mean, last[back], square, earned, largest[back])
