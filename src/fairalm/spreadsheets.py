"""CSV text that is safe to open in a spreadsheet: no text of the user's becomes a formula there."""

from __future__ import annotations

import csv
import os
import re
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# what starts a formula, also in full width, and white space that a spreadsheet removes before it looks (OWASP)
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_rows(file: IO[str], table: pd.DataFrame, *, header: bool = True, raw: bool = False) -> None:
    """Write a table to an open file as CSV; text and column names are :func:`quoted` unless `raw`.

    >>> import sys, pandas as pd
    >>> write_rows(sys.stdout, pd.DataFrame({"@name": ["-a", "b"], "change": [-1.5, 2.0]}))
    '@name,change
    '-a,-1.5
    b,2.0
    """
    table = table.copy(deep=False)
    names, breaks_line = [str(name) for name in table.columns], False
    table.columns = list(range(table.shape[1]))  # a name may occur twice
    for place in table.columns:
        if table[place].dtype.kind not in "OU":  # numbers and times
            continue
        cells = table[place].to_numpy(dtype=object).copy()
        breaks_line |= any(isinstance(cell, str) and "\r" in cell for cell in cells)
        changed = {
            row: quoted(cell) for row, cell in enumerate(cells) if isinstance(cell, str) and quoted(cell) != cell
        }
        if changed and not raw:
            cells[list(changed)] = list(changed.values())
            table[place] = cells
    table.columns = names if raw else [quoted(name) for name in names]
    breaks_line |= any("\r" in name for name in names)
    # pandas does not put a carriage return in quotation marks, and a reader would start a new row at it
    quoting: Any = csv.QUOTE_NONNUMERIC if breaks_line else csv.QUOTE_MINIMAL
    table.to_csv(file, index=False, header=header, quoting=quoting, lineterminator=os.linesep)


def quoted(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet would take it for a formula; numbers are none.

    >>> quoted("=1+1"), quoted("-1.5"), quoted("a=b")
    ("'=1+1", '-1.5', 'a=b')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
