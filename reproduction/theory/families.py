"""Finite families of classifiers: random games, made-up ones, and logistic models on Adult."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from fairalm.arrays import FloatArray, IntArray
from fairalm.constraints import Constraint
from fairalm.datasets import load_adult, preprocess, split
from fairalm.finite import FiniteOracle
from fairalm.moments import Moments

BoolArray = npt.NDArray[np.bool_]
FEWEST, MOST = 2000, 8000  # rows a model of Adult is fitted on


@dataclass(frozen=True, eq=False)
class Family:
    """The paper's H: errors e and gaps d of N classifiers, one gap each, as arrays of shape (N,).

    >>> family = Family("two", np.array([0.1, 0.2]), np.array([0.3, -0.1]))
    >>> family.largest, family.answer(np.array([0.0, 0.3])), family.floor(np.array([0.25]))
    (0.3, array([0, 1]), array([0.175]))
    """

    name: str
    errors: FloatArray
    gaps: FloatArray

    @property
    def largest(self) -> float:
        return float(abs(self.gaps).max())  # L

    @cached_property
    def envelope(self) -> tuple[IntArray, FloatArray]:
        """The classifiers that are best for some lambda, by rising lambda, and the lambdas where the best changes."""
        kept: list[int] = []
        for i in np.lexsort((self.errors, -self.gaps)):
            if kept and self.gaps[kept[-1]] == self.gaps[i]:
                continue
            while len(kept) > 1 and self._cut(kept[-2], i) <= self._cut(kept[-2], kept[-1]):
                kept.pop()
            kept.append(int(i))
        cuts = [self._cut(a, b) for a, b in pairwise(kept)]
        return np.array(kept, dtype=np.int64), np.array(cuts, dtype=float)

    def _cut(self, a: int, b: int) -> float:
        """The lambda at which two classifiers cost the same."""
        return float((self.errors[b] - self.errors[a]) / (self.gaps[a] - self.gaps[b]))

    @property
    def pieces(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Errors, gaps and ends (in lambda) of the pieces of the dual function, which is linear on each."""
        best, cuts = self.envelope
        return self.errors[best], self.gaps[best], np.concatenate([[-np.inf], cuts, [np.inf]])

    def answer(self, multiplier: FloatArray) -> IntArray:
        """Algorithm 1's primal step for many lambdas at once: who has the smallest e + lambda d."""
        best, cuts = self.envelope
        return np.asarray(best[np.searchsorted(cuts, multiplier)])

    def floor(self, multiplier: FloatArray) -> FloatArray:
        """The smallest e + lambda d, for many lambdas at once: the dual function of the game."""
        best = self.answer(multiplier)
        return np.asarray(self.errors[best] + multiplier * self.gaps[best])

    def oracle(self) -> FiniteOracle:
        """The family as the game's exact oracle; only the difference of the two means matters to it."""
        means = np.stack([self.gaps, np.zeros_like(self.gaps)], axis=-1)
        return FiniteOracle(self.errors, means[:, None, :])


def random_game(rng: np.random.Generator, size: int = 20, name: str = "random game") -> Family:
    """A family with random errors and gaps; how much error there is to lose varies over two decades."""
    errors = rng.uniform(0.0, 10.0 ** rng.uniform(-2.0, 0.0), size)
    return Family(name, errors, np.clip(rng.uniform(-1.0, 1.0, size) + rng.normal(0.0, 0.3), -1.0, 1.0))


def slow_game(small: float = 0.12) -> Family:
    """Two classifiers, gaps 1 and -`small`: without a bound lambda leaps up and takes exp(1/small) rounds to return."""
    return Family(f"gaps 1 and -{small:g}", np.array([0.0, 0.1]), np.array([1.0, -small]))


def smooth_family(size: int = 2001) -> Family:
    """A parabola of classifiers, so many that the dual function has no kink worth the name; lambda* = 0.16."""
    gaps = np.linspace(-0.3, 0.3, size)
    return Family("a parabola", 0.2 + 0.4 * (gaps - 0.2) ** 2, gaps)


@dataclass(frozen=True, eq=False)
class Models:
    """The errors of real models, row by row of a data set with two groups."""

    name: str  # of the data
    wrong: BoolArray  # the 0/1 losses, shape (models, rows)
    positive: BoolArray  # the labels
    group: IntArray

    @property
    def errors(self) -> FloatArray:
        return np.asarray(self.wrong.mean(axis=1))

    def moments(self, constraint: Constraint, losses: Iterable[npt.NDArray[Any]]) -> list[Moments]:
        cells = constraint.rows(self.positive, self.group, 2)
        return [cells.moments(loss) for loss in losses]

    def gaps(self, constraint: Constraint) -> FloatArray:
        """Gaps of each model, shape (models, events)."""
        return np.stack([moments.gap[:, 0] for moments in self.moments(constraint, self.wrong)])

    def family(self, constraint: Constraint) -> Family:
        """The models as the game sees them under a constraint with one gap."""
        return Family(f"{self.name}, {constraint.name}", self.errors, self.gaps(constraint)[:, 0])


@lru_cache(maxsize=1)
def adult_models(n_models: int = 300, rows: int | None = None, seed: int = 0) -> Models:
    """Logistic models on Adult that differ in the rows they saw, in C and in the weights of label × sex.

    The two constants, nobody and everybody, are the last of them. Errors are counted on all rows, seen or not: the
    theory is about a fixed family and fixed data.
    """
    data = load_adult()
    frame, y, names = data.features_frame(with_protected=True), data.y, data.groups
    if rows is not None and rows < len(y):
        kept = split(y, names, test_size=rows / len(y), random_state=seed)[1]
        frame, y, names = frame.iloc[kept], y[kept], names.iloc[kept]
    X, positive = preprocess(frame).fit_transform(frame), y.astype(bool)
    group = np.unique(names, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    wrong = np.empty((n_models + 2, len(y)), dtype=bool)
    for i in range(n_models):
        seen = rng.choice(len(y), rng.integers(FEWEST, min(MOST, len(y))), replace=False)
        by_cell = np.exp(rng.normal(0.0, 0.5, (2, 2)))
        model = LogisticRegression(C=10.0 ** rng.uniform(-3.0, 1.0), tol=1e-3, max_iter=1000)
        model.fit(X[seen], positive[seen], sample_weight=by_cell[y[seen], group[seen]])
        wrong[i] = model.predict(X) != positive
    wrong[-2], wrong[-1] = positive, ~positive
    return Models("Adult", wrong, positive, group)
