"""Folders that a command writes: whole or not at all, and by one process at a time."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any

from fairalm.exceptions import InputError
from fairalm.files import METRICS, AnyPath

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: no lock
    fcntl = None

OLD = ".old"  # ends the name of a folder that is being replaced
LOCK, TEMPORARY = re.compile(r"\.(.+)\.lock"), re.compile(r"\.(.+)\.(?:lock|[0-9a-f]{32}(?:\.old)?)")
FORGOTTEN = 3600.0  # seconds after which nobody writes a temporary file any more
_locked: set[Path] = set()  # by this process


def check_new_folder(path: AnyPath, *, overwrite: bool = False) -> None:
    """Refuse a folder that :func:`new_folder` could not write."""
    path = Path(path)
    if path.resolve() == Path.cwd():
        raise InputError(f"{path} is the current folder: name another one.")
    if path.is_symlink() or path.exists():
        if not overwrite:
            raise InputError(f"{path} exists: choose another folder, or pass {{overwrite}}.", overwrite=True)
        is_run = path.is_dir() and not path.is_symlink() and ((path / METRICS).is_file() or not any(path.iterdir()))
        if not is_run:
            raise InputError(f"{path} is not a run of fairalm, so it is not overwritten: choose another folder.")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    for refused, code in ((not parent.is_dir(), errno.ENOTDIR), (not os.access(parent, os.W_OK), errno.EACCES)):
        if refused:
            raise OSError(code, os.strerror(code), str(path))


@contextmanager
def new_folder(path: AnyPath, *, overwrite: bool = False, wait: bool = False) -> Iterator[Path]:
    """Fill a temporary folder that is moved to `path` when the block ends; after an error it is deleted.

    `path` must be free. With `overwrite` it may be a run (a folder that holds a metrics.json) or an empty folder, which
    stays until the new one is complete. A folder that appears at `path` in the meantime is not touched: the new one
    gets another name, and an error says which. While another process writes `path`, it is refused or, with `wait`,
    waited for.
    """
    path = Path(path)
    check_new_folder(path, overwrite=overwrite)
    with locked(path, wait=wait):
        check_new_folder(path, overwrite=overwrite)
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            part.mkdir(parents=True)
            yield part
            _sync(part)
            _commit(part, path, overwrite=overwrite)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


@contextmanager
def locked(path: AnyPath, *, wait: bool = False) -> Iterator[None]:
    """Keep other processes from writing the folder `path`, whether it exists or not, while the block runs.

    The lock is a file beside it that the system releases when the process ends, however that happens. Before the block,
    what a killed process left is tidied: a folder that it was replacing is put back, others are deleted. After it, an
    empty parent folder that was made for it is deleted again.
    """
    path = Path(path).absolute()
    if path in _locked:
        yield
        return
    made = [folder for folder in path.parents if not folder.exists()]  # the nearest first
    lock = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _lock(lock, path, wait=wait)
        _locked.add(path)
        try:
            tidy(path)
            yield
        finally:
            _locked.discard(path)
            lock.unlink(missing_ok=True)
            os.close(file)
    except OSError as error:
        if error.filename is None or Path(error.filename) != lock:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error  # name the folder, not its lock
    finally:
        for folder in made:
            with suppress(OSError):  # not empty
                folder.rmdir()


def leftovers(path: Path) -> list[Path]:
    """What killed processes left of writing the folder `path`, unless one is writing it now."""
    return sorted(left for left in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 32}*") if left.is_dir())


def clean(folder: Path) -> list[Path]:
    """Tidy after every killed process that wrote into a folder; returns what was deleted or put back.

    What a running process has locked stays, and so does a temporary file that changed within the last hour.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}: check the path.")
    found = {entry: match[1] for entry in sorted(folder.iterdir()) if (match := TEMPORARY.fullmatch(entry.name))}
    for name in dict.fromkeys(found.values()):
        with suppress(InputError), locked(folder / name):  # an error: it is being written
            pass
    for entry in found:
        if entry.is_file() and not LOCK.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > FORGOTTEN:
            entry.unlink()
    return [entry for entry in found if not entry.exists()]


def tidy(path: Path) -> None:
    """Put back a folder that a killed process was replacing, and delete what else it left; `path` must be locked."""
    for left in leftovers(path):
        if left.name.endswith(OLD) and not path.exists():
            left.rename(path)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _lock(lock: Path, path: Path, *, wait: bool) -> int:
    """Open and lock a file; the number of the process that has it is in it."""
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if lock.exists() and lock.stat().st_ino == os.fstat(file).st_ino:
                os.ftruncate(file, 0)
                os.write(file, str(os.getpid()).encode())
                return file
            os.close(file)  # the process that had it has just deleted it
        except BlockingIOError:
            who = os.read(file, 20).decode(errors="replace")
            os.close(file)
            raise InputError(
                f"{path} is being written by process {who}: wait for it, or name another folder."
            ) from None
        except BaseException:
            os.close(file)
            raise


def _commit(part: Path, path: Path, *, overwrite: bool) -> None:
    """Move the finished folder to its place."""
    old = path.with_name(f"{part.name}{OLD}")
    if not path.exists():
        part.rename(path)
    elif overwrite:
        try:
            path.rename(old)
            part.rename(path)
        except BaseException:
            if old.exists() and not path.exists():
                old.rename(path)
            raise
        shutil.rmtree(old)
    else:
        free = next(name for n in range(2, 10**6) if not (name := path.with_name(f"{path.name}-{n}")).exists())
        part.rename(free)
        raise InputError(f"{path} appeared while this command ran, so it is not replaced: the result is in {free}.")
    _sync_entry(path.parent)


def _sync(folder: Path) -> None:
    """Have the system write a folder with all its files to the disk, so that the rename cannot come first."""
    for file in folder.rglob("*"):
        _sync_entry(file)
    _sync_entry(folder)


def _sync_entry(path: Path) -> None:
    if os.name != "posix" and path.is_dir():
        return  # cannot be opened there
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
