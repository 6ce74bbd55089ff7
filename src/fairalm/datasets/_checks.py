"""The checks that every file and table passes; errors of reading become sentences that name the file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.exceptions import InputError

COMPRESSED = (".gz", ".bz2", ".xz")  # after .csv


def suffix_of(path: Path) -> str:
    """The suffix of a file that can be read, ".csv" or ".parquet"; that of a compression is left out."""
    suffix = _uncompressed(path).suffix.lower()
    if not path.exists():
        raise InputError(f"There is no file {path}: check the path.")
    if suffix != ".csv" and path.suffix.lower() != ".parquet":
        known = ", ".join((".csv", *(f".csv{end}" for end in COMPRESSED)))
        raise InputError(f"{path} ends in {path.suffix!r}: only {known} and .parquet files can be read.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty: it needs a header and at least one row.")
    return suffix


def name_of(path: str | os.PathLike[str]) -> str:
    """The name of a file without its suffixes.

    >>> name_of("data/people.csv.gz"), name_of("people.2024.parquet"), name_of("adult")
    ('people', 'people.2024', 'adult')
    """
    return _uncompressed(Path(path)).stem


def _uncompressed(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def check_frame(frame: pd.DataFrame, name: str) -> None:
    """Refuse what is not a data frame with rows and distinct text names."""
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"{name} must be a pandas DataFrame; got {type(frame).__name__}.")
    check_names(list(frame.columns), name)
    if frame.empty:
        raise InputError(f"{name} has {len(frame)} rows and {frame.shape[1]} columns: nothing to learn from.")


def check_names(columns: list[Any], name: str) -> None:
    """Refuse column names that are not text, or the same."""
    check_distinct(columns, name)
    numbered = [c for c in columns if not isinstance(c, str)]
    if numbered:
        raise InputError(f"{name} has a column named {numbered[0]!r}: column names must be text, rename it.")


def check_distinct(columns: list[str], name: str) -> None:
    """Refuse column names that are the same."""
    repeated = ", ".join(repr(c) for c, times in Counter(columns).items() if times > 1)
    if repeated:
        raise InputError(f"{name} has columns of the same name ({repeated}): rename them.")


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its index as a column, if that has a name; with several columns if the index has levels."""
    if frame.index.nlevels > 1 and None in frame.index.names:
        raise InputError(
            f"The table has an index of {frame.index.nlevels} levels, not all with a name: name them, or save the table"
            " after reset_index()."
        )
    return frame.reset_index(drop=frame.index.nlevels == 1 and frame.index.name is None)


def schema_of(path: Path) -> Any:
    """The schema of a .parquet file, in which no two columns have the same name."""
    import pyarrow.parquet

    schema = pyarrow.parquet.read_schema(path)
    check_distinct(schema.names, str(path))
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
    except (OSError, ValueError, LookupError, TypeError, NotImplementedError) as error:  # pyarrow's own are of these
        reason = (str(error) or type(error).__name__).splitlines()[0].split(". ")[0]
        raise InputError(f"{path} cannot be read as Parquet ({reason}).") from error
