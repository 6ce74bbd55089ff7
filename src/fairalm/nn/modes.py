"""States that hold for a block: part of a net frozen, a net in evaluation mode, Ctrl-C held back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

from torch import nn


@contextmanager
def frozen(net: nn.Module, head: nn.Module) -> Iterator[None]:
    """Train the head alone: parameters and running statistics outside it stay put; then the old flags are back.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    >>> with frozen(net, net[2]):
    ...     [part.requires_grad for part in net.parameters()], net[1].training
    ([False, False, False, False, True, True], False)
    """
    inside, parts = set(head.parameters()), set(head.modules())
    still = [part for part in net.parameters() if part.requires_grad and part not in inside]
    norms = [part for part in net.modules() if getattr(part, "track_running_stats", False) and part not in parts]
    norms = [part for part in norms if part.training]
    try:
        for parameter in still:
            parameter.requires_grad_(False)
        for norm in norms:
            norm.eval()
        yield
    finally:
        for parameter in still:
            parameter.requires_grad_(True)
        for norm in norms:
            norm.train()


@contextmanager
def evaluating(net: nn.Module) -> Iterator[None]:
    """Evaluation mode; then every part is back in the mode it had."""
    training = [part for part in net.modules() if part.training]
    net.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


class HeldInterrupt:
    """Holds the first Ctrl-C back until the block asks for it in `came`; the second one is not held.

    Only where Ctrl-C would raise ``KeyboardInterrupt``: in the main thread, with Python's own handler.
    """

    def __init__(self, active: bool) -> None:
        self.came = False
        is_main = threading.current_thread() is threading.main_thread()
        self._holds = active and is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def __enter__(self) -> HeldInterrupt:
        if self._holds:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._holds:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
