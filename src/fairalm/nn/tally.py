"""One batch through a net, and the rows of many counted by group, label and prediction: the measures of an epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.utils.data.distributed import DistributedSampler

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.measures import GroupRates, measure_of
from fairalm.nn.batches import Batches, random_state, set_random_state
from fairalm.nn.distributed import n_ranks, sum_over_ranks
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.modes import evaluating
from fairalm.nn.surrogates import target_margin


@dataclass
class Tally:
    """Counts and the summed loss, kept on the device of the batches so that adding one does not wait for it.

    >>> from fairalm import EqualOpportunity
    >>> tally = Tally.empty(2, target=1, device="cpu")
    >>> logits, y, group = torch.tensor([2.0, -1.0, 1.0]), torch.tensor([1, 1, 0]), torch.tensor([0, 1, 1])
    >>> tally.add(logits, y, group, torch.tensor(0.5))
    >>> tally.measures(EqualOpportunity(), train=True)
    {'loss': 0.5, 'error': 0.6666666666666666, 'deo': 1.0}
    """

    counts: Tensor  # of rows, by group, then label, then prediction (target or not): shape (4 * groups,)
    loss: Tensor  # their summed loss
    target: int  # the class whose errors count

    @classmethod
    def empty(cls, n_groups: int, *, target: int, device: torch.device | str) -> Tally:
        """A tally without rows."""
        counts = torch.zeros(4 * n_groups, dtype=torch.long, device=device)
        return cls(counts, torch.zeros((), device=device), target)

    def add(self, logits: Tensor, y: Tensor, group: Tensor, mean_loss: Tensor) -> None:
        """Add a batch."""
        margin = target_margin(logits.detach(), self.target)
        cell = 4 * group.long() + 2 * (y.reshape(-1) == self.target) + (margin > 0)
        self.counts.index_add_(0, cell, torch.ones_like(cell))
        self.loss += mean_loss * len(group)

    def over_ranks(self) -> Tally:
        """The tally of all ranks together."""
        (counts,), (loss,) = sum_over_ranks(self.counts), sum_over_ranks(self.loss)
        return Tally(counts, loss, self.target)

    @property
    def selection(self) -> float:
        """Share of the rows that are predicted as the target."""
        return int(self.counts[1::2].sum()) / int(self.counts.sum())

    def measures(self, constraint: Constraint, *, train: bool = False) -> dict[str, float]:
        """The error and the constraint's gap; NaN where undefined.

        On training data the mean loss comes with them, on other data the ends of their intervals.
        """
        tn, fp, fn, tp = self.counts.cpu().numpy().reshape(-1, 4).T
        groups = tuple(str(code) for code in range(len(tp)))
        rates = GroupRates(groups, tp=tp, fp=fp, tn=tn, fn=fn, target=self.target)
        row: dict[str, Any] = {"loss": float(self.loss) / int(self.counts.sum())} if train else {}
        for which in ("error", constraint):
            measure = measure_of(which, rates, train=train)
            row[measure.name] = measure.value
            if not train:
                row |= {f"{measure.name}_low": measure.low, f"{measure.name}_high": measure.high}
        return {key: np.nan if value is None else float(value) for key, value in row.items()}


def run_batch(net: nn.Module, batch: Any, name: str, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, labels and groups of a batch of the loader `name`, on the device."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 3:
        got = f"{len(batch)} items" if isinstance(batch, (tuple, list)) else f"a {type(batch).__name__}"
        raise InputError(f"`{name}` must yield (x, y, group); got {got}.")
    for part, value in zip(("x", "y", "group"), batch, strict=True):
        if not hasattr(value, "to"):
            raise InputError(f"`{name}` must yield tensors; got a {type(value).__name__} for {part}.")
    x, y, group = (part.to(device) for part in batch)
    logits = net(x)
    if not isinstance(logits, Tensor):
        raise InputError(f"The model must return a tensor of logits; got a {type(logits).__name__}.")
    if logits.ndim == 2 and logits.shape[1] == 1 and y.ndim == 1:
        logits = logits[:, 0]
    return logits, y, group


def mean_loss(criterion: ConstrainedLoss) -> Tensor:
    """Mean loss over this rank's last batch; the criterion divides by the rows of all ranks."""
    assert criterion.last is not None
    return criterion.last.loss * n_ranks()


@torch.no_grad()
def validate(net: nn.Module, criterion: ConstrainedLoss, batches: Batches, device: torch.device) -> Tally:
    """Count right and wrong predictions on validation data; the random numbers of training are left as they were."""
    tally = Tally.empty(criterion.n_groups, target=criterion.target, device=device)
    for buffer in net.buffers() if n_ranks() > 1 else ():  # each rank has running statistics of its own
        distributed.broadcast(buffer, 0)
    before = random_state([])
    batches.open()
    with evaluating(net), evaluating(criterion):
        while taken := batches.take(1):
            logits, y, group = run_batch(net, taken[0], batches.name, device)
            criterion(logits, y, group)  # for its checks; in evaluation mode it keeps nothing
            tally.add(logits, y, group, mean_loss(criterion))
    batches.close()
    set_random_state(before, [])
    if bool(tally.loss.isnan()):
        raise InputError(f"The loss on `{batches.name}` is NaN: the net has diverged, or its input has NaN.")
    is_shared = isinstance(getattr(batches.loader, "sampler", None), DistributedSampler)
    return tally.over_ranks() if is_shared else tally
