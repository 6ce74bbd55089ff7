"""What an experiment prints: paragraphs and tables within 80 columns on stdout, everything else on stderr."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

WIDTH = 80
UNBROKEN = 20  # numbers up to this width stay on one line


def width() -> int:
    """Columns to print in."""
    return min(WIDTH, shutil.get_terminal_size().columns)


def is_terminal() -> bool:
    """Whether someone watches stderr, so that a progress bar is of use."""
    return sys.stderr.isatty()


def say(text: str = "", *, wrap: bool = True) -> None:
    """Print a paragraph to stdout; with ``wrap=False`` as one line, so that a path is not broken."""
    sys.stdout.write((textwrap.fill(text, width(), break_on_hyphens=False) if wrap else text) + "\n")


def say_error(text: str) -> None:
    """Print one line to stderr."""
    sys.stderr.write(" ".join(text.split()) + "\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]], *, left: int = 1) -> None:
    """Print a table to stdout.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequences
        The entries; long ones are wrapped to fit.
    left : int
        How many columns, from the first, are aligned to the left; the others to the right.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    texts = [[Text(str(entry)) for entry in row] for row in rows]
    for position, name in enumerate(head):
        if position < left:
            table.add_column(Text(name), overflow="fold")
        else:  # headings may be wrapped, numbers not
            widest = max((row[position].cell_len for row in texts), default=0)
            table.add_column(Text(name), justify="right", overflow="fold", min_width=min(widest, UNBROKEN))
    for row in texts:
        table.add_row(*row)
    console = Console(width=width(), markup=False, highlight=False, emoji=False)
    with console.capture() as printed:
        console.print(Padding(table, (0, 0, 0, 2), expand=False))
    for line in printed.get().splitlines():
        say(line.rstrip(), wrap=False)
