"""Sums over the ranks of a distributed run; without one, what came goes back."""

from __future__ import annotations

import torch
from torch import Tensor, distributed


def n_ranks() -> int:
    """How many processes train together."""
    return distributed.get_world_size() if _is_on() else 1


def everyone(soft: Tensor, signal: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Cell sums and number of people over all ranks, by one all-reduce.

    Sums and counts, never rates: a mean of the ranks' rates is not the rate of all.
    """
    count = torch.full((1,), float(n), dtype=soft.dtype, device=soft.device)
    if not _is_on():
        return soft, signal, count[0]
    packed = torch.cat([soft.flatten(), signal.flatten(), count])
    distributed.all_reduce(packed)
    size = soft.numel()
    return packed[:size].view_as(soft), packed[size : 2 * size].view_as(signal), packed[-1]


def _is_on() -> bool:
    return distributed.is_available() and distributed.is_initialized()
