"""Where the data files are: shipped in the package, in a folder of the user's, or fetched once."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.exceptions import InputError
from fairalm.files import write_atomic

DataDir = str | os.PathLike[str] | None
DATA_VARIABLE = "FAIRALM_DATA"


def read_shipped(name: str) -> pd.DataFrame:
    """Table shipped in the package, every value as text."""
    with files("fairalm.datasets").joinpath("data", f"{name}.csv.gz").open("rb") as file:
        return pd.read_csv(file, compression="gzip", dtype=str, keep_default_na=False, na_values=[""])


def read_official(path: Path, columns: Sequence[str], *, header: bool, **options: Any) -> pd.DataFrame:
    """Official file with every value as text; the columns asked for must be there."""
    options = {"na_values": [""], **options}
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, header=0 if header else None, **options)
    except ValueError as error:  # pandas' parser errors and undecodable bytes
        raise InputError(f"{path} cannot be read as the official file ({error}).") from error
    if not header:
        if frame.shape[1] != len(columns):
            raise InputError(f"{path} is not the official file: it has {frame.shape[1]} columns, not {len(columns)}.")
        frame.columns = pd.Index(columns)
    absent = [c for c in columns if c not in frame.columns]
    if absent:
        raise InputError(f"{path} is not the official file: it lacks the columns {', '.join(absent)}.")
    kept: pd.DataFrame = frame[list(columns)]
    return kept


def typed(frame: pd.DataFrame, numbers: Sequence[str]) -> pd.DataFrame:
    """Turn the number columns from text into numbers; the rest stays text."""
    return frame.assign(**{c: pd.to_numeric(frame[c]) for c in numbers}).reset_index(drop=True)


def find(data_dir: str | os.PathLike[str], filename: str) -> Path:
    """Path of an official file in the folder or in its `tabular` subfolder."""
    folder = Path(data_dir)
    for path in (folder / filename, folder / "tabular" / filename):
        if path.is_file():
            return path
    raise InputError(f"There is no {filename} in {folder} or {folder / 'tabular'}: check {{data_dir}}.", data_dir=None)


def fetch(url: str, sha256: str, path: Path) -> None:
    """Fetch a file whose checksum is known; either all of it is there afterwards, or nothing."""
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            content = response.read()
        digest = hashlib.sha256(content).hexdigest()
        if digest != sha256:
            raise InputError(f"{url} gave other bytes than expected (sha256 {digest}): nothing was kept.")
        write_atomic(path, content)
    except (OSError, http.client.HTTPException) as error:
        raise InputError(
            f"{url} could not be fetched into {path.parent} ({error}):"
            f" put {path.name} into a folder yourself and pass that as {{data_dir}}.",
            data_dir=None,
        ) from error
