"""Observation 1: which constraints are linear in the classifier, on mixtures of real models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fairalm.constraints import Constraint, DemographicParity, EqualizedOdds, ErrorParity, PredictiveParity
from fairalm.moments import Moments
from reproduction.theory.checks import Check, same
from reproduction.theory.families import Models
from reproduction.types import FloatArray

LINEAR: tuple[Constraint, ...] = (EqualizedOdds(), ErrorParity(), DemographicParity())
MEMBERS = 5


def mean_of_members(weights: FloatArray, members: list[Moments]) -> FloatArray:
    """What the means of a mixture would be if they were linear."""
    return np.asarray(sum(w * m.mu for w, m in zip(weights, members, strict=True)))


def ratio_of_members(weights: FloatArray, members: list[Moments]) -> FloatArray:
    """The mean of the numerators over the mean of the denominators."""
    above = sum(w * m.mu * m.counts for w, m in zip(weights, members, strict=True))
    below = sum(w * m.counts for w, m in zip(weights, members, strict=True))
    return np.asarray(above / below)


def check_observation_1(models: Models, rng: np.random.Generator, mixtures: int = 50) -> list[Check]:
    """Compare the cells' means of random mixtures of five models with the mean, and the ratio, of the members'.

    The last two models, the constants, are left out: where nobody is predicted 1 there is no rate.
    """
    size = min(MEMBERS, len(models.wrong) - 2)
    drawn = [rng.choice(len(models.wrong) - 2, size, replace=False) for _ in range(mixtures)]
    weights = rng.dirichlet(np.ones(size), mixtures)

    def pairs(
        constraints: Sequence[Constraint], expected: Callable[[FloatArray, list[Moments]], FloatArray]
    ) -> Iterator[tuple[str, FloatArray, FloatArray]]:
        for constraint in constraints:
            for number, (chosen, share) in enumerate(zip(drawn, weights, strict=True)):
                wrong = models.wrong[chosen]
                mixed, *members = models.moments(constraint, [share @ wrong, *wrong])  # a row's chance to be wrong
                yield f"{models.name}, {constraint.name}, mixture {number}", mixed.mu, expected(share, members)

    parity = [PredictiveParity()]
    return [
        same("Observation 1, EO, DP linear", "μ(q) = Σ q_i μ_i", pairs(LINEAR, mean_of_members)),
        same("PP linear (the paper: it is not)", "μ(q) = Σ q_i μ_i", pairs(parity, mean_of_members)),
        same("PP linear-fractional", "μ(q) = Σ q_i n_i μ_i / Σ q_i n_i", pairs(parity, ratio_of_members)),
    ]
