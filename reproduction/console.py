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

UNBROKEN = 20  # numbers up to this width stay on one line


def _width() -> int:
    return min(80, shutil.get_terminal_size().columns)


def is_terminal() -> bool:
    """Whether stderr is a terminal, which can show a progress bar."""
    return sys.stderr.isatty()


def say(text: str = "", *, wrap: bool = True) -> None:
    """Print a paragraph to stdout, wrapped unless it has a path in it."""
    sys.stdout.write((textwrap.fill(text, _width(), break_on_hyphens=False) if wrap else text) + "\n")


def say_error(text: str) -> None:
    """Print one line to stderr."""
    sys.stderr.write(" ".join(text.split()) + "\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]], *, left: int = 1) -> None:
    """Print a table to stdout, the first `left` columns aligned to the left and the others to the right."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for position, name in enumerate(head):
        widest = max((Text(str(row[position])).cell_len for row in rows), default=0)
        is_number = position >= left  # headings and names may be wrapped, numbers not
        justify, least = ("right", min(widest, UNBROKEN)) if is_number else ("left", None)
        table.add_column(Text(name), justify=justify, overflow="fold", min_width=least)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(str(entry)) for entry in row))
    console = Console(width=_width(), markup=False, highlight=False, emoji=False)
    with console.capture() as printed:
        console.print(Padding(table, (0, 0, 0, 2), expand=False))
    for line in printed.get().splitlines():
        say(line.rstrip(), wrap=False)
