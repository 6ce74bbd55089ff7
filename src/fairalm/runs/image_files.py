"""Images without labels, and the masks that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._validation import check_choice
from fairalm.datasets import read_table
from fairalm.exceptions import InputError

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
LEFT = "left"  # in place of a folder of masks


@dataclass(frozen=True, eq=False)
class Images:
    """The images that could be read, all of one size; a mask is all False where there is none."""

    files: Sequence[Path]
    pixels: npt.NDArray[np.uint8]
    masks: npt.NDArray[np.bool_] | None
    unreadable: Sequence[str]


def find_images(images: Path, column: str | None) -> list[Path]:
    """Paths of the images in a folder, or in a column of a table."""
    if images.is_dir():
        if column is not None:
            raise InputError(f"{{image_column}} is for a table; {images} is a folder: leave it out.", image_column=None)
        files = _images_in(images)
        if not files:
            raise InputError(f"There is no image in {images}: files must end in {', '.join(SUFFIXES)}.")
        return files
    table = read_table(images)
    if column is None:
        raise InputError(f"{images} is a table: name its column of paths with {{image_column}}.", image_column=None)
    check_choice("column", column, table.columns)
    return paths_in(table[column], images)


def paths_in(column: pd.Series[str], table: Path) -> list[Path]:
    """The paths in a column, which are relative to the folder of the table."""
    absent = column.isna().to_numpy()
    if absent.any():
        raise InputError(f"Row {int(absent.argmax()) + 1} of {table} names no image: fill or drop it.")
    return [table.parent / file for file in column.astype(str)]


def read_with_masks(files: Sequence[Path], masks: str | None, size: int, channels: int, progress: bool) -> Images:
    """Read images and their masks, which have the same names in another folder; leave out what cannot be read."""
    from fairalm.datasets.images.cache import read_cached

    pairs = _masks_by_name(masks)
    jobs = [(str(file),) for file in files]
    read = read_cached(jobs, size=size, kind="grey" if channels == 1 else "colour", progress=progress)
    unreadable = [f"{files[row]}: {reason}" for row, reason in read.reasons.items()]
    kept = [files[row] for row in read.kept]
    if masks is None:
        return Images(kept, read.pixels, None, unreadable)
    inside = np.zeros((len(kept), size, size), bool)
    if masks == LEFT:
        inside[:, :, : size // 2] = True
        return Images(kept, read.pixels, inside, unreadable)
    rows = [row for row, file in enumerate(kept) if file.stem in pairs]
    if not rows:
        raise InputError(f"No mask in {masks} has the name of an image, for example {kept[0].stem}.png.")
    with_image = [(str(pairs[kept[row].stem]), str(kept[row])) for row in rows]
    drawn = read_cached(with_image, size=size, kind="mask", progress=progress)
    inside[np.array(rows)[drawn.kept]] = drawn.pixels[..., 0] > 0
    unreadable += [f"{with_image[row][0]}: {reason}" for row, reason in drawn.reasons.items()]
    if not inside.any():
        raise InputError(f"The masks in {masks} are all black: the inside must be another colour.")
    return Images(kept, read.pixels, inside, unreadable)


def _images_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)


def _masks_by_name(masks: str | None) -> dict[str, Path]:
    if masks in (None, LEFT):
        return {}
    if not Path(str(masks)).is_dir():
        raise InputError(f"There is no folder {masks}: {{masks}} takes a folder of masks, or {LEFT}.", masks=None)
    by_name: dict[str, Path] = {}
    for path in _images_in(Path(str(masks))):
        other = by_name.setdefault(path.stem, path)
        if other != path:
            raise InputError(f"{other} and {path} are masks of the same name: keep one.")
    return by_name
