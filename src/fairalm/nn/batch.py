"""The rows of a batch as the sums see them, and what can be wrong with a batch."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairalm.exceptions import InputError
from fairalm.moments import Array

INTEGERS = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}


class Rows(NamedTuple):
    """A batch, one number per row: numpy's on the host, else tensors.

    Parameters
    ----------
    margin : array
        The target's lead.
    labels, positive : array
        The labels, and whether they are the target.
    code : int array
        ``2 * group + positive``: which label × group.
    """

    margin: Array
    labels: Array
    positive: Array
    code: Array

    @classmethod
    def of(cls, margin: Tensor, y: Tensor, group: Tensor, *, target: int, host: bool) -> Rows:
        """Lay a batch out."""
        margins: Array = margin.detach()
        labels: Array = y if y.ndim == 1 else y.reshape(-1)
        groups: Array = group
        if host:  # numpy has no bfloat16
            margins, groups = margins.numpy(), groups.numpy()
            labels = (labels.float() if labels.dtype == torch.bfloat16 else labels).numpy()
        positive = labels == target
        return cls(margins, labels, positive, 2 * groups + positive)

    @property
    def wrong(self) -> Array:
        """0/1 errors."""
        differs = self.positive != (self.margin > 0)
        return differs if isinstance(differs, np.ndarray) else differs.to(self.margin.dtype)

    def check(self, classes: int, n_groups: int) -> None:
        """Refuse NaN, and groups and labels out of range."""
        if math.isnan(self.margin @ self.margin):
            n = int((self.margin != self.margin).sum())
            raise InputError(f"logits has {n} NaN: the net has diverged, or its input has NaN.")
        lowest, highest = int(self.code.min()) // 2, int(self.code.max()) // 2
        if lowest < 0 or highest >= n_groups:
            raise InputError(f"group must lie in 0..{n_groups - 1} (n_groups={n_groups}); got {lowest}..{highest}.")
        labels = self.labels
        if not ((labels >= 0) & (labels < classes) & (labels == labels // 1)).all():
            raise InputError(
                f"y must hold the classes 0..{classes - 1}; got {float(labels.min()):g}..{float(labels.max()):g}."
            )

    def looks_fine(self, target: int) -> bool:
        """A quick look on the host that passes nothing :meth:`check` would refuse but groups, which summing finds."""
        labels, margin = self.labels, self.margin
        if target != 1 or labels.dtype.kind != "f":
            return False
        # squares add up to the number of ones only if all others are 0
        return bool(labels.dot(labels) == np.count_nonzero(self.positive)) and not math.isnan(margin.dot(margin))


def check_shapes(logits: Tensor, y: Tensor, group: Tensor, n_groups: int) -> int:
    """Refuse what does not fit together; the number of classes."""
    shape = logits.shape
    if shape == group.shape == y.shape and len(shape) == 1 and shape[0] and group.dtype == torch.int64:
        return 2  # by far the most frequent
    n = group.shape[0] if group.ndim == 1 else -1
    if len(shape) not in (1, 2) or shape[0] == 0:
        raise InputError(f"logits must have shape (n,) or (n, classes), n > 0; got {tuple(shape)}.")
    if shape[0] != n or y.numel() != n:
        raise InputError(
            f"logits has {shape[0]} rows, y {tuple(y.shape)}, group {tuple(group.shape)}: pass one label and one group"
            " per row."
        )
    if group.dtype not in INTEGERS:
        raise InputError(f"group must hold integers 0..{n_groups - 1}; got {group.dtype}.")
    return shape[1] if len(shape) == 2 and shape[1] > 1 else 2
