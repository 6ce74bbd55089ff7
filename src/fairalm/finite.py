"""A finite family of classifiers as an oracle: the setting of the paper's theorem, and the simplest one to test in."""

from __future__ import annotations

import numpy as np

from fairalm.arrays import Array, FloatArray
from fairalm.moments import Moments
from fairalm.outcome import Outcome


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
    >>> from fairalm.game import play
    >>> from fairalm.methods import FairALMLinear
    >>> oracle = FiniteOracle(np.array([0.1, 0.2]), np.array([[[0.4, 0.1]], [[0.2, 0.3]]]))
    >>> game = play(oracle, FairALMLinear(eta=1.0), tol=0.0, max_iter=500, early_stop=False)
    >>> bool(abs(game.weights("average") @ game.gaps).max() < 0.01)
    True
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
