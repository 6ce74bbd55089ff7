"""Law: who passed the bar exam, among students who began law school in 1991."""

from __future__ import annotations

import os
from pathlib import Path

from fairalm.datasets._dataset import Dataset
from fairalm.datasets._files import (
    DATA_VARIABLE,
    DataDir,
    fetch,
    find,
    read_official,
    typed,
)
from fairalm.exceptions import InputError
from fairalm.files import cache_dir

FILENAME = "lsac.csv"
URL = (
    "https://raw.githubusercontent.com/jjgold012/lab-project-fairness/"
    "32a11dc74cc2dcb6b09538589da91f9d2565ccb3/datasets/ucla-law-school-dataset/lsac.csv"
)
SHA256 = "aa02772e678cfde1a50c5ab64e049f6c840b96f5919ab894d3222a9009eeb55b"
NUMBERS = ("lsat", "ugpa", "zfygpa", "zgpa", "fam_inc", "dob_yr", "tier")
FEATURES = (*NUMBERS, "fulltime", "gender")
DESCRIPTION = (
    "The label says that a law student passed the bar exam in the end, at the first attempt or a later one."
    " LSAC National Longitudinal Bar Passage Study (Wightman 1998), students who began in autumn 1991. The"
    " file states no licence and is not shipped."
)


def load_law(data_dir: DataDir = None, *, download: bool = False) -> Dataset:
    """Load Law: which of 20,653 U.S. law students who began in 1991 passed the bar exam in the end.

    95.4 % did (label ``pass_bar``, positive 1; 947 did not). Protected is ``race`` (the file's ``race1``):
    19,285 white students of whom 96.7 %, and 1,368 black students of whom 77.6 % are positive. Of the file's
    27,478 rows these are the white and black ones whose ``pass_bar`` is known.

    Features, all known before the exam, with the number missing: admission test ``lsat`` (92), college grades
    ``ugpa`` (112), standardised law school grades of the first year ``zfygpa`` (902) and of all ``zgpa``
    (1,148), family income in five steps ``fam_inc`` (264), year of birth ``dob_yr`` (48), ``tier`` of the
    school (94; 6 is the most selective), ``fulltime`` (30) and ``gender`` (4).

    Left out is what tells the label: ``bar``, ``bar1``, ``bar2`` and their years, ``grad``, ``dropout``, and
    ``age``, which is the year of the exam minus that of birth; what repeats the protected column: ``race``,
    ``race2``, ``black``, ``asian``, ``hisp``, ``other``; what repeats a feature: ``decile1``, ``decile1b``,
    ``decile3`` (ranks of the law school grades), ``index604``, ``indxgrp``, ``indxgrp2`` (sums of lsat and
    ugpa), ``cluster`` (tier under other numbers), ``sex``, ``male``, ``parttime``; and ``id``.

    Parameters
    ----------
    data_dir : path, optional
        Folder (or the one above its ``tabular`` folder) with lsac.csv. Default: the folder named by the
        environment variable FAIRALM_DATA, then the cache (``~/.cache/fairalm``).
    download : bool
        Fetch the file if it is in none of these: into `data_dir` if given, else into the cache.

    Examples
    --------
    >>> data = load_law(download=True)  # doctest: +SKIP
    >>> load_law("empty_folder")
    Traceback (most recent call last):
    ...
    fairalm.exceptions.InputError: lsac.csv is not in empty_folder, and is not shipped: pass ...
    """
    path = _locate(data_dir, download)
    columns = (*FEATURES, "race1", "pass_bar")
    frame = read_official(path, columns, header=True, na_values=["", " "]).rename(columns={"race1": "race"})
    frame = frame[frame["race"].isin(["white", "black"]) & frame["pass_bar"].notna()]
    frame = typed(frame, (*NUMBERS, "pass_bar"))
    frame["fulltime"] = frame["fulltime"].map({"1": "yes", "2": "no"})
    return Dataset("law", frame, "pass_bar", 1, ("race",), FEATURES, DESCRIPTION)


def _locate(data_dir: DataDir, download: bool) -> Path:
    named = os.environ.get(DATA_VARIABLE)
    folders = [Path(data_dir)] if data_dir is not None else [Path(named), cache_dir()] if named else [cache_dir()]
    for folder in folders:
        try:
            return find(folder, FILENAME)
        except InputError:
            continue
    if not download:
        raise InputError(
            f"{FILENAME} is not in {' or '.join(str(folder) for folder in folders)}, and is not shipped:"
            f" pass {{download}}, or its folder as {{data_dir}} or in the environment variable {DATA_VARIABLE}.",
            download=True,
            data_dir=None,
        )
    path = folders[-1] / FILENAME
    fetch(URL, SHA256, path)
    return path
