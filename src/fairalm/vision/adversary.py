"""The settings of the adversarial baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairalm.constraints import Constraint
from fairalm.nn import Adversarial


@dataclass(frozen=True)
class Adversary:
    """Adversarial debiasing, chosen where a `Method` is. It trains a second network, so it is not a `Method` itself."""

    alpha: float = 1.0  # weight of the adversary's gradient
    lr: float = 0.1  # learning rate of the adversary
    name: ClassVar[str] = "adversarial"

    def make(self, constraint: Constraint, n_groups: int) -> Adversarial:
        """The adversary of one run, for the `backward` of a :class:`fairalm.nn.Trainer`."""
        return Adversarial(constraint, n_groups=n_groups, alpha=self.alpha, lr=self.lr)
