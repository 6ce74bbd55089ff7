"""Adult: who earned more than 50,000 dollars a year in the 1994 census."""

from __future__ import annotations

import os

import pandas as pd

from fairalm.datasets._dataset import Dataset
from fairalm.datasets._files import DataDir, find, read_official, read_shipped, typed

OFFICIAL = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
    "income",
)
FEATURES = tuple(c for c in OFFICIAL if c not in ("fnlwgt", "education", "sex", "income"))
NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
DESCRIPTION = (
    "The label says that a person earned more than 50,000 dollars in a year. From the U.S. census of 1994,"
    " by Barry Becker and Ronny Kohavi; UCI Machine Learning Repository, CC BY 4.0."
)


def load_adult(data_dir: DataDir = None) -> Dataset:
    """Load Adult: which of 48,842 people earned over 50,000 dollars a year, U.S. census of 1994.

    23.9 % did (label ``income``, positive ``">50K"``). Protected is ``sex``: 32,650 men of whom 30.4 %, and
    16,192 women of whom 10.9 % are positive. ``protect("race")`` chooses race instead.

    Left out are ``fnlwgt``, a sampling weight and no property of the person, and the text ``education``,
    which says the same as ``education-num`` (one number per text). "?" is a missing value:
    2,799 in ``workclass``, 2,809 in ``occupation``, 857 in ``native-country``.

    The rows of adult.data come first, then those of adult.test. The column ``official_test`` of
    ``Dataset.frame`` is True in the 16,281 rows of the latter; it is not a feature.

    Parameters
    ----------
    data_dir : path, optional
        Folder (or the one above its ``tabular`` folder) with the official adult.data and adult.test.
        Default: the copy shipped in the package, which gives the same data set.

    Examples
    --------
    >>> data = load_adult()
    >>> data.X.shape, round(float(data.y.mean()), 3)
    ((48842, 11), 0.239)
    >>> train = ~data.frame["official_test"]
    >>> int(train.sum())
    32561
    """
    text = read_shipped("adult") if data_dir is None else read_raw(data_dir)
    frame = typed(text, NUMBERS)
    frame["official_test"] = frame["official_test"] == "True"
    return Dataset("adult", frame, "income", ">50K", ("sex",), FEATURES, DESCRIPTION)


def read_raw(data_dir: str | os.PathLike[str]) -> pd.DataFrame:
    """Columns used, as text, from the two official files."""
    parts = []
    for filename in ("adult.data", "adult.test"):
        # the first line of adult.test is a remark that starts with "|"
        options = {"skipinitialspace": True, "na_values": ["?"], "comment": "|"}
        part = read_official(find(data_dir, filename), OFFICIAL, header=False, **options)
        parts.append(part.assign(official_test=str(filename == "adult.test")))
    frame = pd.concat(parts, ignore_index=True)
    frame["income"] = frame["income"].str.rstrip(".")
    return frame[[c for c in frame.columns if c not in ("fnlwgt", "education")]]
