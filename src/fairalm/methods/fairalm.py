"""The paper's two algorithms, as written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fairalm.arrays import Array
from fairalm.exceptions import InputError
from fairalm.methods.base import Dual, Method, Traits, check_bound, clip_to
from fairalm.moments import Moments
from fairalm.schedules import Growth, check_eta


@dataclass(frozen=True)
class FairALM(Method):
    """Weights C'lambda + eta |C|'1; lambda ← lambda + eta d. Algorithm 2; for two groups (λ+η) mu0 - (λ-η) mu1.

    The added eta comes from the paper's Jensen step. It rewards a small loss in every cell, so a large eta on a small
    model ends in predicting the target for everyone; :class:`AugmentedLagrangian` is the term without that step.

    Parameters
    ----------
    eta : float
        Dual step size.
    eta_beta : float
        Growth of eta by 1 + eta_beta a round (appendix: about 0.01).
    """

    eta: float = 0.1
    eta_beta: float = 0.0

    name: ClassVar[str] = "fairalm"
    summary: ClassVar[str] = "the paper's Algorithm 2 as written; a large eta can end in one prediction for all"
    traits: ClassVar[Traits] = Traits(weights_are_multipliers=False)

    def __post_init__(self) -> None:
        check_eta(self, self.eta, number_only=True)
        if self.eta_beta < 0:
            raise InputError(f"The 'eta_beta' of FairALM must not be negative. Got {self.eta_beta!r}.")

    def _eta(self, dual: Dual) -> float:
        return Growth(self.eta, self.eta_beta)(dual.t)

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'lambda + eta |C|'1."""
        return moments.pull(dual.value) + self._eta(dual) * moments.reach

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """lambda + eta d."""
        return replace(dual, value=dual.value + self._eta(dual) * moments.gap)


@dataclass(frozen=True)
class FairALMLinear(Method):
    """Weights C'lambda; lambda ← lambda + (eta / t) d. Algorithm 1, played over the classifiers found.

    As the appendix has it, a newly trained classifier joins the set only if it lowers the Lagrangian, and h_t is the
    best of the set.

    Parameters
    ----------
    eta : float
        Dual step size, divided by t in round t. The theorem's cases: sqrt(B² T / (L² (log T + 1))) with
        ``bound=B``, and 1 / T without.
    bound : float, optional
        Keep |lambda| <= bound, as the theorem's first case asks.
    """

    eta: float = 1.0
    bound: float | None = None

    name: ClassVar[str] = "fairalm-linear"
    summary: ClassVar[str] = "the paper's Algorithm 1 as written: step eta/t, a new model joins only if it helps"
    traits: ClassVar[Traits] = Traits(plays_best=True)

    def __post_init__(self) -> None:
        check_eta(self, self.eta, number_only=True)
        check_bound(self, self.bound)

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'lambda."""
        return moments.pull(dual.value)

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """lambda + (eta / t) d."""
        value = dual.value + self.eta / dual.t * moments.gap
        return replace(dual, value=clip_to(value, self.bound))
