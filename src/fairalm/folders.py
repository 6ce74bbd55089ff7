"""Folders that a command writes: whole or not at all, and by one process at a time."""

from __future__ import annotations

import errno
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from fairalm.exceptions import InputError
from fairalm.files import MARKS, AnyPath, fcntl, is_abandoned, sync
from fairalm.interrupts import uninterrupted

OLD = ".old"  # ends the name of a folder that is being replaced
TEMPORARY = re.compile(r"\.(.+)\.(?:lock|[0-9a-f]{32}(?:\.old)?)")
_locked: set[Path] = set()  # by this process


def check_new_folder(path: AnyPath, *, overwrite: bool = False) -> None:
    """Refuse a folder that :func:`new_folder` could not write."""
    path = Path(path)
    if Path.cwd().is_relative_to(path.resolve()):
        raise InputError(f"{path} is the current folder, or contains it: name another one.")
    if path.is_symlink() or path.exists():
        if not overwrite:
            raise InputError(f"{path} exists: choose another folder, or pass {{overwrite}}.", overwrite=True)
        is_folder = path.is_dir() and not path.is_symlink()
        if not is_folder or not (any((path / mark).is_file() for mark in MARKS) or not any(path.iterdir())):
            raise InputError(f"{path} is not a run of fairalm, so it is not overwritten: choose another folder.")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    for refused, code in ((not parent.is_dir(), errno.ENOTDIR), (not os.access(parent, os.W_OK), errno.EACCES)):
        if refused:
            raise OSError(code, os.strerror(code), str(path))


@contextmanager
def new_folder(path: AnyPath, *, overwrite: bool = False, wait: bool = False) -> Iterator[Path]:
    """Fill a temporary folder that is moved to `path` when the block ends; after an error it is deleted.

    `path` must be free. With `overwrite` it may be a run or an audit (a folder that holds a file of `MARKS`) or an
    empty folder, which stays until the new one is complete. A folder that appears at `path` in the meantime is not
    touched: the new one gets another name, and an error says which. While another process writes `path`, it is refused
    or, with `wait`, waited for. The temporary folder has the name that it will have, inside a hidden one.
    """
    path = Path(path)
    with reserved(path, overwrite=overwrite, wait=wait):
        hidden = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        part = hidden / path.name
        try:
            part.mkdir(parents=True)
            yield part
            _sync(part)
            with uninterrupted():
                _commit(part, path, overwrite=overwrite)
        except OSError as error:
            raise _renamed(error, part, path) from error
        finally:
            with uninterrupted():
                shutil.rmtree(hidden, ignore_errors=True)


@contextmanager
def reserved(path: AnyPath, *, overwrite: bool = False, wait: bool = False) -> Iterator[None]:
    """Check that :func:`new_folder` can write a folder, and keep other processes from writing it within the block."""
    check_new_folder(path, overwrite=overwrite)
    with locked(path, wait=wait):
        check_new_folder(path, overwrite=overwrite)
        yield


@contextmanager
def locked(path: AnyPath, *, wait: bool = False) -> Iterator[None]:
    """Keep other processes from writing the file or folder `path`, whether it exists or not, while the block runs.

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
        file = _lock(lock, path, wait=wait)
        _locked.add(path)
        try:
            tidy(path)
            yield
        finally:
            with uninterrupted():
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
    """What killed processes left of writing the file or folder `path`, unless one is writing it now."""
    return sorted(path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 32}*"))


def clean(folder: Path) -> list[Path]:
    """Tidy after every killed process that wrote into a folder; returns what was deleted or put back.

    What a running process writes stays.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}: check the path.")
    found = {entry: match[1] for entry in sorted(folder.iterdir()) if (match := TEMPORARY.fullmatch(entry.name))}
    for name in dict.fromkeys(found.values()):
        with suppress(InputError), locked(folder / name):  # an error: it is being written
            pass
    return [entry for entry in found if not entry.exists()]


def tidy(path: Path) -> None:
    """Put back a folder that a killed process was replacing, and delete what else it left; `path` must be locked."""
    for left in leftovers(path):
        if left.name.endswith(OLD) and not path.exists():
            left.rename(path)
        elif left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        elif is_abandoned(left):
            left.unlink(missing_ok=True)


def _lock(lock: Path, path: Path, *, wait: bool) -> int:
    """Open and lock a file; the number of the process that has it is in it."""
    while True:
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            continue  # another process has just deleted the parent, which it had made and found empty
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if lock.exists() and lock.stat().st_ino == os.fstat(file).st_ino:
                _write_owner(lock, file)
                return file
            os.close(file)  # the process that had it has just deleted it
        except BlockingIOError:
            who = os.read(file, 20).decode(errors="replace")
            os.close(file)
            raise InputError(
                f"{path} is being written by process {who}: wait for it, or choose another name."
            ) from None
        except BaseException:
            os.close(file)
            raise


def _write_owner(lock: Path, file: int) -> None:
    try:
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
    except OSError as error:  # the disk is full
        lock.unlink(missing_ok=True)
        raise type(error)(error.errno, error.strerror, str(lock)) from error


def _commit(part: Path, path: Path, *, overwrite: bool) -> None:
    """Move the finished folder to its place."""
    old = path.with_name(f"{part.parent.name}{OLD}")
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
        shutil.rmtree(old, ignore_errors=True)
    else:
        free = next(name for n in range(2, 10**6) if not (name := path.with_name(f"{path.name}-{n}")).exists())
        part.rename(free)
        raise InputError(f"{path} appeared while this command ran, so it is not replaced: the result is in {free}.")
    sync(path.parent)


def _renamed(error: OSError, part: Path, path: Path) -> OSError:
    """The same error, about the file as it would have been called."""
    named = Path(error.filename) if isinstance(error.filename, str) else None
    if named is None or not named.is_relative_to(part):
        return error
    return type(error)(error.errno, error.strerror, str(path / named.relative_to(part)))


def _sync(folder: Path) -> None:
    """Have the system write a folder with all its files to the disk, so that the rename cannot come first."""
    for file in folder.rglob("*"):
        sync(file)
    sync(folder)
