"""From a table of image files to a data set: the last step of every loader."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairalm.datasets._dataset import Dataset
from fairalm.datasets.images._dataset import ImageDataset
from fairalm.datasets.images._decode import Kind
from fairalm.datasets.images.cache import read_cached
from fairalm.exceptions import FairALMWarning, InputError

SMALLEST, LARGEST = 8, 1024


def build(
    table: Dataset,
    folder: Path,
    *,
    size: int,
    kind: Kind = "colour",
    masks: Sequence[Path | None] | None = None,
    description: str = "",
    progress: bool = False,
) -> ImageDataset:
    """Decode the images of a table's column ``file``, relative to a folder; leave out those that cannot be read."""
    check_whole("size", size, SMALLEST, LARGEST)
    files = [str(folder / file) for file in table.frame["file"]]
    read = read_cached([(file,) for file in files], size=size, kind=kind, progress=progress)
    kept = table.frame.iloc[read.kept].reset_index(drop=True)
    unreadable = [f"{files[row]}: {why}" for row, why in read.reasons.items()]
    if unreadable:
        _warn(f"{len(unreadable)} of {len(files)} images could not be read and are left out", unreadable)
    regions = has_mask = None
    if masks is not None:
        pairs = [(masks[row], files[row]) for row in read.kept]
        regions, has_mask, bad = _read_masks(pairs, size, progress)
        if bad:
            _warn(f"{len(bad)} masks could not be used; their images are kept without one", bad)
        unreadable += bad
    roles = table.target, table.positive, table.protected
    return ImageDataset(table.name, read.pixels, kept, *roles, regions, has_mask, tuple(unreadable), description)


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number in this range."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        upper = "" if most is None else f" to {most}"
        raise InputError(f"{name} must be a whole number from {least}{upper}; got {value!r}.")


def _read_masks(
    pairs: Sequence[tuple[Path | None, str]], size: int, progress: bool
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_], list[str]]:
    """Masks in the order of their images, which images have one, and which masks could not be used."""
    regions = np.zeros((len(pairs), size, size), np.uint8)
    has_mask = np.zeros(len(pairs), bool)
    rows = np.array([row for row, (mask, _) in enumerate(pairs) if mask is not None], dtype=np.int64)
    if not len(rows):
        return regions, has_mask, []
    jobs = [(str(pairs[row][0]), pairs[row][1]) for row in rows]
    read = read_cached(jobs, size=size, kind="mask", progress=progress)
    regions[rows[read.kept]] = read.pixels[..., 0]
    has_mask[rows[read.kept]] = True
    return regions, has_mask, [f"{jobs[row][0]}: {why}" for row, why in read.reasons.items()]


def _warn(text: str, files: Sequence[str]) -> None:
    which = "" if len(files) == 1 else "the first is "
    warnings.warn(f"{text}: {which}{files[0]}; `unreadable` lists all.", FairALMWarning, stacklevel=4)
