"""The progress bar of everything that takes long: on stderr, and only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int | None, *, shown: bool, text: str = "") -> Iterator[Callable[[int, str], None]]:
    """A callback ``update(done, text)`` that moves a progress bar.

    Parameters
    ----------
    total : int or None
        Steps in all; None if that is not known.
    shown : bool
        Whether to show a bar; otherwise the callback does nothing.
    text : str
        What stands beside the bar before the first update.
    """
    if not shown:
        yield lambda done, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda done, text: bar.update(task, completed=done, description=text)
