"""Nets on tables, in one process or under torchrun."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from fairalm.constraints import Constraint
from fairalm.datasets import preprocess
from fairalm.exceptions import InputError
from fairalm.methods import Unconstrained
from fairalm.runs.fits import Fit, timed
from fairalm.runs.samples import Samples
from fairalm.runs.settings import Settings

EPOCHS, BATCH_SIZE = 30, 256
LOST_CONNECTION = re.compile("gloo|nccl|connection|socket|timed out", re.IGNORECASE)  # in torch's messages


def fit_nets(
    samples: Samples, constraint: Constraint, settings: Settings, checkpoint: Path | None, resume: bool, progress: bool
) -> list[Fit]:
    """The fair and the plain net, each with its checkpoints in a folder of `checkpoint`."""
    from fairalm.nn import NetClassifier

    fits, groups = [], samples.group_names
    for part, method in (("fair", settings.make_method()), ("plain", Unconstrained())):
        net = NetClassifier(
            constraint=constraint,
            method=method,
            transformer=preprocess(samples.X),
            epochs=settings.epochs or EPOCHS,
            batch_size=settings.batch_size or BATCH_SIZE,
            device=settings.device,
            dual_signal=settings.dual_signal,  # type: ignore[arg-type]  # checked in Settings
            folder=checkpoint and checkpoint / part,
            resume=resume,
            random_state=settings.seed,
            verbose=progress,
        )
        fits.append(timed(lambda net=net: net.fit(samples.X, samples.labels, sensitive_features=groups)))  # type: ignore[misc]
        net.set_params(verbose=False, folder=None, resume=False)
    return fits


@contextmanager
def torchrun(settings: Settings) -> Iterator[bool]:
    """Join the other processes if torchrun started this one; whether this process is the one that writes and prints."""
    processes = os.environ.get("WORLD_SIZE", "1")
    if not processes.isdigit():
        raise InputError(f"The environment variable WORLD_SIZE, which torchrun sets, is {processes!r}: unset it.")
    if int(processes) == 1:
        yield True
        return
    if not settings.in_batches or settings.reads_images:
        raise InputError("Under torchrun only {estimator} can be trained: start it without torchrun.", estimator="mlp")
    import fairalm.nn  # noqa: F401  # without torch, an error that says what to install

    import torch  # isort: skip
    from torch import distributed

    on_cuda = settings.device == "cuda" and torch.cuda.is_available()
    if on_cuda:  # each process has its own
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    is_first = os.environ["RANK"] == "0"
    if not is_first:
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # till the process ends
    signal.signal(signal.SIGTERM, _another_ended)  # which torchrun sends when another process has failed
    distributed.init_process_group("nccl" if on_cuda else "gloo")
    try:
        yield is_first
        distributed.barrier()  # a process that leaves early takes its connections with it
    except RuntimeError as error:
        if not LOST_CONNECTION.search(str(error)):
            raise
        _another_ended()
    finally:
        distributed.destroy_process_group()


def _another_ended(*_: Any) -> NoReturn:
    raise InputError(
        "Another process of torchrun has ended, so training has stopped: start the same command with {resume} to go on"
        " from the last checkpoint.",
        resume=True,
    ) from None
