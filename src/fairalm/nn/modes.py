"""Context managers: part of a net frozen, a net in evaluation mode, Ctrl-C delayed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from torch import nn

from fairalm.interrupts import is_main_thread


@contextmanager
def frozen(net: nn.Module, head: nn.Module) -> Iterator[None]:
    """Train the head alone: parameters and running statistics outside it do not change within the block.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    >>> with frozen(net, net[2]):
    ...     [part.requires_grad for part in net.parameters()], net[1].training
    ([False, False, False, False, True, True], False)
    """
    inside, parts = set(head.parameters()), set(head.modules())
    others = [part for part in net.parameters() if part.requires_grad and part not in inside]
    outside = [part for part in net.modules() if part.training and part not in parts]
    norms = [part for part in outside if getattr(part, "track_running_stats", False)]
    try:
        for parameter in others:
            parameter.requires_grad_(False)
        for norm in norms:
            norm.eval()
        yield
    finally:
        for parameter in others:
            parameter.requires_grad_(True)
        for norm in norms:
            norm.train()


@contextmanager
def evaluating(net: nn.Module) -> Iterator[None]:
    """Evaluation mode within the block."""
    training = [part for part in net.modules() if part.training]
    net.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


class DelayedInterrupt:
    """Delays the first Ctrl-C: it sets `is_requested`, and the block decides when to stop. A second one is not delayed.

    Only where Ctrl-C calls a handler of Python's: in the main thread, unless it is ignored.
    """

    def __init__(self, active: bool) -> None:
        self.is_requested = False
        self._before = signal.getsignal(signal.SIGINT) if active and is_main_thread() else None

    def __enter__(self) -> DelayedInterrupt:
        if callable(self._before):
            signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        if callable(self._before):
            signal.signal(signal.SIGINT, self._before)

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.is_requested = True
        signal.signal(signal.SIGINT, self._before)
