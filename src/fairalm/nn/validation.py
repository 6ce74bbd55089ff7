"""One batch through a net, and a whole pass over validation data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.utils.data.distributed import DistributedSampler

from fairalm.exceptions import InputError
from fairalm.nn.batches import Batches, random_state, set_random_state
from fairalm.nn.distributed import n_ranks
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.modes import evaluating
from fairalm.nn.tally import Tally


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
