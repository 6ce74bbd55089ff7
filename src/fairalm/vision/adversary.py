"""The settings of the adversarial baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairalm.constraints import Constraint
from fairalm.nn import Adversarial


@dataclass(frozen=True)
class Adversary:
    """Adversarial debiasing, chosen where a `Method` is. It trains a second network, so it is not a `Method` itself.

    Parameters
    ----------
    alpha : float
        Weight of the adversary's gradient.
    lr : float
        Learning rate of the adversary.
    """

    alpha: float = 1.0
    lr: float = 0.1
    name: ClassVar[str] = "adversarial"

    def make(self, constraint: Constraint, n_groups: int) -> Adversarial:
        """The adversary of one run, for the `backward` of a :class:`fairalm.nn.Trainer`."""
        return Adversarial(constraint, n_groups=n_groups, alpha=self.alpha, lr=self.lr)
