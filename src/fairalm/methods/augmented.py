"""The augmented Lagrangian without the paper's Jensen step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fairalm.arrays import Array
from fairalm.methods.base import Dual, Method, Traits, check_bound, clip_to, soft
from fairalm.moments import Moments
from fairalm.schedules import Schedule, check_eta, step_size


@dataclass(frozen=True)
class AugmentedLagrangian(Method):
    """Weights C'(lambda + eta d); lambda ← soft(lambda + eta d, eta tol). The appendix before its Jensen step.

    Parameters
    ----------
    eta : float or schedule
        Dual step size and weight of the quadratic term eta/2 |d|².
    bound : float, optional
        Keep |lambda| <= bound.
    """

    eta: float | Schedule = 0.1
    bound: float | None = None

    name: ClassVar[str] = "augmented"
    summary: ClassVar[str] = "augmented Lagrangian without the paper's Jensen step"
    traits: ClassVar[Traits] = Traits(weights_are_multipliers=False)

    def __post_init__(self) -> None:
        check_eta(self, self.eta)
        check_bound(self, self.bound)

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'(lambda + eta d)."""
        return moments.pull(dual.value + step_size(self.eta, dual.t) * moments.gap)

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """soft(lambda + eta d, eta tol): the paper's step at tol = 0."""
        eta = step_size(self.eta, dual.t)
        value = soft(dual.value + eta * moments.gap, eta * dual.tol)
        return replace(dual, value=clip_to(value, self.bound))
