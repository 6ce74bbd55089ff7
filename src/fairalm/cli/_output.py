"""What the user sees: results on stdout, everything else on stderr, tables within 80 columns; and files to write."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.files import to_json, write_atomic, write_csv
from fairalm.measures.text import percent
from fairalm.progress import progress_bar
from fairalm.report.facts import gather
from fairalm.report.page import write_page
from fairalm.report.runs import RunSource
from fairalm.report.words import constraint_sentence
from fairalm.runs import Samples

WIDTH = 80
UNBROKEN = 20  # numbers up to this width stay on one line


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


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 fit", "4 fits"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def show_samples(samples: Samples, constraint: Constraint, *lines: str) -> None:
    """Print how many people there are by group, then some lines, then the constraint."""
    positive, groups = samples.data.y, samples.groups
    say(
        f"{samples.data.name}: {len(positive):,} people, {percent(positive.mean())} with {samples.label}; protected:"
        f" {', '.join(samples.data.protected)}."
    )
    if samples.n_dropped:
        say(f"Left out: {samples.n_dropped:,} people without a protected value.")
    print_table(
        ["group", "people", "share", samples.label],
        [
            (name, f"{size:,}", percent(size / len(positive)), percent(positive[groups.codes == code].mean()))
            for code, (name, size) in enumerate(zip(groups.names, groups.sizes, strict=True))
        ],
    )
    say()
    for line in lines:
        say(line)
    say(f"Constraint {constraint_sentence(constraint, samples.label, groups.n_groups)}")


def protected_sentence(samples: Samples) -> str:
    """Say whether the model sees the protected columns, and how to change it."""
    columns = ", ".join(samples.data.protected)
    if samples.with_protected:
        return f"The model may use {columns} (--without-protected keeps it out)."
    return f"The model does not see {columns} (--with-protected lets it)."


def working(text: str) -> AbstractContextManager[Any]:
    """Show on stderr that something is being done."""
    return progress_bar(None, shown=is_terminal(), text=text)


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
    """Write a .csv or .parquet file."""
    if out.suffix.lower() == ".csv":
        write_csv(out, table)
        return
    buffer = io.BytesIO()
    try:
        table.to_parquet(buffer, engine="pyarrow", index=False)
    except ImportError as error:
        raise ImportError('Writing .parquet files needs pyarrow: pip install "fairalm[parquet]"') from error
    write_atomic(out, buffer.getvalue())


def write_report(run: RunSource, page: Path) -> str:
    """Write the page of a run; the line that says where it is, or what to install."""
    try:
        write_page(page, gather([run]))
    except ImportError as error:
        return f"No page. {error}."
    return f"Page: {page}"
