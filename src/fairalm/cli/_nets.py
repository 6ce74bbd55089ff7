"""Training a net from the command line, in one process or under torchrun."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.methods import Method

LAST_LAYER = "last-layer"
#: name -> words; the estimators for pictures
PICTURES: dict[str, str] = {
    LAST_LAYER: 'pictures: a fair last layer on a net trained on ImageNet, in minutes; needs "fairalm[vision]"',
    "relu3": "pictures: the paper's net of three fully connected layers, for small ones",
    "resnet18": "pictures: ResNet-18",
    "efficientnet-lite0": "pictures: EfficientNet-Lite0, from its ImageNet weights",
}
#: name -> words; what only fairalm train can train
NETS: dict[str, str] = {
    "mlp": 'net with two hidden layers of 64, trained by steps; needs "fairalm[torch]"',
    **PICTURES,
}
EPOCHS, BATCH_SIZE = 30, 256
ADVERSARIAL = "adversarial"  # a rule of nets for pictures; it is no Method


@contextmanager
def processes(is_net: bool, device: str | None) -> Iterator[bool]:
    """Join the other processes if torchrun started us; whether this is the one that writes and speaks."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield True
        return
    if not is_net:
        raise InputError("Under torchrun only --estimator mlp can be trained: start it without torchrun.")
    _import()
    import torch
    from torch import distributed

    on_cuda = device == "cuda" and torch.cuda.is_available()
    if on_cuda:  # each process its own
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    is_first = os.environ["RANK"] == "0"
    if not is_first:
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # till the process ends
    distributed.init_process_group("nccl" if on_cuda else "gloo")
    try:
        yield is_first
        distributed.barrier()  # a rank that leaves early takes its connections with it
    finally:
        distributed.destroy_process_group()


class Nets:
    """Makes the fair and the plain net of one run, whose checkpoints stand beside it until both are done.

    Parameters
    ----------
    out : path
        The run's folder to be; checkpoints go to the same name with ``.checkpoint`` at its end.
    resume : bool
        Go on from them. Without it, they must not be there.
    settings
        Further arguments of :class:`fairalm.nn.NetClassifier`.
    """

    def __init__(self, out: Path, *, resume: bool, **settings: Any) -> None:
        _import()
        self.folder = out.with_name(f"{out.name}.checkpoint")
        if not resume and self.folder.exists():
            raise InputError(
                f"{self.folder} is left from a run that did not end: pass --resume to go on with it, or delete it."
            )
        self.resume, self.settings = resume, {**settings, "resume": resume}

    def make(self, part: str, constraint: Constraint, method: Method) -> Any:
        """A net to fit, with its checkpoints under the name of its part in the run."""
        from fairalm.nn import NetClassifier

        return NetClassifier(constraint=constraint, method=method, folder=self.folder / part, **self.settings)

    def forget(self) -> None:
        """Delete the checkpoints: the run is written."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _import() -> None:
    import fairalm.nn  # noqa: F401  # without torch, an error that says what to install
