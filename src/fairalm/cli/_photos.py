"""Pictures without labels, and the masks that belong to them: what ``fairalm cam`` looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fairalm.datasets._table import no_such, read_table
from fairalm.datasets.images.cache import read_cached
from fairalm.exceptions import InputError

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
TEST, IMAGE = "test.csv", "image"  # in the folder of a run: the pictures that its nets were not trained on
LEFT = "left"  # in place of a folder of masks


@dataclass(frozen=True, eq=False)
class Photos:
    """Pictures that could be read, of one size; a mask is all False where there is none."""

    files: Sequence[Path]
    pixels: npt.NDArray[np.uint8]
    masks: npt.NDArray[np.bool_] | None
    unreadable: Sequence[str]


def find_photos(images: Path, column: str | None) -> list[Path]:
    """Paths of the pictures in a folder, or in a column of a table."""
    if images.is_dir():
        if column is not None:
            raise InputError(f"--image-column is for a table; {images} is a folder: leave it out.")
        files = _pictures_in(images)
        if not files:
            raise InputError(f"There is no picture in {images}: files must end in {', '.join(SUFFIXES)}.")
        return files
    table = read_table(images)
    if column is None:
        raise InputError(f"{images} is a table: name its column of paths with --image-column.")
    if column not in table.columns:
        raise no_such("column", column, table.columns)
    absent = table[column].isna()
    if absent.any():
        raise InputError(f"Row {int(absent.argmax()) + 1} of {images} names no picture: fill or drop it.")
    return [images.parent / str(file) for file in table[column]]


def read_photos(files: Sequence[Path], masks: str | None, *, size: int, channels: int, progress: bool) -> Photos:
    """Read pictures and their masks, which have the same names in another folder; leave out what cannot be read."""
    pairs = _masks_by_name(masks)
    jobs = [(str(file),) for file in files]
    read = read_cached(jobs, size=size, kind="grey" if channels == 1 else "colour", progress=progress)
    unreadable = [f"{files[row]}: {why}" for row, why in read.reasons.items()]
    kept = [files[row] for row in read.kept]
    if masks is None:
        return Photos(kept, read.pixels, None, unreadable)
    inside = np.zeros((len(kept), size, size), bool)
    if masks == LEFT:
        inside[:, :, : size // 2] = True
        return Photos(kept, read.pixels, inside, unreadable)
    rows = [row for row, file in enumerate(kept) if file.stem in pairs]
    if not rows:
        raise InputError(f"No mask in {masks} has the name of a picture, for example {kept[0].stem}.png.")
    with_picture = [(str(pairs[kept[row].stem]), str(kept[row])) for row in rows]
    found = read_cached(with_picture, size=size, kind="mask", progress=progress)
    inside[np.array(rows)[found.kept]] = found.pixels[..., 0] > 0
    unreadable += [f"{with_picture[row][0]}: {why}" for row, why in found.reasons.items()]
    if not inside.any():
        raise InputError(f"The masks in {masks} are black all over: inside must be another colour.")
    return Photos(kept, read.pixels, inside, unreadable)


def _pictures_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)


def _masks_by_name(masks: str | None) -> dict[str, Path]:
    if masks in (None, LEFT):
        return {}
    if not Path(str(masks)).is_dir():
        raise InputError(f"There is no folder {masks}: --masks takes a folder of masks, or {LEFT}.")
    found: dict[str, Path] = {}
    for path in _pictures_in(Path(str(masks))):
        other = found.setdefault(path.stem, path)
        if other != path:
            raise InputError(f"{other} and {path} are masks of the same name: keep one.")
    return found
