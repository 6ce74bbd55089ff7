"""What the user sees: results on stdout, everything else on stderr, tables within 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from fairalm.files import to_json

WIDTH = 80
FIGURE = 20  # widest cell that is kept in one line


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints what it is given: names from a table are no markup."""
    made = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    made.width = min(WIDTH, made.width)
    return made


def plain(value: Any) -> str:
    """One line of printable text: no line breaks, no escape codes."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())


def percent(share: float) -> str:
    """Return a share as text.

    >>> percent(0.2392)
    '23.9 %'
    """
    return f"{100 * share:.1f} %"


def say(text: str = "", *, indent: int = 0) -> None:
    """Print a paragraph to stdout, wrapped."""
    _print(Padding(Text(plain(text)), (0, 0, 0, indent), expand=False) if text else "")


def say_path(text: str) -> None:
    """Print a line to stdout that may be long: a path is not broken."""
    typer.echo(plain(text))


def say_error(text: str) -> None:
    """Print one line to stderr."""
    typer.echo(plain(text), err=True)


def print_json(result: Any) -> None:
    """Print the result of ``--json``: one line, the only one on stdout."""
    typer.echo(to_json(result))


def _print(what: RenderableType) -> None:
    """Print to stdout without the spaces that rich fills lines with."""
    made = console()
    with made.capture() as lines:
        made.print(what)
    for line in lines.get().splitlines():
        typer.echo(line.rstrip())


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]], *, left: int = 1) -> None:
    """Print a table to stdout.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequences
        The cells; long ones are wrapped to fit.
    left : int
        How many columns, from the first, are aligned to the left; the others to the right.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    cells = [[Text(plain(cell)) for cell in row] for row in rows]
    for position, name in enumerate(head):
        if position < left:
            table.add_column(Text(plain(name)), overflow="fold")
        else:  # figures are never broken; heads are, and names
            widest = max((row[position].cell_len for row in cells), default=0)
            table.add_column(Text(plain(name)), justify="right", overflow="fold", min_width=min(widest, FIGURE))
    for row in cells:
        table.add_row(*row)
    _print(Padding(table, (0, 0, 0, 2), expand=False))


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show a spinner on stderr while something is done; nothing if stderr is no terminal."""
    shown = console(stderr=True)
    if not shown.is_terminal:
        yield
        return
    with shown.status(Text(plain(text))):
        yield


@contextmanager
def progress(total: int) -> Iterator[Any]:
    """Show a bar on stderr; call what is yielded with a text before each of `total` steps."""
    shown = console(stderr=True)
    columns = (
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as bar:
        task = bar.add_task("", total=total)
        begun = False

        def step(text: str) -> None:
            nonlocal begun
            bar.update(task, description=plain(text), advance=1 if begun else 0)
            begun = True

        yield step
