"""The dual step and the logs of a constrained loss under Lightning's Trainer."""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError as error:  # pragma: no cover
    raise ImportError('fairalm.nn.lightning needs Lightning: pip install "fairalm[lightning]".') from error

from fairalm.exceptions import InputError
from fairalm.nn.loss import ConstrainedLoss, log_values


class DualStepCallback(Callback):
    """Takes the dual step of every `ConstrainedLoss` in the module after each optimiser step, and logs the losses.

    The module keeps the loss as an attribute and returns ``self.criterion(logits, y, group)`` from `training_step`.
    One dual step follows each step of the optimiser, however many batches it accumulates; a step that a gradient scaler
    skips has none. Do not call ``criterion.attach`` as well. Checkpoints hold the multipliers, since the loss is part
    of the module.

    Logged at every batch under the attribute's name: ``criterion/loss``, ``criterion/gap``, ``criterion/dual`` and
    ``criterion/lagrangian``; gaps and multipliers are numbered if there are several. A loss with
    ``dual_from="observe"`` is logged; call its `observe` and `step` yourself.

    Examples
    --------
    >>> from lightning.pytorch import Trainer
    >>> trainer = Trainer(callbacks=[DualStepCallback()], logger=False, enable_checkpointing=False)
    >>> # trainer.fit(module, loader)
    """

    def __init__(self) -> None:
        self._criteria: dict[str, ConstrainedLoss] = {}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Attach the losses to the optimiser."""
        found = {name: part for name, part in pl_module.named_modules() if isinstance(part, ConstrainedLoss)}
        module, n = type(pl_module).__name__, len(trainer.optimizers)
        if not found:
            advice = "set one as an attribute, self.criterion = ConstrainedLoss(...)"
            raise InputError(f"{module} has no ConstrainedLoss: {advice}.")
        if n != 1:
            advice = "leave it out and call criterion.attach(optimizer) in configure_optimizers"
            raise InputError(f"{module} has {n} optimisers, and the callback follows one: {advice}.")
        for part in found.values():
            if part.dual_from == "forward":
                part.attach(trainer.optimizers[0])
        self._criteria = found

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log."""
        for name, criterion in self._criteria.items():
            pl_module.log_dict({f"{name}/{key}": value for key, value in log_values(criterion).items()})
