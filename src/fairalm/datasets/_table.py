"""Reading a file as a table, whole or batch by batch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fairalm.datasets._batches import Table
from fairalm.datasets._checks import check_frame, suffix_of
from fairalm.datasets._csv_format import CsvFormat
from fairalm.datasets._csv_table import CsvTable
from fairalm.datasets._parquet_table import ParquetTable
from fairalm.exceptions import InputError


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
    encoding: str = "utf-8",
    sep: str = ",",
    decimal: str = ".",
) -> pd.DataFrame:
    r"""Read a .csv or .parquet file, or a folder of .parquet files as one table.

    The first line of a .csv file has the column names. It may be compressed: .csv.gz, .csv.bz2 or .csv.xz. A .parquet
    file needs pyarrow.

    Parameters
    ----------
    path : str or path
        The file; its suffix says what it is.
    columns : sequence of str, optional
        Read these only.
    rows : int, optional
        Read a random sample of so many rows, the same every time; for .parquet files only.
    encoding : str
        Of a .csv file: "latin-1", "cp1252" and so on.
    sep : str
        What separates the values of a .csv file: one character, or "tab".
    decimal : {".", ","}
        Decimal mark of a .csv file.

    Returns
    -------
    pandas.DataFrame
        At least one row, and column names that are text and differ.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "people.csv"
    >>> _ = path.write_text("age,sex\n31,F\n47,M\n")
    >>> read_table(path).shape
    (2, 2)
    >>> _ = path.write_text("größe;geschlecht\n1,68;w\n1,81;m\n", encoding="latin-1")
    >>> read_table(path, encoding="latin-1", sep=";", decimal=",")["größe"].tolist()
    [1.68, 1.81]
    >>> folder.cleanup()
    """
    table = open_table(path, encoding=encoding, sep=sep, decimal=decimal)
    frame = table.read(table.names if columns is None else columns, rows=rows)
    check_frame(frame, str(path))
    return frame


def open_table(path: str | os.PathLike[str], *, encoding: str = "utf-8", sep: str = ",", decimal: str = ".") -> Table:
    """Open a .csv or .parquet file, or a folder of .parquet files, without reading its rows.

    The files of a folder have the same columns, which may also stand in the names of folders ("year=2024"). How a .csv
    file is written, see :func:`read_table`, does not matter for others.
    """
    path, form = Path(path), CsvFormat(encoding, sep, decimal)
    if path.is_dir():
        hidden = (".", "_")
        files = [file for file in sorted(path.rglob("*.parquet")) if not file.name.startswith(hidden)]
        if not files:
            raise InputError(f"{path} is a folder without .parquet files: name a file, or a folder of them.")
        return ParquetTable(path, files)
    return CsvTable(path, form) if suffix_of(path) == ".csv" else ParquetTable(path, [path])
