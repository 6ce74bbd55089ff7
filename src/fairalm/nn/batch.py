"""The rows of a batch by label and group, and what can be wrong with a batch."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairalm.arrays import Array
from fairalm.exceptions import InputError

INTEGERS = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}


class Batch(NamedTuple):
    """A batch, one number per row: numpy's on the host, else tensors."""

    margin: Array  # how far the target's logit leads
    labels: Array
    positive: Array  # which labels are the target
    code: Array  # group + n_groups * positive: which label and group
    n_groups: int

    @classmethod
    def of(cls, margin: Tensor, y: Tensor, group: Tensor, *, target: int, n_groups: int, host: bool) -> Batch:
        """Read margins, labels and groups."""
        margins: Array = margin.detach()
        labels: Array = y.reshape(-1)
        groups: Array = group
        if host:  # numpy has no bfloat16
            margins, groups = margins.numpy(), groups.numpy()
            labels = (labels.float() if labels.dtype == torch.bfloat16 else labels).numpy()
        positive = labels == target
        return cls(margins, labels, positive, groups + n_groups * positive, n_groups)

    @property
    def errors(self) -> Array:
        """0/1 errors."""
        differs = self.positive != (self.margin > 0)
        return differs if isinstance(differs, np.ndarray) else differs.to(self.margin.dtype)

    def sums(self, loss: Array) -> Array:
        """Rows and summed losses per label and group, shape (4, groups), see :mod:`fairalm.cells`."""
        size = 2 * self.n_groups
        if isinstance(loss, Tensor):  # on its device, without waiting for it
            both = torch.stack([torch.ones_like(loss), loss])
            return loss.new_zeros(2, size).index_add(1, self.code, both).view(4, -1)
        parts = [np.bincount(self.code, weights, size) for weights in (None, loss)]
        return np.concatenate(parts, dtype=np.float32, casting="same_kind").reshape(4, -1)

    def check(self, classes: int) -> None:
        """Refuse NaN, and groups and labels out of range."""
        if math.isnan(self.margin @ self.margin):
            n = int((self.margin != self.margin).sum())
            raise InputError(f"logits has {n} NaN: the net has diverged, or its input has NaN.")
        check_groups(self.code - self.n_groups * self.positive, self.n_groups)
        smallest, largest = float(self.labels.min()), float(self.labels.max())
        if smallest < 0 or largest >= classes or (self.labels % 1).any():
            raise InputError(f"y must hold the classes 0..{classes - 1}; got {smallest:g}..{largest:g}.")


def check_groups(group: Array, n_groups: int) -> None:
    """Refuse groups out of range."""
    low, high = int(group.min()), int(group.max())
    if low < 0 or high >= n_groups:
        raise InputError(f"group must lie in 0..{n_groups - 1} (n_groups={n_groups}); got {low}..{high}.")


def check_shapes(logits: Tensor, y: Tensor, group: Tensor, *, n_groups: int, target: int) -> int:
    """Refuse what does not fit together; returns the number of classes."""
    shape = logits.shape
    n = group.shape[0] if group.ndim == 1 else -1
    if len(shape) not in (1, 2) or shape[0] == 0:
        raise InputError(f"logits must have shape (n,) or (n, classes), n > 0; got {tuple(shape)}.")
    if shape[0] != n or y.numel() != n:
        sizes = f"logits has {shape[0]} rows, y {tuple(y.shape)}, group {tuple(group.shape)}"
        raise InputError(f"{sizes}: pass one label and one group per row.")
    if group.dtype not in INTEGERS:
        raise InputError(f"group must hold integers 0..{n_groups - 1}; got {group.dtype}.")
    classes = shape[1] if len(shape) == 2 and shape[1] > 1 else 2
    if not 0 <= target < classes:
        raise InputError(f"The target is class {target}, but logits have {classes} classes.")
    return classes
