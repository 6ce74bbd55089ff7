"""The adversarial baseline as a rule by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairalm.constraints import Constraint
from fairalm.nn import Adversarial


@dataclass(frozen=True)
class Adversary:
    """Adversarial debiasing as a rule by name; it trains a second network, so it is no `Method`.

    Parameters
    ----------
    alpha : float
        How hard the net works against the adversary.
    lr : float
        Step of the adversary's own optimiser.

    Examples
    --------
    >>> Adversary().name
    'adversarial'
    """

    alpha: float = 1.0
    lr: float = 0.1
    name: ClassVar[str] = "adversarial"

    def make(self, constraint: Constraint, n_groups: int) -> Adversarial:
        """The adversary of one run."""
        return Adversarial(constraint, n_groups=n_groups, alpha=self.alpha, lr=self.lr)
