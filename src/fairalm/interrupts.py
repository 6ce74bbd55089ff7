"""Ctrl-C: a command ends with one line and exit code 130, whenever it comes; short steps are not torn apart by it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

INTERRUPTED = 130  # exit code
LINE = b"Interrupted.\n"
AGAIN = 0.01  # seconds after which an interrupt that was swallowed is repeated

_received = False  # whether Ctrl-C came since the command began


def run_command(find: Callable[[], Callable[[], Any]]) -> Any:
    """Import and run a command line; an interrupt outside of :func:`interruptible` ends the process at once.

    `find` does the imports. The interrupt is not turned into an exception while they run: compiled modules that are
    interrupted fail with another error.
    """
    import atexit

    signal.signal(signal.SIGINT, _end)
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # the first to register runs last: all is done
    return find()()


def _end(*_: Any) -> NoReturn:
    with suppress(OSError):
        os.write(2, LINE)
    os._exit(INTERRUPTED)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C within the block raises ``KeyboardInterrupt``; once the block has cleaned up, the process exits.

    Whatever else the interrupt leads to counts as interrupted too: another error of a library that it hit, or a
    destructor that swallowed it.
    """
    global _received
    if not is_main_thread():
        yield
        return
    _received = False
    before, hook = signal.signal(signal.SIGINT, _raise), sys.unraisablehook
    sys.unraisablehook = _after_unraisable(hook)
    try:
        yield
    except KeyboardInterrupt:
        _received = True
    except BaseException:
        if not _received:
            raise
    finally:
        after = signal.SIG_IGN if _received and before is _end else before  # ignored: the process is ending
        with suppress(KeyboardInterrupt):  # another one, just now
            signal.signal(signal.SIGINT, after)
        sys.unraisablehook = hook
    if _received:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.write(LINE.decode())
            sys.stderr.flush()
        raise SystemExit(INTERRUPTED)


def _raise(*_: Any) -> NoReturn:
    global _received
    _received = True
    raise KeyboardInterrupt


def _repeat() -> None:
    if signal.getsignal(signal.SIGINT) is _raise:  # the command still runs
        signal.raise_signal(signal.SIGINT)


def _after_unraisable(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def show(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            threading.Timer(AGAIN, _repeat).start()  # a destructor swallowed it
        else:
            hook(unraisable)

    return show


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C within the block takes effect when the block ends; for steps of milliseconds."""
    before = signal.getsignal(signal.SIGINT) if is_main_thread() else None
    if not callable(before):
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])


def is_main_thread() -> bool:
    """Whether this is the thread that signals reach."""
    return threading.current_thread() is threading.main_thread()
