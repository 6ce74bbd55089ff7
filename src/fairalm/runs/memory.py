"""Whether a table fits in memory, before it is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairalm.datasets import MOST_CATEGORIES, Table
from fairalm.exceptions import InputError

SMALL = 100_000  # rows that are not worth a look
COPIES = 3.0  # of the table, and of the matrix of numbers that a model is fitted to; see docs/how-to/big-data.md


def check_memory(table: Table, columns: Sequence[str], name: str, rows: int | None = None) -> None:
    """Refuse to train on more rows than fit in memory, as far as the first rows tell."""
    n_rows = min(table.n_rows, rows or table.n_rows)
    free = free_memory()
    if n_rows <= SMALL or free is None:
        return
    needed = n_rows * bytes_per_row(table.head(columns))
    if needed > free:
        raise InputError(
            f"To train on {n_rows:,} rows of {name} takes about {needed / 1e9:.1f} GB of memory, of which"
            f" {free / 1e9:.1f} GB are free: pass {{rows}} to train on a sample, leave columns out with {{drop}}, or"
            " train in batches or in Spark (docs/how-to/big-data.md).",
            rows=max(int(n_rows * free / needed / 2), 1),
            drop=None,
        )


def bytes_per_row(head: pd.DataFrame) -> float:
    """Memory that training takes for each row of a table, from some of its rows."""
    width = 0
    for name in head.columns:
        is_number = is_numeric_dtype(head[name].dtype) and not is_bool_dtype(head[name].dtype)
        width += 1 if is_number else min(head[name].nunique() + 1, MOST_CATEGORIES)
    return COPIES * (float(head.memory_usage(index=False, deep=True).sum()) / len(head) + 8 * width)


def free_memory() -> int | None:
    """Bytes that this process may still take; None where the system does not say."""
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        free = 1024 * int(lines["MemAvailable"].split()[0])
    except OSError:
        return None
    try:  # a container may have less
        limit, taken = (Path("/sys/fs/cgroup", file).read_text() for file in ("memory.max", "memory.current"))
        return min(free, int(limit) - int(taken))
    except (OSError, ValueError):  # it has no limit
        return free
