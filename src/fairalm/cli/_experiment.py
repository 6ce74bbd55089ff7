"""What all commands of ``fairalm reproduce`` that run cells share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from fairalm.cli._models import check_choice
from fairalm.cli._output import progress, say, say_error
from fairalm.exceptions import InputError
from fairalm.experiments.cells import Cell, Result, Store, run_cells

C = TypeVar("C", bound=Cell)

Jobs = Annotated[int, typer.Option(metavar="J", min=-1, help="Processes.", show_default="one per core")]
Quick = Annotated[bool, typer.Option("--quick", help="A small version, in minutes, to see that all works.")]


def check_jobs(jobs: int) -> None:
    """Refuse 0 processes."""
    if jobs == 0:
        raise InputError("--jobs must be 1 or more, or -1 for one per core; got 0.")


def by_comma(text: str, what: str, known: Iterable[str]) -> list[str]:
    """The names in an option, each once, in the order of `known`."""
    names = tuple(known)
    chosen = [name.strip() for name in text.split(",") if name.strip()]
    for name in chosen:
        check_choice(what, name, names)
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
        As of :func:`fairalm.experiments.cells.run_cells`.
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
        raise InputError("No cell came to an end: see the warnings above.")
    return results, len(failed)
