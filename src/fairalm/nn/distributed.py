"""Communication between the ranks of a distributed run. In a single process the inputs are returned unchanged."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed

from fairalm.arrays import Array

IS_AVAILABLE = distributed.is_available()


def n_ranks() -> int:
    """Number of processes that train together."""
    return distributed.get_world_size() if IS_AVAILABLE and distributed.is_initialized() else 1


def rank() -> int:
    """Number of this process; rank 0 writes the files."""
    return distributed.get_rank() if n_ranks() > 1 else 0


def sum_over_ranks(*arrays: Array) -> tuple[Array, ...]:
    """Each array summed over all ranks, by one all-reduce.

    Pass sums and counts, never rates: the mean of the ranks' rates is not the rate over all rows.
    """
    if n_ranks() == 1:
        return arrays
    tensors = [torch.as_tensor(array) for array in arrays]
    packed = torch.cat([tensor.flatten() for tensor in tensors])
    distributed.all_reduce(packed)
    parts = torch.split(packed, [tensor.numel() for tensor in tensors])
    sums = [part.view_as(tensor).to(tensor.dtype) for part, tensor in zip(parts, tensors, strict=True)]
    return tuple(
        part if isinstance(array, torch.Tensor) else part.numpy() for part, array in zip(sums, arrays, strict=True)
    )


def gather_from_ranks(value: Any) -> list[Any]:
    """The values of all ranks, on every rank."""
    values = [value] * n_ranks()
    if n_ranks() > 1:
        distributed.all_gather_object(values, value)
    return values


def wait_for_ranks() -> None:
    """Wait until all ranks have reached this call."""
    if n_ranks() > 1:
        distributed.barrier()
