"""Waterbirds: birds pasted onto backgrounds that mostly fit."""

from __future__ import annotations

import pandas as pd

from fairalm.datasets._files import DataDir, read_official
from fairalm.datasets.images._build import build
from fairalm.datasets.images._dataset import SPLITS, ImageDataset
from fairalm.datasets.images._folders import find_folder
from fairalm.exceptions import InputError

TABLE = "metadata.csv"
NAMES = ("waterbirds", "waterbird_complete95_forest2water2")
CODES = {
    "y": {"0": "landbird", "1": "waterbird"},
    "place": {"0": "land", "1": "water"},
    "split": dict(zip("012", SPLITS, strict=True)),
}
DESCRIPTION = (
    "The label says that a bird is a waterbird; the protected attribute is the background it was pasted onto."
    " Waterbirds (Sagawa et al. 2020), made of birds of CUB-200-2011 and backgrounds of Places."
)


def load_waterbirds(data_dir: DataDir = None, *, size: int = 96, progress: bool = False) -> ImageDataset:
    """Load Waterbirds: 11,788 birds (label ``bird``, positive "waterbird") on land or water (``background``).

    In the training part bird and background agree in 95 % of the pictures; in the two other parts half of each kind of
    bird is on either background.

    Parameters
    ----------
    data_dir : path, optional
        Folder (or the one above its ``waterbirds`` folder) with metadata.csv and the folders it names. Default: the
        folder named by the environment variable FAIRALM_DATA.
    size : int
        Pixels on a side.
    progress : bool
        Show a progress bar while the pictures are read for the first time.

    Returns
    -------
    ImageDataset

    Examples
    --------
    >>> data = load_waterbirds("path/to/data")  # doctest: +SKIP
    """
    folder = find_folder(data_dir, NAMES, (TABLE,))
    table = read_official(folder / TABLE, ("img_filename", *CODES), header=True)
    coded = pd.DataFrame({column: table[column].map(codes) for column, codes in CODES.items()})
    if coded.isna().to_numpy().any() or table["img_filename"].isna().any():
        raise InputError(f"{folder / TABLE} is not the official file: y, place or split holds an unknown value.")
    frame = coded.rename(columns={"y": "bird", "place": "background"})
    frame.insert(0, "file", table["img_filename"])
    return build(
        "waterbirds",
        frame,
        folder,
        target="bird",
        positive="waterbird",
        protected="background",
        size=size,
        description=DESCRIPTION,
        progress=progress,
    )
