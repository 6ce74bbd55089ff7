import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def raw_dir() -> Path:
    """Folder of the official files, which are not part of the project."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("FAIRALM_DATA") or beside)
    if not (folder / "tabular" / "adult.data").is_file() and not (folder / "adult.data").is_file():
        pytest.skip(f"the official data files are not in {folder}: set FAIRALM_DATA")
    return folder
