"""The history of a run as curves in TensorBoard."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def find_writer() -> Any:
    """TensorBoard's ``SummaryWriter``; an error that says what to install if TensorBoard is missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError('`tensorboard` needs TensorBoard: pip install "fairalm[tensorboard]".') from error
    return SummaryWriter


@contextmanager
def tensorboard_log(folder: Path | None, first: int) -> Iterator[Callable[[Row], None]]:
    """A callback that logs one row of the history; it does nothing if `folder` is None.

    Logged epochs from `first` on, which a killed run may have written, are dropped.
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
