"""The checkpoint of a run: what it holds, how it is written and read, and which runs may resume from it."""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

from fairalm.exceptions import InputError
from fairalm.files import write_atomic
from fairalm.nn.batches import Batches, random_state, set_random_state
from fairalm.nn.distributed import gather_from_ranks, rank
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.surrogates import SURROGATES
from fairalm.nn.tally import Tally

SCHEMA = 1  # of checkpoint.pt
CHECKPOINT, WHAT = "checkpoint.pt", "a checkpoint of a Trainer"
UNREADABLE: tuple[type[Exception], ...] = (
    RuntimeError,
    OSError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
)
UNREADABLE += (NotImplementedError, BadZipFile, pickle.UnpicklingError)


@dataclass
class Progress:
    """How far a run has come."""

    tally: Tally  # of the current epoch
    step: int = 0  # optimiser steps so far
    rows: list[dict[str, Any]] = field(default_factory=list)  # the history, one row per finished epoch


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint file of one run; without a folder, nothing is written."""

    folder: Path | None
    config: dict[str, str]  # settings that a resumed run must share, from `describe`
    parts: dict[str, Any]  # model, optimizer, ...: None, or an object with a ``state_dict``
    loaders: dict[str, Batches]

    def save(self, progress: Progress) -> None:
        """Replace the file; after an error the old one is still there."""
        if self.folder is None:
            return
        own = {
            "random": random_state(self._generators()),
            "loaders": {name: batches.state_dict() for name, batches in self.loaders.items()},
            "tally": {"counts": progress.tally.counts, "loss": progress.tally.loss},
        }
        ranks = gather_from_ranks(own)
        if rank() == 0:
            content = {"schema": SCHEMA, "config": self.config, "step": progress.step, "history": progress.rows}
            content |= {name: None if part is None else part.state_dict() for name, part in self.parts.items()}
            write_atomic(self.folder / CHECKPOINT, to_bytes({**content, "ranks": ranks}))

    def find(self, epochs: int, *, resume: bool) -> dict[str, Any] | None:
        """Content to resume from, if any; a folder that cannot be used is refused before anything is changed."""
        if self.folder is None:
            if resume:
                raise InputError("`resume` needs the folder of the run: pass {folder} to the Trainer.", folder=None)
            return None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be the run's folder ({error.strerror}): choose another.") from error
        if not (self.folder / CHECKPOINT).exists():
            return None
        check_resume(self.folder, resume)
        saved = read_checkpoint(self.folder)
        check_settings(f"the checkpoint of {self.folder}", saved["config"], self.config)
        n_done = len(saved["history"])
        if n_done > epochs:
            raise InputError(
                f"{self.folder} has {n_done} finished epochs: `epochs` must be at least that; got {epochs}."
            )
        for partial in self.folder.glob(f".{CHECKPOINT}.*") if rank() == 0 else ():
            partial.unlink()  # left by a run that was killed while it wrote
        return saved

    def restore(self, saved: dict[str, Any], progress: Progress) -> None:
        """Put everything back to where it was when the checkpoint was written."""
        assert self.folder is not None
        with reading(self.folder / CHECKPOINT, WHAT):
            self._restore(saved, progress)

    def _restore(self, saved: dict[str, Any], progress: Progress) -> None:
        progress.step, progress.rows = int(saved["step"]), saved["history"]
        for name, part in self.parts.items():
            if part is not None:
                part.load_state_dict(saved[name])
            if isinstance(part, LRScheduler):
                part.optimizer._opt_called = progress.step > 0  # type: ignore[attr-defined]  # else torch warns of a wrong order
        own = saved["ranks"][rank()]
        progress.tally.counts.copy_(own["tally"]["counts"])
        progress.tally.loss.copy_(own["tally"]["loss"])
        for name, batches in self.loaders.items():
            batches.load_state_dict(own["loaders"][name])
        set_random_state(own["random"], self._generators())

    def _generators(self) -> list[torch.Generator]:
        return [generator for batches in self.loaders.values() for generator in batches.generators]


def to_bytes(content: dict[str, Any]) -> bytes:
    """What ``torch.save`` would write."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Turn the errors of a block that reads a file of torch's into one that names the file."""
    try:
        yield
    except InputError:
        raise
    except UNREADABLE as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(f"{path} cannot be read as {what} ({reason}).") from error


def load_tensors(path: Path, what: str) -> dict[str, Any]:
    """Read what :func:`to_bytes` made, on the CPU and without running code from it; damaged bytes are refused."""
    with reading(path, what):
        with ZipFile(path) as archive:  # torch does not compare the checksums that its files have
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"{damaged} is damaged")
        content = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
            raise TypeError("it has no names")
        return content


def read_checkpoint(folder: Path) -> dict[str, Any]:
    """Read the folder's checkpoint, on the CPU and without running code from it."""
    path = folder / CHECKPOINT
    content = load_tensors(path, WHAT)
    with reading(path, WHAT):
        if content["schema"] != SCHEMA:
            raise InputError(f"{path} has schema {content['schema']}, not {SCHEMA}: use the fairalm that wrote it.")
        rows = content["history"]
        if not (isinstance(content["config"], dict) and isinstance(rows, list)):
            raise TypeError("it has no settings or no history")
        if not all(isinstance(row, dict) for row in rows):
            raise TypeError("its history has no columns")
        return content


def check_resume(folder: Path, resume: bool) -> None:
    """Refuse a folder that holds a run, unless that run is to be resumed."""
    if not resume:
        text = f"{folder} holds a run already: pass {{resume}} to continue it, or choose another folder."
        raise InputError(text, resume=True)


def check_settings(where: str, saved: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse to resume with other settings; the message names the first difference."""
    for key in [*saved, *now]:
        then, here = (settings.get(key, "absent") for settings in (saved, now))
        if then != here:
            different = f"{key} is {then} in {where} and {here} here"
            raise InputError(f"{different}: use the settings of that run, or choose another folder.")


def describe(
    net: nn.Module, optimizer: torch.optim.Optimizer, criterion: ConstrainedLoss, **more: Any
) -> dict[str, str]:
    """Settings that a resumed run must share, as text; learning rates too, since the checkpoint's would win."""
    settings: dict[str, Any] = dict(more)
    for name in ("loss", "constraint", "method", "n_groups", "window", "dual_from"):
        settings[f"criterion.{name}"] = getattr(criterion, name)
    surrogates = [name for name, surrogate in SURROGATES.items() if surrogate is criterion.surrogate]
    settings["criterion.surrogate"] = ", ".join(surrogates)
    settings["optimizer"] = type(optimizer).__name__
    settings["optimizer.groups"] = [len(group["params"]) for group in optimizer.param_groups]
    settings |= {f"optimizer.{name}": value for name, value in optimizer.defaults.items()}
    settings |= {f"model.{name}": tuple(value.shape) for name, value in net.named_parameters()}
    return {name: without_address(value) for name, value in settings.items()}


def without_address(value: Any) -> str:
    """A setting as text, without the memory address that differs from run to run."""
    return re.sub(" at 0x[0-9a-fA-F]+", "", str(value))
