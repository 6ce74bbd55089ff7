"""The checks that every file and table passes; errors of reading become sentences that name the file."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.exceptions import InputError

CSV: dict[str, Any] = {"encoding": "utf-8-sig", "low_memory": False}  # how pandas reads it


def suffix_of(path: Path) -> str:
    """The suffix of a file that can be read, ".csv" or ".parquet"."""
    suffix = path.suffix.lower()
    if not path.exists():
        raise InputError(f"There is no file {path}: check the path.")
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"{path} ends in {suffix!r}: only .csv and .parquet files can be read.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty: it needs a header and at least one row.")
    return suffix


def check_frame(frame: pd.DataFrame, name: str) -> None:
    """Refuse what is not a data frame with rows and distinct text names."""
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"{name} must be a pandas DataFrame; got {type(frame).__name__}.")
    check_names(list(frame.columns), name)
    if frame.empty:
        raise InputError(f"{name} has {len(frame)} rows and {frame.shape[1]} columns: nothing to learn from.")


def check_names(columns: list[Any], name: str) -> None:
    """Refuse column names that are not text, or the same."""
    _check_distinct(columns, name)
    numbered = [c for c in columns if not isinstance(c, str)]
    if numbered:
        raise InputError(f"{name} has a column named {numbered[0]!r}: column names must be text, rename it.")


def _check_distinct(columns: list[str], name: str) -> None:
    repeated = ", ".join(repr(c) for c, times in Counter(columns).items() if times > 1)
    if repeated:
        raise InputError(f"{name} has columns of the same name ({repeated}): rename them.")


@contextmanager
def reading_csv(path: Path) -> Iterator[None]:
    """Check the header of a .csv file, and turn the errors of reading it into sentences that name it."""
    with path.open("rb") as raw:
        if b"\0" in raw.read(65536):
            raise InputError(f"{path} is not text: save it as CSV UTF-8.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = (row for row in csv.reader(file) if row)
            _check_header(next(rows, []), next(rows, []), path)
        yield
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: save it as CSV UTF-8.") from error
    except (csv.Error, ValueError) as error:
        raise InputError(f"{path} cannot be read as CSV ({str(error).strip()}).") from error


def _check_header(header: list[str], first: list[str], path: Path) -> None:
    """Refuse what pandas would rename or misread without a word."""
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise InputError(f"{path} is not separated by commas (header {header[0]!r}): save it with commas.")
    if not all(column.strip() for column in header):
        # a row number saved by mistake would become a feature
        raise InputError(f"{path} has a column without a name: name it, or save without row numbers.")
    _check_distinct(header, str(path))
    if len(first) > len(header):
        raise InputError(f"{path} has {len(header)} names in its header but {len(first)} values in a row.")


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its index as a column, if that has a name."""
    return frame.reset_index(drop=frame.index.name is None)


def schema_of(path: Path) -> Any:
    """The schema of a .parquet file, in which no two columns have the same name."""
    import pyarrow.parquet

    schema = pyarrow.parquet.read_schema(path)
    _check_distinct(schema.names, str(path))
    return schema


@contextmanager
def reading_parquet(path: Path) -> Iterator[None]:
    """Turn the errors of reading a .parquet file into sentences that name it."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError('Reading .parquet files needs pyarrow: pip install "fairalm[parquet]"') from error
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:  # pyarrow's own errors derive from these
        reason = str(error).splitlines()[0].split(". ")[0]
        raise InputError(f"{path} cannot be read as Parquet ({reason}).") from error
