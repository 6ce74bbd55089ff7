"""The adversarial baseline in the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairalm.constraints import Constraint
from fairalm.nn import Adversarial, Trainer


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


class AdversarialTrainer(Trainer):
    """A :class:`Trainer` whose primal step is :meth:`Adversarial.backward`.

    The adversary is a part of the criterion, so that checkpoints hold it; the criterion's own rule must be
    ``Unconstrained``.
    """

    def _primal_step(self, chunk: list[Any]) -> None:
        adversary = self.criterion.adversary
        assert isinstance(adversary, Adversarial)
        self.optimizer.zero_grad()
        for batch in chunk:
            logits, y, group = self._forward(self.model, batch, "train_loader")
            loss = self.criterion(logits, y, group) / len(chunk)
            adversary.backward(loss, logits, y, group, self.model.parameters())
            self._tally.add(logits, y, group, self._mean_loss())
        self.optimizer.step()
        self._step += 1
