"""Checks of settings, and a warning, that several entry points share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import nn

from fairalm.exceptions import InputError, ToleranceWarning


def check_count(name: str, value: Any, least: int) -> None:
    """Refuse what is not an integer of at least this size."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InputError(f"`{name}` must be an integer, {least} or more; got {value!r}.")


def check_positive(name: str, value: Any) -> None:
    """Refuse what is not a finite number above 0."""
    if not isinstance(value, (int, float, np.number)) or not 0 < value < float("inf"):
        raise InputError(f"`{name}` must be positive; got {value!r}.")


def usable_device(model: nn.Module | None, device: torch.device | str | None) -> torch.device:
    """The device asked for; if none is, that of the model, or the CPU. A device that is not there is an error."""
    if device is None:
        parameters = () if model is None else model.parameters()
        return next((parameter.device for parameter in parameters), torch.device("cpu"))
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError) as error:  # PyTorch built without CUDA asserts
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"There is no device {str(device)!r} here ({reason}): leave {{device}} out to use the CPU.", device=None
        ) from error


def warn_about_gap(gap: float, tol: float, epochs: int, *, stacklevel: int) -> None:
    """Warn if training ended with a gap above the tolerance."""
    if gap > tol:
        text = (
            f"The gap on the training data is {100 * gap:.1f} points after {epochs} epoch{'s' * (epochs != 1)}, above"
            f" the tolerance of {100 * tol:.1f}: more epochs ({{epochs}}) may close it, or the net's frontier"
            " (fairalm.nn.fit_frontier)."
        )
        warnings.warn(ToleranceWarning(text, epochs=None), stacklevel=stacklevel + 1)
