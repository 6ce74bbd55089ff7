"""Files: JSON without NaN, and nothing half-written; :mod:`fairalm.folders` does the same for folders."""

from __future__ import annotations

import io
import json
import math
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairalm.exceptions import InputError
from fairalm.interrupts import uninterrupted
from fairalm.spreadsheets import write_rows

if TYPE_CHECKING:
    import pandas as pd

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: no lock
    fcntl = None

AnyPath = str | os.PathLike[str]
#: Files that mark a folder as ours: of a run, an audit, the tables of Local Law 144, and a search for alternatives.
METRICS, AUDIT, LL144, LDA = MARKS = "metrics.json", "audit.json", "ll144.json", "lda.json"

FORGOTTEN = 3600.0  # seconds after which nobody writes a temporary file any more
_parts: set[Path] = set()  # temporary files that this process is writing


def cache_dir() -> Path:
    """The user's cache folder of fairalm, where the operating system has such folders."""
    from platformdirs import user_cache_path

    return user_cache_path("fairalm", appauthor=False)


def write_atomic(path: AnyPath, content: bytes) -> None:
    """Write a file, so that `path` holds either the old content or all of the new."""
    with new_file(path) as part:
        part.write_bytes(content)


@contextmanager
def new_file(path: AnyPath) -> Iterator[Path]:
    """Write a temporary file that is renamed to `path` when the block ends; after an error it is deleted."""
    with new_files(Path(path)) as (part,):
        yield part


@contextmanager
def new_files(*paths: Path) -> Iterator[list[Path]]:
    """Write temporary files that are renamed to `paths` when the block ends; one that is not written is left out.

    After an error they are deleted, and no file of `paths` has changed. While they are written they are locked, so that
    :func:`is_abandoned` can tell those of a killed process.
    """
    if all(path in _parts for path in paths):  # within a block of this function
        yield list(paths)
        return
    parts = [path.with_name(f".{path.name}.{uuid.uuid4().hex}") for path in paths]
    named = {**dict(zip(parts, paths, strict=True)), **{path.parent: path for path in reversed(paths)}}
    locks: list[int] = []
    _parts.update(parts)
    try:
        for part in parts:
            part.parent.mkdir(parents=True, exist_ok=True)
            locks.append(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))
            if fcntl is not None:
                fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield parts
        written = [part for part in parts if part.stat().st_size]
        for part in written:
            sync(part)
        with uninterrupted():
            for part in written:
                part.replace(named[part])
    except OSError as error:
        if error.filename is not None and Path(error.filename) not in named:
            raise
        path = paths[0] if error.filename is None else named[Path(error.filename)]
        raise type(error)(error.errno, error.strerror, str(path)) from error  # name the file, not the temporary one
    finally:
        with uninterrupted():
            _parts.difference_update(parts)
            for part in parts:
                part.unlink(missing_ok=True)
            for lock in locks:
                os.close(lock)


def is_abandoned(part: Path) -> bool:
    """Whether the process that wrote a temporary file has ended; where files cannot be locked, after an hour."""
    try:
        if fcntl is None:
            return time.time() - part.stat().st_mtime > FORGOTTEN
        file = os.open(part, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def sync(path: Path) -> None:
    """Have the system write a file or folder to the disk, so that a rename cannot come first."""
    if os.name != "posix" and path.is_dir():
        return  # cannot be opened there
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def write_csv(path: AnyPath, table: pd.DataFrame, *, raw: bool = False) -> None:
    """Write a table as CSV; text that a spreadsheet would take for a formula gets an apostrophe, unless `raw`."""
    text = io.StringIO(newline="")
    write_rows(text, table, raw=raw)
    write_atomic(path, text.getvalue().encode("utf-8", "surrogateescape"))


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
