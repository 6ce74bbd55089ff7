"""What every benchmark starts with."""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path


def start(doc: str | None, **numbers: int) -> argparse.ArgumentParser:
    """A parser with these options; Law's folder found if it lies beside the project; warnings off."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("FAIRALM_DATA", str(beside))
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser
