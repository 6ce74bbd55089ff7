"""A constrained loss under the Trainer of Hugging Face's transformers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

try:
    from transformers import Trainer, TrainerCallback
    from transformers.trainer_utils import get_last_checkpoint
except ImportError as error:  # pragma: no cover
    raise ImportError('fairalm.nn.huggingface needs transformers: pip install "fairalm[huggingface]".') from error

from fairalm.exceptions import InputError
from fairalm.files import write_atomic
from fairalm.nn.checkpoint import load_tensors, to_bytes
from fairalm.nn.loss import ConstrainedLoss, log_values

STATE = "constrained_loss.pt"


class ConstrainedTrainer(Trainer):
    """The `Trainer` of transformers with a `ConstrainedLoss`: one more argument, and one more column in the data.

    Every row has a column ``group`` beside ``labels``: an integer 0..n_groups-1, which the model never sees.
    `compute_metrics` gets both, as ``label_ids = (labels, group)``. One dual step follows each step of the optimiser,
    however many batches it accumulates. Checkpoints hold the multipliers in ``constrained_loss.pt``, and
    ``train(resume_from_checkpoint=...)`` restores them; with `model_init`, every run starts from the multipliers that
    the loss had when it was passed.

    The logged ``loss`` and ``eval_loss`` are mean losses without the penalty; ``gap``, ``dual`` and ``lagrangian`` of
    the last batch are logged with the training loss, numbered if there are several.

    Parameters
    ----------
    *args, **kwargs
        As for `transformers.Trainer`, without `compute_loss_func`.
    criterion : ConstrainedLoss
        With ``dual_from="forward"``.

    Examples
    --------
    >>> import tempfile
    >>> from transformers import TrainingArguments
    >>> from fairalm import EqualOpportunity, FairALM
    >>> rows = [{"input": [i / 8, 1.0], "labels": i % 2, "group": i // 2 % 2} for i in range(8)]
    >>> loss = nn.CrossEntropyLoss(reduction="none")
    >>> criterion = ConstrainedLoss(loss, EqualOpportunity(), FairALM(eta=0.1), n_groups=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     settings = TrainingArguments(folder, max_steps=3, report_to="none", use_cpu=True, disable_tqdm=True)
    ...     trainer = ConstrainedTrainer(nn.Linear(2, 2), settings, train_dataset=rows, criterion=criterion)
    ...     _ = trainer.train()  # doctest: +ELLIPSIS
    {...}
    >>> criterion.t
    4
    """

    def __init__(self, *args: Any, criterion: ConstrainedLoss, **kwargs: Any) -> None:
        if not isinstance(criterion, ConstrainedLoss) or criterion.dual_from != "forward":
            raise InputError(f'`criterion` must be a ConstrainedLoss with dual_from="forward"; got {criterion!r}.')
        super().__init__(*args, **kwargs)
        if self.compute_loss_func is not None or self.args.label_smoothing_factor:
            unused = "`compute_loss_func` and `label_smoothing_factor` have no effect here"
            raise InputError(f"{unused}: leave them out, and change the loss of `criterion` instead.")
        self.criterion = criterion.to(self.args.device)
        self._start = copy.deepcopy(criterion.state_dict())
        self.label_names = ["labels", "group"]  # columns to keep and to pass to compute_metrics
        self.model_accepts_loss_kwargs = False  # the loss is a mean: divide it by the batches accumulated
        self.add_callback(_DualStep(criterion))

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """A scalar with the gradient of the criterion and the value of the mean loss."""
        _check_columns(inputs)
        seen = {name: value for name, value in inputs.items() if name not in self.label_names}
        outputs = model(**seen)
        logits = outputs if isinstance(outputs, Tensor) else outputs[0 if isinstance(outputs, tuple) else "logits"]
        self.criterion.train(model.training)
        scalar = self.criterion(logits, inputs["labels"], inputs["group"])
        loss = scalar + (log_values(self.criterion)["loss"] - scalar).detach()
        return (loss, {"loss": loss, "logits": logits}) if return_outputs else loss

    def prediction_step(self, model: nn.Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """As in the parent class; rows without labels need no group."""
        if inputs.get("labels") is None:
            inputs = {name: value for name, value in inputs.items() if name not in self.label_names}
        else:
            _check_columns(inputs)
        return super().prediction_step(model, inputs, *args, **kwargs)

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """As in the parent class; restores the multipliers of the checkpoint too."""
        find: Callable[[Any], str | None] = get_last_checkpoint  # untyped
        folder = find(self.args.output_dir) if resume_from_checkpoint is True else resume_from_checkpoint
        if self.model_init is not None:
            self.criterion.load_state_dict(self._start)
        if folder:
            path = Path(folder) / STATE
            if not path.is_file():
                raise InputError(f"{path} is missing: resume from a checkpoint that a ConstrainedTrainer wrote.")
            self.criterion.load_state_dict(load_tensors(path, "the state of a loss"))
        return super().train(resume_from_checkpoint, *args, **kwargs)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """As in the parent class; writes the multipliers beside the model."""
        super().save_model(output_dir, _internal_call)
        folder = output_dir or self.args.output_dir
        if folder and self.args.should_save:
            write_atomic(Path(folder) / STATE, to_bytes(self.criterion.state_dict()))

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """As in the parent class; logs gap, multiplier and Lagrangian beside the training loss."""
        if "loss" in logs:
            logs |= {name: value.item() for name, value in log_values(self.criterion).items() if name != "loss"}
        super().log(logs, *args, **kwargs)


class _DualStep(TrainerCallback):
    """The dual step after the optimiser's."""

    def __init__(self, criterion: ConstrainedLoss) -> None:
        self.criterion = criterion

    def on_optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        self.criterion.step()


def _check_columns(inputs: dict[str, Any]) -> None:
    for name in ("labels", "group"):
        if inputs.get(name) is None:
            raise InputError(f"The batch has no {name!r}, only {', '.join(inputs)}: add that column to the data set.")
