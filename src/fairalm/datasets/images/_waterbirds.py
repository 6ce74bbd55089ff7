"""Waterbirds: birds pasted onto backgrounds that mostly fit."""

from __future__ import annotations

import pandas as pd

from fairalm.datasets._dataset import Dataset
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

    In the training part bird and background agree in 95 % of the images; in the two other parts each kind of bird is
    equally often on either background. The folder holds metadata.csv and the folders that it names; parameters as in
    :func:`load_celeba`.

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
    birds = Dataset.from_frame(frame, target="bird", positive="waterbird", protected="background", name="waterbirds")
    return build(birds, folder, size=size, description=DESCRIPTION, progress=progress)
