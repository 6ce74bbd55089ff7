"""Files: JSON without NaN, and nothing half-written; :mod:`fairalm.folders` does the same for folders."""

from __future__ import annotations

import io
import json
import math
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairalm.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

AnyPath = str | os.PathLike[str]
#: Files that mark a folder as ours: of a run, an audit, the tables of Local Law 144, and a search for alternatives.
METRICS, AUDIT, LL144, LDA = MARKS = "metrics.json", "audit.json", "ll144.json", "lda.json"


def cache_dir() -> Path:
    """The user's cache folder of fairalm."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairalm"


def write_atomic(path: AnyPath, content: bytes) -> None:
    """Write a file, so that `path` holds either the old content or all of the new."""
    with new_file(path) as part:
        part.write_bytes(content)


@contextmanager
def new_file(path: AnyPath) -> Iterator[Path]:
    """Write a temporary file that is renamed to `path` when the block ends; after an error it is deleted."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        part.replace(path)
    except OSError as error:
        if error.filename is not None and Path(error.filename) not in (part, path.parent):
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error  # name the file, not the temporary one
    finally:
        if part.is_file():
            part.unlink()


def write_csv(path: AnyPath, table: pd.DataFrame) -> None:
    """Write a table as CSV."""
    write_atomic(path, table.to_csv(index=False).encode())


def write_png(path: AnyPath, figure: Any) -> None:
    """Write a matplotlib figure as PNG."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    write_atomic(path, content.getvalue())


def to_json(value: Any) -> str:
    """JSON text; NaN and infinities become null, numpy values their plain ones.

    >>> to_json({"a": np.float64("nan"), "b": (np.int64(1), True)})
    '{"a": null, "b": [1, true]}'
    """
    return json.dumps(_plain(value), allow_nan=False)


def write_json(path: AnyPath, value: Any) -> None:
    """Write JSON, indented."""
    write_atomic(path, (json.dumps(_plain(value), allow_nan=False, indent=1) + "\n").encode())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise InputError(f"A {type(value).__name__} cannot be written as JSON.")


def results_of(folder: AnyPath) -> Path | None:
    """The file that marks a folder as a run; None if it has none."""
    return next((path for path in (Path(folder) / name for name in (METRICS, LDA)) if path.is_file()), None)
