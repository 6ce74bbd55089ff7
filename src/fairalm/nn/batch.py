"""The rows of a batch as the sums see them, and what can be wrong with a batch."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairalm.exceptions import InputError
from fairalm.moments import Array, namespace
from fairalm.nn.surrogates import Surrogate


class Rows(NamedTuple):
    """A batch, one number per row: numpy's on the host, else tensors.

    Parameters
    ----------
    margin : array
        The target's lead.
    loss, slope : array
        The surrogate, and its derivative by the margin.
    labels, positive : array
        The labels, and whether they are the target.
    code : int array
        ``2 * group + positive``: which label × group.
    """

    margin: Array
    loss: Array
    slope: Array
    labels: Array
    positive: Array
    code: Array

    @classmethod
    def of(cls, margin: Tensor, y: Tensor, group: Tensor, *, target: int, surrogate: Surrogate, host: bool) -> Rows:
        """Lay a batch out."""
        margins, labels, groups = margin.detach(), y.detach(), group
        if host:  # numpy has no bfloat16
            margins, groups = margins.numpy(), groups.numpy()
            labels = (labels.float() if labels.dtype == torch.bfloat16 else labels).numpy()
        labels = labels.reshape(-1)
        positive = labels == target
        away = 1.0 - 2.0 * namespace(margins).astype(positive, margins.dtype)
        loss, slope = surrogate(away * margins)
        return cls(margins, loss, away * slope, labels, positive, 2 * groups + positive)

    @property
    def wrong(self) -> Array:
        """0/1 errors."""
        return 1.0 * (self.positive != (self.margin > 0))

    def check(self, classes: int, n_groups: int) -> None:
        """Refuse NaN, and groups and labels out of range."""
        if math.isnan(self.margin @ self.margin):
            n = int((self.margin != self.margin).sum())
            raise InputError(f"logits has {n} NaN: the net has diverged, or its input has NaN.")
        lowest, highest = int(self.code.min()), int(self.code.max())
        if lowest < 0 or highest >= 2 * n_groups:
            raise InputError(
                f"group must lie in 0..{n_groups - 1} (n_groups={n_groups}); got {lowest // 2}..{highest // 2}."
            )
        if isinstance(self.labels, np.ndarray) and self.labels @ self.labels == np.count_nonzero(self.labels == 1):
            return  # every label but the 1s is a 0
        known = (self.labels >= 0) & (self.labels < classes) & (self.labels == self.labels // 1)
        if not known.all():
            raise InputError(
                f"y must hold the classes 0..{classes - 1}; got"
                f" {float(self.labels.min()):g}..{float(self.labels.max()):g}."
            )


def check_shapes(logits: Tensor, y: Tensor, group: Tensor, n_groups: int) -> int:
    """Refuse what does not fit together; the number of classes."""
    shape, n = logits.shape, group.shape[0] if group.ndim == 1 else -1
    if len(shape) not in (1, 2) or shape[0] == 0:
        raise InputError(f"logits must have shape (n,) or (n, classes), n > 0; got {tuple(shape)}.")
    if shape[0] != n or y.numel() != n:
        raise InputError(
            f"logits has {shape[0]} rows, y {tuple(y.shape)}, group {tuple(group.shape)}: pass one label and one group"
            " per row."
        )
    if group.is_floating_point() or group.dtype == torch.bool:
        raise InputError(f"group must hold integers 0..{n_groups - 1}; got {group.dtype}.")
    return shape[1] if len(shape) == 2 and shape[1] > 1 else 2
