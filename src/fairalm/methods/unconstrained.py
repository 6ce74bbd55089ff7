"""No penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairalm.arrays import Array
from fairalm.methods.base import Dual, Method, Traits
from fairalm.moments import Moments


@dataclass(frozen=True)
class Unconstrained(Method):
    """The plain model: weights 0. Appendix, "Unconstrained"."""

    name: ClassVar[str] = "unconstrained"
    summary: ClassVar[str] = "the plain model"
    traits: ClassVar[Traits] = Traits(has_dual=False)

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """0."""
        return 0.0 * moments.mu
