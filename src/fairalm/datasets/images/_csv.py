"""Images of your own, listed in a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm._validation import check_choice
from fairalm.datasets._checks import name_of
from fairalm.datasets._dataset import Dataset
from fairalm.datasets._table import read_table
from fairalm.datasets.images._build import build
from fairalm.datasets.images._dataset import SPLITS, ImageDataset
from fairalm.exceptions import InputError

SPELLINGS = {"val": "valid", "validation": "valid", "dev": "valid"}


def read_images(
    csv: str | os.PathLike[str],
    *,
    image_column: str,
    target: str,
    protected: str | Sequence[str],
    positive: Any = None,
    size: int = 64,
    split_column: str | None = None,
    progress: bool = False,
    **csv_format: str,
) -> ImageDataset:
    """Read the images that a .csv (or .parquet) file names, with a label and a protected column.

    Each is cropped to the square in its middle and resized, in three colours. Unreadable ones are left out, with a
    warning.

    Parameters
    ----------
    csv : path
        One row per image, each image once.
    image_column : str
        Column with the paths, relative to the folder of the file, or absolute.
    target : str
        Column of the label; two values, or more with `positive`; none missing.
    protected : str or sequence of str
        One or several protected columns.
    positive : object, optional
        The label that counts as 1, by value or as text. Default: the larger of the two in sort order.
    size : int
        Pixels per side.
    split_column : str, optional
        Column with the values "train", "valid" (or "val", "dev", "validation") and "test".
    progress : bool
        Show a progress bar while the images are read for the first time.
    **csv_format : str
        `encoding`, `sep` and `decimal` of the .csv file, as in :func:`fairalm.datasets.read_table`.

    Returns
    -------
    ImageDataset
        The columns of paths and parts are called ``file`` and ``split`` in its frame.

    Examples
    --------
    >>> data = read_images("faces.csv", image_column="image", target="over30", protected="gender")  # doctest: +SKIP
    """
    path = Path(csv)
    table = read_table(path, **csv_format)  # type: ignore[arg-type]
    names = {image_column: "file"} | ({} if split_column is None else {split_column: "split"})
    for column in (*names, target):
        check_choice("column", column, table.columns)
    roles = (*names, target, *((protected,) if isinstance(protected, str) else protected))
    twice = next((column for column in roles if roles.count(column) > 1), None)
    if twice is not None:
        raise InputError(f"Column {twice!r} is named twice among image_column, split_column, target and protected.")
    taken = [new for old, new in names.items() if new != old and new in table.columns]
    if taken:
        raise InputError(f"{path} has a column {taken[0]!r} besides the one named for it: rename or drop it.")
    frame = table.rename(columns=names)
    frame["file"] = _files(frame["file"], path)
    if split_column is not None:
        frame["split"] = _parts(table[split_column], path)
    labelled = Dataset.from_frame(frame, target=target, protected=protected, positive=positive, name=name_of(path))
    return build(labelled, path.parent, size=size, progress=progress)


def _files(files: pd.Series[Any], path: Path) -> pd.Series[Any]:
    """Paths as text, each once, none empty, and no relative path that leaves the folder."""
    if files.isna().any():
        raise InputError(f"Row {int(files.isna().argmax()) + 1} of {path} names no image: fill or drop it.")
    files, folder = files.astype(str), path.parent.absolute()
    where = files.map(lambda file: os.path.normpath(folder / file))
    if where.duplicated().any():
        file = files[where.duplicated()].iloc[0]
        raise InputError(f"{path} names {file} more than once: keep one row, or it may be in training and test data.")
    for file, full in zip(files, where, strict=True):
        if not Path(file).is_absolute() and not Path(full).is_relative_to(os.path.normpath(folder)):
            raise InputError(f"{path} names {file}, which is outside its folder: write it as an absolute path.")
    return files


def _parts(parts: pd.Series[Any], path: Path) -> pd.Series[Any]:
    named = parts.replace(SPELLINGS)
    unknown = named[~named.isin(SPLITS)]
    if len(unknown):
        raise InputError(f"{path} has a part {str(unknown.iloc[0])!r} in {parts.name!r}: use {', '.join(SPLITS)}.")
    return named
