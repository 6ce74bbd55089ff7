"""Work on several processes of this machine, which end with the process that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker as multiprocessing_tracker
from typing import Any

from joblib import parallel_config
from joblib.externals.loky.backend import resource_tracker as loky_tracker
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel

PR_SET_PDEATHSIG = 1  # of Linux's prctl: the signal to get when the parent ends
LOOK_EVERY = 0.5  # seconds, where there is no such signal


def run_jobs(jobs: Iterable[Any], n_jobs: int | None, *, ordered: bool = True) -> Iterator[Any]:
    """The results of jobs made with ``sklearn.utils.parallel.delayed``, as they are ready or in the order of the jobs.

    Processes are joblib's own or, within ``joblib.parallel_config``, those of its backend. Joblib's own do not see
    Ctrl-C, which this process handles, and they end when this process does, even if it is killed.
    """
    made: Any = {"return_as": "generator" if ordered else "generator_unordered"}
    backend, _ = get_active_backend()
    if type(backend).__name__ != "LokyBackend":
        yield from Parallel(n_jobs=n_jobs, **made)(jobs)
        return
    given = {"initializer": end_with, "initargs": (os.getpid(),), **backend.backend_kwargs}
    threads = backend.inner_max_num_threads
    with parallel_config("loky", inner_max_num_threads=threads, **given), _without_interrupts():
        results = Parallel(n_jobs=n_jobs, **made)(jobs)  # starts the processes, which inherit what they do not see
    yield from results


def end_with(parent: int) -> None:
    """Have this process end when its parent does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it had ended before
            os._exit(1)
    elif os.name == "posix":
        threading.Thread(target=_end_after, args=[parent], daemon=True).start()


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os._exit(1)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes that are started within the block do not see Ctrl-C; this one sees it when the block ends."""
    if os.name != "posix":
        yield
        return
    _start_trackers()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_trackers() -> None:
    """Start the processes that remove what others leave: the start of Python's own would end the block for Ctrl-C.

    They warn of what they remove after an interrupt, which is no news.
    """
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")  # passed on to them
    try:
        for tracker in (loky_tracker, multiprocessing_tracker):
            tracker.ensure_running()
    finally:
        sys.warnoptions.pop()
