"""CelebA: faces of celebrities with 40 attributes each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fairalm.datasets._dataset import Dataset
from fairalm.datasets._files import DataDir
from fairalm.datasets.images._build import build, check_whole
from fairalm.datasets.images._dataset import SPLITS, ImageDataset
from fairalm.datasets.images._folders import check_complete, find_folder, read_lines
from fairalm.exceptions import InputError

ATTRIBUTES, PARTS, FACES = "list_attr_celeba.txt", "list_eval_partition.txt", "img_align_celeba"
DESCRIPTION = (
    "The label is one of 40 attributes that paid annotators gave each face; 1 means that it applies. CelebA (Liu et al."
    " 2015), for non-commercial research."
)


def load_celeba(
    data_dir: DataDir = None,
    *,
    size: int = 64,
    target: str = "Attractive",
    protected: str | Sequence[str] = "Male",
    limit: int | None = None,
    progress: bool = False,
) -> ImageDataset:
    """Load CelebA's aligned faces, with all 40 attributes as columns of 0 and 1, and the official parts.

    The 178 × 218 files are cropped to the square in the middle, which cuts off hair and collar.

    Parameters
    ----------
    data_dir : path, optional
        Folder with list_attr_celeba.txt, list_eval_partition.txt and img_align_celeba/, or the one above it; some of
        the faces may be missing. Default: the folder named by the environment variable FAIRALM_DATA.
    size : int
        Pixels per side.
    target : str
        The attribute to predict.
    protected : str or sequence of str
        The attributes by which fairness is judged.
    limit : int, optional
        Load only the first `limit` faces of each part.
    progress : bool
        Show a progress bar while the images are read for the first time.

    Examples
    --------
    >>> data = load_celeba("path/to/data")  # doctest: +SKIP
    >>> data.part("train").retarget(target="Smiling", protected=["Male", "Young"])  # doctest: +SKIP
    """
    if limit is not None:
        check_whole("limit", limit, 1)
    folder = find_folder(data_dir, ("celeba", "CelebA"), (ATTRIBUTES,))
    check_complete(folder, (PARTS, FACES))
    frame = _read(folder)
    if limit is not None:
        frame = frame[frame.groupby("split").cumcount() < limit]
    faces = Dataset.from_frame(frame, target=target, protected=protected, name="celeba")
    return build(faces, folder / FACES, size=size, description=DESCRIPTION, progress=progress)


def _read(folder: Path) -> pd.DataFrame:
    """One row per face, with all attributes."""
    path = folder / ATTRIBUTES
    lines = read_lines(path)
    names = lines[1].split() if len(lines) > 1 else []
    rows = [line.split() for line in lines[2:]]
    uneven = next((row[0] for row in rows if len(row) != len(names) + 1), None)
    if not rows or uneven is not None:
        what = "it has no faces" if uneven is None else f"{uneven} needs a value for each of {len(names)} attributes"
        raise InputError(f"{path} is not the official file: {what}.")
    values = np.array([row[1:] for row in rows])
    if not np.isin(values, ("1", "-1")).all():
        raise InputError(f"{path} is not the official file: an attribute is neither 1 nor -1.")
    frame = pd.DataFrame((values == "1").astype(np.int64), columns=names)
    frame.insert(0, "file", [row[0] for row in rows])
    parts = dict(line.split()[:2] for line in read_lines(folder / PARTS) if len(line.split()) > 1)
    split = frame["file"].map(parts).map(dict(zip("012", SPLITS, strict=True)))
    if split.isna().any():
        raise InputError(f"{folder / PARTS} does not say to which part {frame['file'][split.isna()].iloc[0]} belongs.")
    return frame.assign(split=split)
