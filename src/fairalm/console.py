"""Printing for a person at a terminal: results on stdout, everything else on stderr, tables within 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

WIDTH = 80
UNBROKEN = 28  # numbers up to this width stay on one line


def console(*, stderr: bool = False) -> Console:
    """A console that prints its input as it is: names from a table are no markup."""
    made = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    made.width = min(WIDTH, made.width)
    return made


def is_terminal() -> bool:
    """Whether stderr is a terminal, which can show progress."""
    return console(stderr=True).is_terminal


def plain(value: Any) -> str:
    """One line of printable text: no line breaks, no escape codes."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())


def say(text: str = "", *, indent: int = 0) -> None:
    """Print a paragraph to stdout, wrapped."""
    _print(Padding(Text(plain(text)), (0, 0, 0, indent), expand=False) if text else "")


def say_path(text: str) -> None:
    """Print a line to stdout that may be long: a path is not broken."""
    typer.echo(plain(text))


def say_error(text: str) -> None:
    """Print one line to stderr."""
    typer.echo(plain(text), err=True)


def _print(what: RenderableType) -> None:
    """Print to stdout without the spaces that rich fills lines with."""
    made = console()
    with made.capture() as lines:
        made.print(what)
    for line in lines.get().splitlines():
        typer.echo(line.rstrip())


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]], *, left: int = 1) -> None:
    """Print a table to stdout, the first `left` columns aligned to the left and the others to the right."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    entries = [[Text(plain(entry)) for entry in row] for row in rows]
    for position, name in enumerate(head):
        if position < left:
            table.add_column(Text(plain(name)), overflow="fold")
        else:  # numbers are never broken; heads are, and names
            widest = max((row[position].cell_len for row in entries), default=0)
            table.add_column(Text(plain(name)), justify="right", overflow="fold", min_width=min(widest, UNBROKEN))
    for row in entries:
        table.add_row(*row)
    _print(Padding(table, (0, 0, 0, 2), expand=False))
