"""Printing for a person at a terminal: results on stdout, everything else on stderr, tables within 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fairalm.plain_text import plain

WIDTH = 80
INDENT, GAP = 2, 2  # columns before a table, and between its columns
NAME = 12  # columns for names, if that leaves room for numbers on one line
UNBROKEN = 20  # in a table too wide for that, numbers up to this width stay on one line


def console(*, stderr: bool = False) -> Console:
    """A console that prints its input as it is: names from a table are no markup."""
    made = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    made.width = min(WIDTH, made.width)
    return made


def is_terminal() -> bool:
    """Whether stderr is a terminal, which can show progress."""
    return console(stderr=True).is_terminal


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
    heads, entries = [Text(plain(name)) for name in head], [[Text(plain(entry)) for entry in row] for row in rows]
    widest = [max((row[position].cell_len for row in entries), default=0) for position in range(len(head))]
    words = [max(map(cell_len, name.plain.split()), default=0) for name in heads]
    numbers = [max(pair) for pair in zip(widest, words, strict=True)][left:]
    room = console().width - INDENT - GAP * len(head)
    is_wide = sum(max(width, name.cell_len) for width, name in zip(widest, heads, strict=True)) > room
    keeps_numbers = is_wide and sum(numbers) + left * NAME <= room
    for position, name in enumerate(heads):
        if position < left:
            table.add_column(name, overflow="fold")
        elif keeps_numbers:  # on one line; heads are broken, and names
            table.add_column(name, justify="right", overflow="fold", width=numbers[position - left])
        else:
            least = min(widest[position], UNBROKEN)
            table.add_column(name, justify="right", overflow="fold", min_width=least)
    for row in entries:
        table.add_row(*row)
    _print(Padding(table, (0, 0, 0, INDENT), expand=False))
