"""The adversarial baseline in the training loop."""

from __future__ import annotations

from typing import Any

from fairalm.nn.adversarial import Adversarial
from fairalm.nn.trainer import Trainer


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
