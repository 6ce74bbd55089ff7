"""What the ranks of a distributed run tell each other; without one, what came goes back."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed

from fairalm.moments import Array

IS_AVAILABLE = distributed.is_available()


def n_ranks() -> int:
    """How many processes train together."""
    return distributed.get_world_size() if IS_AVAILABLE and distributed.is_initialized() else 1


def everyone(soft: Array, signal: Array, ranks: int) -> tuple[Array, Array]:
    """Both sums over all ranks, by one all-reduce.

    Sums and counts, never rates: a mean of the ranks' rates is not the rate of all.
    """
    if ranks == 1:
        return soft, signal
    packed = torch.stack([torch.as_tensor(part) for part in ((soft, signal) if signal is not soft else (soft,))])
    distributed.all_reduce(packed)
    both = packed if isinstance(soft, torch.Tensor) else packed.numpy()
    return both[0], both[-1]


def rank() -> int:
    """The number of this process; 0 writes the files."""
    return distributed.get_rank() if n_ranks() > 1 else 0


def summed(tensor: Tensor) -> Tensor:
    """A copy, summed over the ranks."""
    total = tensor.clone()
    if n_ranks() > 1:
        distributed.all_reduce(total)
    return total


def gathered(value: Any) -> list[Any]:
    """The values of all ranks, on every rank."""
    values = [value] * n_ranks()
    if n_ranks() > 1:
        distributed.all_gather_object(values, value)
    return values


def wait() -> None:
    """Until all ranks are here."""
    if n_ranks() > 1:
        distributed.barrier()
