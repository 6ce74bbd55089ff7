"""Sums over the ranks of a distributed run; without one, what came goes back."""

from __future__ import annotations

import torch
from torch import distributed

from fairalm.moments import Array


def n_ranks() -> int:
    """How many processes train together."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


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
