"""Writing tables to files the user named."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fairalm.exceptions import InputError
from fairalm.files import write_atomic


def check_out(out: Path | None, suffixes: Sequence[str], overwrite: bool) -> None:
    """Refuse a file of another kind, or one that exists, before any work."""
    if out is None:
        return
    if out.suffix.lower() not in suffixes:
        raise InputError(f"{out} must end in {' or '.join(suffixes)}.")
    if out.is_dir():
        raise InputError(f"{out} is a folder: name a file.")
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists: choose another file, or pass {{overwrite}}.", overwrite=True)


def write_table(out: Path, table: pd.DataFrame) -> None:
    """Write .csv or .parquet, all or nothing."""
    if out.suffix.lower() == ".csv":
        write_atomic(out, table.to_csv(index=False).encode("utf-8"))
        return
    buffer = io.BytesIO()
    try:
        table.to_parquet(buffer, engine="pyarrow", index=False)
    except ImportError as error:
        raise ImportError('Writing .parquet files needs pyarrow: pip install "fairalm[parquet]"') from error
    write_atomic(out, buffer.getvalue())
