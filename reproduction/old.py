"""What the commands share that are not yet written as an Experiment. Goes with the last of them."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pandas as pd
import typer

from fairalm.exceptions import InputError
from fairalm.io import to_json, write_atomic
from fairalm.progress import progress_bar
from fairalm.report.facts import gather
from fairalm.report.maps import Maps
from fairalm.report.page import write_page
from fairalm.report.runs import RunSource as Source
from reproduction.cells import Cell, Result, Store, run_cells
from reproduction.console import is_terminal, print_table, say, say_error

__all__ = ["is_terminal", "print_table", "say"]

C = TypeVar("C", bound=Cell)
PAGE = "report.html"

Jobs = Annotated[int, typer.Option(metavar="J", min=-1, help="Processes.", show_default="one per core")]
Quick = Annotated[bool, typer.Option("--quick", help="A small version, in minutes, to see that all works.")]
DataDir = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Folder with the official files of a data set by name."),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="The same seed gives the same result.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else, to stdout.")]
Download = Annotated[
    bool,
    typer.Option("--download", help="Fetch 'law', which is not shipped, if it is not there."),
]


def typed(context: Any) -> str:
    """The command as it was typed."""
    return shlex.join(["python", "-m", "reproduction", *sys.argv[1:]])


def say_path(text: str) -> None:
    """Print one line."""
    say(text, wrap=False)


def print_json(result: Any) -> None:
    """Print the result of ``--json``."""
    say_path(to_json(result))


def write_table(out: Path, table: pd.DataFrame) -> None:
    """Write .csv, all or nothing."""
    text = io.StringIO()
    table.to_csv(text, index=False)
    write_atomic(out, text.getvalue().encode("utf-8"))


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show that something is done."""
    with progress_bar(None, shown=is_terminal(), text=text):
        yield


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar; call what is yielded with a text before each step."""
    begun = -1
    with progress_bar(total, shown=is_terminal()) as update:

        def step(text: str) -> None:
            nonlocal begun
            begun += 1
            update(begun, text)

        yield step


def older(out: Path) -> str:
    """What is said where there is nothing to show."""
    return f"No page: the jobs in {out} keep nothing to show"


def write_report(run: Source | None, page: Path, *, maps: Maps | None = None) -> str:
    """Write the page of a run, on disk or not; the line that says where it is, or why there is none."""
    if run is None:
        return older(page.parent)
    try:
        write_page(page, gather([run], maps=maps))
    except ImportError as error:
        return f"No page. {error}."
    return f"Page: {page}"


def to_say(lines: Iterable[str], out: Path) -> list[str]:
    """Each line of several pages once."""
    found = list(dict.fromkeys(lines))
    return [line for line in found if line != older(out)] or found


def write_reports(runs: Iterable[tuple[str, Source]], folder: Path) -> str:
    """Write a page per run and name; the line that says how many and where, what to install, or why there is none."""
    n_pages = 0
    try:
        for name, run in runs:
            write_page(folder / f"{name}.html", gather([run]))
            n_pages += 1
    except ImportError as error:
        return f"No page. {error}."
    return f"Pages: {n_pages} in {folder}" if n_pages else older(folder.parent)


def check_jobs(jobs: int) -> None:
    """Refuse 0 processes."""
    if jobs == 0:
        raise InputError("--jobs must be 1 or more, or -1 for one per core; got 0.")


def by_comma(text: str, what: str, known: Iterable[str]) -> list[str]:
    """The names in an option, each once, in the order of `known`."""
    names = tuple(known)
    chosen = [name.strip() for name in text.split(",") if name.strip()]
    for name in chosen:
        if name not in names:
            raise InputError(f"There is no {what} {name!r}; there are: {', '.join(names)}.")
    if not chosen:
        raise InputError(f"No {what} is named; there are {', '.join(names)}.")
    return [name for name in names if name in chosen]


def drawn(draw: Callable[[], None]) -> str:
    """Draw the pictures; what to say if that is not possible."""
    try:
        draw()
    except ImportError as error:
        return f"No pictures: {error}"
    return ""


def run_all(
    cells: Sequence[C],
    out: Path,
    run: Callable[[C, str | None], Result],
    *,
    jobs: int = -1,
    dask: str | None = None,
    data_dir: str | None = None,
    is_quiet: bool = False,
) -> tuple[list[Result], int]:
    """Run the cells that are not in the folder yet, with a bar.

    Parameters
    ----------
    cells : sequence of Cell
        In the order in which they are run and returned.
    out : Path
        The folder of the experiment, made before any work.
    run, jobs, dask, data_dir
        As of :func:`reproduction.cells.run_cells`.
    is_quiet : bool
        Say nothing on stdout, for ``--json``.

    Returns
    -------
    results, n_failed
        What came to an end, and how many cells did not, which are named on stderr.
    """
    check_jobs(jobs)
    out.mkdir(parents=True, exist_ok=True)  # before the work, in case it cannot be
    store = Store(out)
    to_do = [cell for cell in cells if store.read(cell) is None]
    if len(to_do) < len(cells) and not is_quiet:
        say(f"{len(cells) - len(to_do)} of {len(cells)} cells are in {out} already.")
    with progress(len(to_do)) as step:
        step(f"the first of {len(to_do)}" if to_do else "")
        results, failed = run_cells(
            cells,
            store,
            run,
            jobs=jobs,
            dask=dask,
            data_dir=data_dir,
            on_cell=lambda cell: step(f"{cell.name} done"),
        )
    for cell, why in failed.items():
        say_error(f"Warning: {cell.name} failed and will be tried again by the same command: {why}")
    if not results:
        raise InputError("Every job failed; see the warnings above.")
    return results, len(failed)


def run_command(name: str, arguments: Sequence[str]) -> None:
    """Run a command that is a function with typer's options."""
    import importlib

    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(name)(getattr(importlib.import_module(f"reproduction.{name}.command"), name))
    app(list(arguments), prog_name=f"python -m reproduction {name}", standalone_mode=True)


def invoke(arguments: Sequence[str]) -> Any:
    """Run a command line, for the tests."""
    from contextlib import redirect_stderr, redirect_stdout
    from types import SimpleNamespace

    from reproduction.__main__ import main

    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            code = main(arguments[1:])
        except SystemExit as ended:
            code = int(ended.code or 0)
    said = {"stdout": out.getvalue(), "stderr": err.getvalue()}
    return SimpleNamespace(exit_code=code, exception=None, output="".join(said.values()), **said)
