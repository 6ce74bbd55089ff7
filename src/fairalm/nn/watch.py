"""What one can watch while a net is trained: a bar on stderr, curves in TensorBoard."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Row = dict[str, Any]


@contextmanager
def epoch_bar(total: int, shown: bool) -> Iterator[Callable[[int, list[Row]], None]]:
    """A callback for the step just made and the rows of the history so far.

    Parameters
    ----------
    total : int
        Steps in all; 0 if that is not known.
    shown : bool
        Without it the callback does nothing.
    """
    if not shown:
        yield lambda step, rows: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("epoch 0", total=total or None)

        def show(step: int, rows: list[Row]) -> None:
            text = f"epoch {len(rows)}"
            if rows and "valid_error" in rows[-1]:
                text += f": error {100 * rows[-1]['valid_error']:.1f} %"
            bar.update(task, completed=step, description=text)

        yield show


def find_writer() -> Any:
    """TensorBoard's writer."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError('`tensorboard` needs TensorBoard: pip install "fairalm[tensorboard]".') from error
    return SummaryWriter


@contextmanager
def curves(folder: Path | None, first: int) -> Iterator[Callable[[Row], None]]:
    """A callback that writes a row of the history for TensorBoard; does nothing without a folder.

    Parameters
    ----------
    folder : path or None
        Where the event file goes.
    first : int
        The first epoch to come; later ones that a killed run may have written are dropped.
    """
    if folder is None:
        yield lambda row: None
        return
    with find_writer()(folder, purge_step=first) as writer:

        def log(row: Row) -> None:
            for name, value in row.items():
                if name != "epoch" and math.isfinite(value):
                    writer.add_scalar(name.replace("_", "/", 1), value, row["epoch"])
            writer.flush()

        yield log
