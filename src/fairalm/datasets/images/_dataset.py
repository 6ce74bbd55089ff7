"""Images together with their labels, groups and regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm.datasets._dataset import Dataset, LabelledRows
from fairalm.exceptions import InputError

Bytes = npt.NDArray[np.uint8]
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, eq=False)
class ImageDataset(LabelledRows):
    """Images of one size, with a table that has one row per image.

    Attributes
    ----------
    pixels : uint8 array of shape (n, height, width, channels)
        One channel (grey) or three (red, green, blue). If the images come from files, a read-only view of the cache
        file on disk: only the images that are used are read.
    frame : pandas.DataFrame
        One row per image: ``file``, the target, the protected columns, ``split`` if the set comes in parts, and others.
    name, target, positive, protected, description
        As in :class:`fairalm.datasets.Dataset`.
    masks : uint8 array of shape (n, height, width), optional
        1 in the region that should decide, such as the lungs, or the causal region of a synthetic scene.
    has_mask : bool array of shape (n,), optional
        Which images have a mask; the others' masks are all 0.
    unreadable : tuple of str
        Files that were left out, each with the reason.
    spurious_masks : uint8 array of shape (n, height, width), optional
        Where the protected attribute shows, if that is known.

    Examples
    --------
    >>> from fairalm.datasets.images import coloured_digits
    >>> data = coloured_digits()
    >>> data.pixels.shape, data.y[:5].tolist(), data.groups.name
    ((1797, 28, 28, 3), [0, 0, 0, 0, 0], 'colour')
    """

    name: str
    pixels: Bytes = field(repr=False)
    frame: pd.DataFrame = field(repr=False)
    target: str
    positive: Any
    protected: tuple[str, ...]
    masks: Bytes | None = field(default=None, repr=False)
    has_mask: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    unreadable: tuple[str, ...] = field(default=(), repr=False)
    description: str = field(default="", repr=False)
    spurious_masks: Bytes | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.frame)

    def rows(self, index: npt.ArrayLike) -> ImageDataset:
        """Return some of the images, by row numbers or by one truth value per row.

        Consecutive images stay a view, on disk if they are there; any other choice is copied into memory.

        >>> from fairalm.datasets.images import coloured_digits
        >>> len(coloured_digits().rows([0, 5, 7]))
        3
        """
        chosen = np.asarray(index)
        if chosen.dtype == bool:
            if chosen.shape != (len(self),):
                raise InputError(f"{self.name} has {len(self)} images; got {chosen.shape} truth values.")
            chosen = np.flatnonzero(chosen)
        if chosen.ndim != 1 or not len(chosen) or chosen.dtype.kind not in "iu":
            raise InputError(f"rows() needs row numbers or truth values, at least one; got {index!r}.")
        if chosen.min() < 0 or chosen.max() >= len(self):
            raise InputError(f"{self.name} has rows 0 to {len(self) - 1}; got {chosen.min()} to {chosen.max()}.")
        where: Any = chosen
        if (np.diff(chosen) == 1).all():
            where = slice(int(chosen[0]), int(chosen[-1]) + 1)
        arrays = {name: getattr(self, name) for name in ("pixels", "masks", "has_mask", "spurious_masks")}
        kept = {name: array[where] for name, array in arrays.items() if array is not None}
        return replace(self, frame=self.frame.iloc[where].reset_index(drop=True), **kept)

    def part(self, split: str) -> ImageDataset:
        """Return the images of an official part: "train", "valid" or "test"."""
        if "split" not in self.frame:
            raise InputError(f"{self.name} does not come in parts: split it with fairalm.datasets.split.")
        chosen = (self.frame["split"] == split).to_numpy(dtype=bool)
        if not chosen.any():
            there = ", ".join(repr(name) for name in self.frame["split"].unique())
            raise InputError(f"{self.name} has no part {split!r}; there are: {there}.")
        return self.rows(chosen)

    def retarget(
        self, *, target: str | None = None, protected: str | Sequence[str] | None = None, positive: Any = None
    ) -> ImageDataset:
        """Return the same images with another label or other protected columns.

        By default, `positive` is the larger of the two labels or, if the label stays the same, the old one.

        >>> from fairalm.datasets.images import coloured_digits
        >>> turned = coloured_digits().retarget(target="colour", protected="high")
        >>> turned.positive, turned.groups.unique().tolist()
        ('red', [0, 1])
        """
        target = self.target if target is None else target
        if positive is None and target == self.target:
            positive = self.positive
        protected = self.protected if protected is None else protected
        table = Dataset.from_frame(self.frame, target=target, protected=protected, positive=positive)
        return replace(self, target=target, positive=table.positive, protected=table.protected)
