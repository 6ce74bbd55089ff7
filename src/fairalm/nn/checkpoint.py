"""The file that holds where a run stands, and what a run must share with it to go on."""

from __future__ import annotations

import io
import pickle
import re
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fairalm.exceptions import InputError
from fairalm.files import write_atomic
from fairalm.nn.distributed import rank
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.surrogates import SURROGATES

SCHEMA = 1  # of checkpoint.pt
CHECKPOINT = "checkpoint.pt"


def to_bytes(content: dict[str, Any]) -> bytes:
    """What ``torch.save`` would write."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def write_checkpoint(folder: Path, content: dict[str, Any]) -> None:
    """Replace the folder's checkpoint, or, after an error, leave the old one."""
    write_atomic(folder / CHECKPOINT, to_bytes({"schema": SCHEMA, **content}))


def read_checkpoint(folder: Path) -> dict[str, Any]:
    """Read the folder's checkpoint, on the CPU and without running code from it."""
    path = folder / CHECKPOINT
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        if content["schema"] != SCHEMA:
            raise InputError(f"{path} has schema {content['schema']}, not {SCHEMA}: use the fairalm that wrote it.")
    except (RuntimeError, OSError, EOFError, KeyError, TypeError, IndexError, pickle.UnpicklingError) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(f"{path} cannot be read as a checkpoint of a Trainer ({reason}).") from error
    return dict(content)


def find_checkpoint(folder: Path | None, config: dict[str, str], epochs: int, *, resume: bool) -> dict[str, Any] | None:
    """What to go on from; a folder that cannot be used is refused before anything is changed.

    Parameters
    ----------
    folder : path or None
        Of the run; made if it is not there.
    config : dict of str
        From :func:`describe`. Anything but what the checkpoint was made with is refused, by the first difference.
    epochs : int
        The checkpoint may not have more.
    resume : bool
        Without it, a folder with a checkpoint is refused.
    """
    if folder is None:
        if resume:
            raise InputError("`resume` needs the folder of the run: pass folder= to the Trainer.")
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be the run's folder ({error.strerror}): choose another.") from error
    if not (folder / CHECKPOINT).exists():
        return None
    if not resume:
        raise InputError(f"{folder} holds a run already: pass resume=True to go on, or choose another folder.")
    saved = read_checkpoint(folder)
    for key in [*saved["config"], *config]:
        then, now = (settings.get(key, "absent") for settings in (saved["config"], config))
        if then != now:
            raise InputError(
                f"{key} is {then} in the checkpoint of {folder} and {now} here: pass what the run had, or choose"
                " another folder."
            )
    done = len(saved["history"])
    if done > epochs:
        raise InputError(f"{folder} has {done} epochs done: `epochs` must be that or more; got {epochs}.")
    for part in folder.glob(f".{CHECKPOINT}.*") if rank() == 0 else ():
        part.unlink()  # a kill came while it was written
    return saved


def describe(
    net: nn.Module, optimizer: torch.optim.Optimizer, criterion: ConstrainedLoss, **more: Any
) -> dict[str, str]:
    """Settings that a run which goes on must share, as text; learning rates too, since the checkpoint's would win."""
    found: dict[str, Any] = dict(more)
    for name in ("loss", "constraint", "method", "n_groups", "window", "dual_from"):
        found[f"criterion.{name}"] = getattr(criterion, name)
    surrogates = [name for name, surrogate in SURROGATES.items() if surrogate is criterion.surrogate]
    found["criterion.surrogate"] = ", ".join(surrogates)
    found["optimizer"] = type(optimizer).__name__
    found["optimizer.groups"] = [len(group["params"]) for group in optimizer.param_groups]
    found |= {f"optimizer.{name}": value for name, value in optimizer.defaults.items()}
    found |= {f"model.{name}": tuple(value.shape) for name, value in net.named_parameters()}
    return {name: re.sub(" at 0x[0-9a-fA-F]+", "", str(value)) for name, value in found.items()}
