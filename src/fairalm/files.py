"""Files: JSON without NaN, and nothing half-written."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairalm.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

AnyPath = str | os.PathLike[str]
METRICS = "metrics.json"  # the file that marks a folder as a run
LDA = "lda.json"  # the same for a search for less discriminatory alternatives


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


def read_json(path: AnyPath) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        raise InputError(f"There is no file {path}: check the path.") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}).") from error


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


def check_new_folder(path: AnyPath, *, overwrite: bool = False) -> None:
    """Refuse a folder that :func:`new_folder` could not write."""
    path = Path(path)
    if path.is_symlink() or path.exists():
        if not overwrite:
            raise InputError(f"{path} exists: choose another folder, or pass {{overwrite}}.", overwrite=True)
        is_folder = path.is_dir() and not path.is_symlink()
        if not is_folder or not (results_of(path) or not any(path.iterdir())):
            raise InputError(f"{path} is not a run of fairalm, so it is not overwritten: choose another folder.")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    for refused, code in ((not parent.is_dir(), errno.ENOTDIR), (not os.access(parent, os.W_OK), errno.EACCES)):
        if refused:
            raise OSError(code, os.strerror(code), str(path))


@contextmanager
def new_folder(path: AnyPath, *, overwrite: bool = False) -> Iterator[Path]:
    """Fill a temporary folder that is moved to `path` when the block ends; after an error it is deleted.

    `path` must be free. With `overwrite` it may be a run (see :func:`results_of`) or an empty folder.
    """
    path = Path(path)
    check_new_folder(path, overwrite=overwrite)
    made = [folder for folder in path.parents if not folder.exists()]  # the nearest first
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        part.mkdir(parents=True)
        yield part
        if path.is_dir():
            old = path.with_name(f"{part.name}.old")
            path.replace(old)
            part.replace(path)
            shutil.rmtree(old)
        else:
            part.replace(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        for folder in made:
            with suppress(OSError):  # not empty
                folder.rmdir()
        raise
