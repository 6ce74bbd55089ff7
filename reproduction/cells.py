"""The cells of an experiment, on all cores, kept one by one so that nothing is made twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from joblib import Parallel, delayed, parallel_config

from fairalm.exceptions import InputError
from fairalm.io import AnyPath, write_json


class Cell(Hashable, Protocol):
    """One piece of an experiment, which is run as a whole or not at all."""

    @property
    def name(self) -> str:
        """For the bar, and for the file it is kept in."""
        ...

    @property
    def config(self) -> dict[str, Any]:
        """All that its figures depend on, but for the code."""
        ...


C = TypeVar("C", bound=Cell)
Result = dict[str, Any]  # has the cell's config under "config"


class Store:
    """A folder with one file per finished cell.

    Parameters
    ----------
    folder : path
        Made when the first cell is kept.
    """

    def __init__(self, folder: AnyPath) -> None:
        self.folder = Path(folder)

    def _path(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.name}.json"

    def read(self, cell: Cell) -> Result | None:
        """What was kept of a cell; None if it is still to be run."""
        path = self._path(cell)
        if not path.is_file():
            return None
        try:
            kept: Result = json.loads(path.read_text(encoding="utf-8"))
            config = kept["config"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} is not a cell of this experiment: remove it, or choose another folder."
            ) from error
        if config != json.loads(json.dumps(cell.config)):
            raise InputError(f"{path} was made with other settings: choose another folder for these.")
        return kept

    def keep(self, cell: Cell, result: Result) -> None:
        """Write a finished cell."""
        write_json(self._path(cell), result)


def run_cells(
    cells: Sequence[C],
    store: Store,
    run: Callable[[C, str | None], Result],
    *,
    jobs: int = -1,
    dask: str | None = None,
    data_dir: str | None = None,
    on_cell: Callable[[C], None] | None = None,
) -> tuple[list[Result], dict[C, str]]:
    """Run what is not kept yet.

    Parameters
    ----------
    cells : sequence of Cell
        What is wanted.
    store : Store
        What is there already; a finished cell is written at once.
    run : callable
        Gives the result of a cell, from the cell and `data_dir`; a function of a module, since it is sent to processes.
    jobs : int
        Processes; -1 for one per core.
    dask : str, optional
        Address of a Dask scheduler whose workers do the work instead. They need fairalm and the data.
    data_dir : str, optional
        Folder with the official files.
    on_cell : callable, optional
        Called with each cell as it is finished.

    Returns
    -------
    results, failed
        One dict per finished cell, in the order of `cells`, and why others were not.
    """
    kept = {cell: store.read(cell) for cell in cells}
    to_do = [cell for cell in cells if kept[cell] is None]
    failed: dict[C, str] = {}
    with _workers(jobs, dask):
        work = Parallel(return_as="generator_unordered")(delayed(_attempt)(run, cell, data_dir) for cell in to_do)
        for cell, result, why in work:
            if result is None:
                failed[cell] = why
            else:
                store.keep(cell, result)
                kept[cell] = result
            if on_cell is not None:
                on_cell(cell)
    return [result for result in kept.values() if result is not None], failed


def _attempt(run: Callable[[C, str | None], Result], cell: C, data_dir: str | None) -> tuple[C, Result | None, str]:
    """A cell that breaks down must not take the others with it."""
    try:
        return cell, run(cell, data_dir), ""
    except Exception as error:
        return cell, None, f"{type(error).__name__}: {error}"


@contextmanager
def _workers(jobs: int, dask: str | None) -> Iterator[None]:
    if dask is None:
        with parallel_config(backend="loky", n_jobs=jobs):
            yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError('A Dask cluster needs dask: pip install "fairalm[dask]".') from error
    try:
        client = Client(dask, timeout=10)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise InputError(f"There is no Dask scheduler at {dask}: start one, or check the address.") from error
    with client, parallel_config(backend="dask"):
        yield
