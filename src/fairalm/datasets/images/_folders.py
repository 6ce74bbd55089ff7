"""The folders of the published sets, and their text files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fairalm.datasets._files import DATA_VARIABLE, DataDir
from fairalm.exceptions import InputError


def find_folder(data_dir: DataDir, names: Sequence[str], marks: Sequence[str]) -> Path:
    """The first of `data_dir` (or FAIRALM_DATA) and its subfolders with these names that holds one of the `marks`."""
    given = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE)
    if not given:
        raise InputError(
            f"The {names[0]} images are not shipped: pass their folder as {{data_dir}}, or name it in the environment"
            f" variable {DATA_VARIABLE}.",
            data_dir=None,
        )
    folders = [Path(given), *(Path(given) / name for name in names)]
    for folder in folders:
        if any((folder / mark).exists() for mark in marks):
            return folder
    raise InputError(
        f"There is no {' or '.join(marks)} in {folders[0]} or {folders[1]}: check {{data_dir}}.", data_dir=None
    )


def check_complete(folder: Path, files: Sequence[str]) -> None:
    """Refuse a folder that lacks some of these files or folders."""
    absent = [file for file in files if not (folder / file).exists()]
    if absent:
        raise InputError(f"{folder} lacks {', '.join(absent)}: add what is missing.")


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that are not empty."""
    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as the official file ({error}).") from error
