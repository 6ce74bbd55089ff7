"""Torch's global random numbers, from a seed and for one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_ONE = threading.RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within the block torch draws from this seed; after it, as if nothing had been drawn.

    Torch has one global source for all threads. So that threads get the same numbers as one after the other, only one
    is within the block at a time.

    >>> with seeded(0):
    ...     first = torch.rand(1)
    >>> with seeded(0):
    ...     torch.equal(torch.rand(1), first)
    True
    """
    with _ONE, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
