"""Two multipliers per gap, one for each side of the tolerance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fairalm.arrays import Array
from fairalm.exceptions import InputError
from fairalm.methods.base import Dual, Method, Traits
from fairalm.moments import Moments, namespace
from fairalm.schedules import Schedule, check_eta, step_size


@dataclass(frozen=True)
class Lagrangian(Method):
    """Weights C'(l⁺ - l⁻); l± ← max(0, l± + eta (±d - tol)). Appendix, "Lagrangian"; epsilon is tol.

    Parameters
    ----------
    eta : float or schedule
        Dual step size.
    """

    eta: float | Schedule = 0.1

    name: ClassVar[str] = "lagrangian"
    summary: ClassVar[str] = "two multipliers per gap, moved by the gap beyond the tolerance"

    def __post_init__(self) -> None:
        check_eta(self, self.eta)

    def start(self, moments: Moments, tol: float) -> Dual:
        """Both multipliers 0."""
        return Dual(_both_sides(0.0 * moments.gap, 0.0), tol)

    def multiplier(self, dual: Dual) -> Array:
        """l⁺ - l⁻."""
        return dual.value[0] - dual.value[1]

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'(l⁺ - l⁻)."""
        return moments.pull(self.multiplier(dual))

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """max(0, l± + eta (±d - tol))."""
        move = step_size(self.eta, dual.t) * _both_sides(moments.gap, dual.tol)
        return replace(dual, value=(dual.value + move).clip(0.0, None))


@dataclass(frozen=True)
class ProxyLagrangian(Lagrangian):
    """The Lagrangian with multipliers from an exponential map, moved by 0/1 errors. Appendix, "Proxy-Lagrangian".

    theta± ← theta± + eta (±d - tol) with d from 0/1 errors; l± = B exp(theta±) / (1 + exp(theta⁺) + exp(theta⁻)).

    Parameters
    ----------
    eta : float or schedule
        Dual step size.
    B : float
        Bound on the multipliers.
    """

    eta: float | Schedule = 0.3
    B: float = 1.0

    name: ClassVar[str] = "proxy-lagrangian"
    summary: ClassVar[str] = "the Lagrangian with bounded multipliers, moved by 0/1 errors"
    traits: ClassVar[Traits] = Traits(strict_dual=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.B > 0:
            raise InputError(f"The 'B' of ProxyLagrangian must be positive. Got {self.B!r}.")

    def multiplier(self, dual: Dual) -> Array:
        """l⁺ - l⁻, from theta."""
        xp = namespace(dual.value)
        top = xp.max(dual.value, axis=0).clip(0.0, None)  # exp of what is left cannot overflow
        rise = xp.exp(dual.value - top)
        return self.B * (rise[0] - rise[1]) / (xp.exp(-top) + rise[0] + rise[1])

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """theta± + eta (±d - tol)."""
        move = step_size(self.eta, dual.t) * _both_sides(moments.gap, dual.tol)
        return replace(dual, value=dual.value + move)


def _both_sides(gap: Array, tol: float) -> Array:
    """D - tol and -d - tol, stacked."""
    return namespace(gap).stack([gap - tol, -gap - tol])
