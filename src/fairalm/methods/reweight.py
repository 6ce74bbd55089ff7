"""More weight for small cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairalm.arrays import Array
from fairalm.methods.base import Dual, Method, Traits
from fairalm.moments import Moments, namespace


@dataclass(frozen=True)
class Reweight(Method):
    """Penalty sum of eta_c mu_c, eta_c proportional to 1 / n_c and summing to one. Appendix, "Reweight".

    It balances losses, so it suits constraints whose mu is an error. Under demographic parity mu is a selection rate,
    and the penalty lowers that of everyone.
    """

    name: ClassVar[str] = "reweight"
    summary: ClassVar[str] = "more weight for small groups; does not look at the gap"
    traits: ClassVar[Traits] = Traits(has_dual=False)

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """1 / n_c over the sum of all 1 / n_c; 0 for an empty cell."""
        xp = namespace(moments.counts)
        present = moments.counts > 0
        inverse = xp.where(present, 1.0 / xp.where(present, moments.counts, xp.ones_like(moments.mu)), 0.0)
        total = xp.sum(inverse)
        return inverse / xp.where(total > 0, total, xp.ones_like(total))
