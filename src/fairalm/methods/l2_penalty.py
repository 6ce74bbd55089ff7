"""The squared gap as a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairalm.arrays import Array
from fairalm.methods.base import Dual, Method, Traits
from fairalm.moments import Moments
from fairalm.schedules import Schedule, check_eta, step_size


@dataclass(frozen=True)
class L2Penalty(Method):
    """Penalty eta |d|², so weights 2 eta C'd. Appendix, "l2 penalty".

    Parameters
    ----------
    eta : float or schedule
        The penalty parameter.
    """

    eta: float | Schedule = 0.1

    name: ClassVar[str] = "l2"
    summary: ClassVar[str] = "the squared gap as a penalty of fixed weight"
    traits: ClassVar[Traits] = Traits(has_dual=False)

    def __post_init__(self) -> None:
        check_eta(self, self.eta)

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """2 eta C'd."""
        return 2.0 * step_size(self.eta, dual.t) * moments.pull(moments.gap)
