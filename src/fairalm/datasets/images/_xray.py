"""Chest X-rays of two hospitals."""

from __future__ import annotations

import pandas as pd

from fairalm.datasets._dataset import Dataset
from fairalm.datasets._files import DataDir
from fairalm.datasets.images._build import build
from fairalm.datasets.images._dataset import ImageDataset
from fairalm.datasets.images._folders import check_complete, find_folder
from fairalm.exceptions import InputError

HOSPITALS = {"Montgomery": "MontgomerySet", "Shenzhen": "ChinaSet_AllFiles"}
IMAGES, MASKS = "CXR_png", "lung_masks"
DESCRIPTION = (
    "The label says that a chest X-ray shows tuberculosis; the protected attribute is the hospital it comes from."
    " Montgomery and Shenzhen sets, U.S. National Library of Medicine (Jaeger et al. 2014)."
)


def load_xray(data_dir: DataDir = None, *, size: int = 96, progress: bool = False) -> ImageDataset:
    """Load the Montgomery (138) and Shenzhen (662) chest X-rays: grey, label ``tb``, protected ``hospital``.

    The last digit of a file's name says whether it shows tuberculosis. `masks` are the lungs, where they are known. The
    folder holds MontgomerySet/CXR_png and ChinaSet_AllFiles/CXR_png, and optionally lung_masks/ beside each, with files
    of the same names; parameters as in :func:`load_celeba`.

    Examples
    --------
    >>> data = load_xray("path/to/data")  # doctest: +SKIP
    """
    folder = find_folder(data_dir, ("xray",), tuple(HOSPITALS.values()))
    check_complete(folder, [f"{name}/{IMAGES}" for name in HOSPITALS.values()])
    rows, masks = [], []
    for hospital, name in HOSPITALS.items():
        for image in sorted((folder / name / IMAGES).glob("*.png")):
            digit = image.stem.rpartition("_")[2]
            if digit not in ("0", "1"):
                raise InputError(f"{image} must end in _0 (healthy) or _1 (tuberculosis): rename it or move it away.")
            rows.append((image.relative_to(folder).as_posix(), int(digit), hospital))
            mask = folder / name / MASKS / image.name
            masks.append(mask if mask.exists() else None)
    frame = pd.DataFrame(rows, columns=["file", "tb", "hospital"])
    lungs = Dataset.from_frame(frame, target="tb", protected="hospital", name="xray")
    return build(lungs, folder, size=size, kind="grey", masks=masks, description=DESCRIPTION, progress=progress)
