"""Step sizes over the rounds t = 1, 2, ...: a method's `eta` is a number or one of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairalm.exceptions import InputError

Schedule = Callable[[int], float]


@dataclass(frozen=True)
class Decay:
    """eta / t, Algorithm 1's dual step.

    >>> Decay(1.0)(4)
    0.25
    """

    eta: float

    def __call__(self, t: int) -> float:
        """The step of round t."""
        return self.eta / t


@dataclass(frozen=True)
class Growth:
    """Growth by 1 + eta_beta a round, as in the appendix for Algorithm 2 (eta_beta about 0.01).

    >>> Growth(1.0, eta_beta=0.5)(3)
    2.25
    """

    eta: float
    eta_beta: float

    def __call__(self, t: int) -> float:
        """The step of round t."""
        return self.eta * (1.0 + self.eta_beta) ** (t - 1)


def check_eta(owner: object, eta: float | Schedule, *, number_only: bool = False) -> None:
    """Refuse a step that is not positive, or a schedule where the method has one of its own."""
    if number_only and callable(eta):
        raise InputError(f"The 'eta' of {type(owner).__name__} must be a number: the method has its own schedule.")
    value = eta(1) if callable(eta) else eta
    if not value > 0:
        raise InputError(f"The 'eta' of {type(owner).__name__} must be positive. Got {value!r}.")


def step_size(eta: float | Schedule, t: int) -> float:
    """The step of round t."""
    return eta(t) if callable(eta) else float(eta)
