"""Many pictures, decoded once and kept as one array on disk."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairalm._validation import IntArray
from fairalm.datasets.images._decode import CHANNELS, Job, Kind, check_pillow, decode_all
from fairalm.exceptions import InputError
from fairalm.files import cache_dir, new_folder, write_json

CACHE_VARIABLE = "FAIRALM_CACHE"
VERSION = 1  # of what `decode` does: a new one makes old caches be read anew
CHUNK = 64  # pictures a worker is given at a time
WORTH = 10.0  # seconds of decoding from which workers, which take some seconds to start, are worth it
STALE = 24 * 3600.0  # seconds after which what a killed process left behind is cleared away


@dataclass(frozen=True, eq=False)
class Decoded:
    """The pictures that could be read, in their order, and why the others could not."""

    pixels: npt.NDArray[np.uint8]
    kept: IntArray
    reasons: dict[int, str]


def cache_folder() -> Path:
    """The folder named by FAIRALM_CACHE, else ``images`` in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else cache_dir() / "images"


def read_cached(jobs: Sequence[Job], *, size: int, kind: Kind, progress: bool) -> Decoded:
    """Decode files, or find what was decoded before.

    The cache is a folder that takes its place by a rename when it is whole: an interrupted run leaves none, and two
    processes that want the same one each make it, and the last one stays. Its name is a digest of the files' names,
    sizes, times and modes and of how they are decoded, so that a changed file is read anew.
    """
    folder = cache_folder() / _fingerprint(jobs, size, kind)
    found = _open(folder, len(jobs))
    if found is not None:
        return found
    check_pillow()
    try:
        _clear(folder, len(jobs))
        _fill(folder, jobs, size, kind, progress)
    except (OSError, InputError) as error:
        found = _open(folder, len(jobs))
        if found is not None:  # another process was faster
            return found
        if isinstance(error, InputError):
            raise
        need = len(jobs) * size * size * CHANNELS[kind] / 2**20
        raise InputError(
            f"The pictures could not be kept in {folder.parent} ({error.strerror}): name a folder with {need:.0f} MB to"
            f" spare in the environment variable {CACHE_VARIABLE}."
        ) from error
    for _ in range(20):
        found = _open(folder, len(jobs))
        if found is not None:
            return found
        time.sleep(0.05)  # another process is putting its own in the same place
    raise InputError(f"{folder} was taken away while it was read: start again.")


def _fingerprint(jobs: Sequence[Job], size: int, kind: Kind) -> str:
    digest = hashlib.sha256(repr((VERSION, size, kind)).encode())
    for job in jobs:
        for path in job:
            try:
                found = os.stat(path)  # noqa: PTH116  # pathlib takes several times as long, over all files
                known = (found.st_size, found.st_mtime_ns, found.st_mode)
            except (OSError, ValueError):
                known = (-1, 0, 0)
            full = os.path.abspath(path)  # noqa: PTH100  # likewise
            digest.update(repr((full, known)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _open(folder: Path, n_jobs: int) -> Decoded | None:
    """What a folder holds; None if it is not there or not whole."""
    try:
        pixels = np.lib.format.open_memmap(folder / "pixels.npy", mode="r")
        reasons = {int(row): str(why) for row, why in json.loads((folder / "unreadable.json").read_text()).items()}
    except (OSError, ValueError, AttributeError):
        return None
    kept = np.setdiff1d(np.arange(n_jobs), list(reasons))
    return Decoded(pixels, kept, reasons) if len(kept) == len(pixels) else None


def _clear(folder: Path, n_jobs: int) -> None:
    """Take away a damaged folder, and what killed processes left."""
    if folder.exists() and _open(folder, n_jobs) is None:
        shutil.rmtree(folder, ignore_errors=True)
    for left in folder.parent.glob(f".{'[0-9a-f]' * len(folder.name)}.*/pixels.npy"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left.parent)


def _fill(folder: Path, jobs: Sequence[Job], size: int, kind: Kind, progress: bool) -> None:
    reasons: dict[int, str] = {}
    shape = (len(jobs), size, size, CHANNELS[kind])
    with new_folder(folder) as part, (part / "pixels.npy").open("wb") as file, _bar(len(jobs), progress) as tick:
        _write_header(file, shape)
        done = 0
        for pixels, whys in _decoded(jobs, size, kind):
            file.write(pixels.data)
            reasons |= {done + i: why for i, why in enumerate(whys) if why is not None}
            done += len(whys)
            tick(done)
        if len(reasons) == len(jobs):
            raise InputError(f"None of the {len(jobs)} files could be read; the first, {jobs[0][0]}: {reasons[0]}.")
        file.seek(0)
        _write_header(file, (len(jobs) - len(reasons), *shape[1:]))  # numpy leaves room in it for another length
        write_json(part / "unreadable.json", reasons)


def _write_header(file: Any, shape: tuple[int, ...]) -> None:
    described = {"shape": shape, "fortran_order": False, "descr": "|u1"}
    np.lib.format.write_array_header_1_0(file, described)


def _decoded(jobs: Sequence[Job], size: int, kind: Kind) -> Iterator[tuple[npt.NDArray[np.uint8], list[str | None]]]:
    """Chunks in order; after a first one, which says how long the rest will take, by one process or all cores."""
    import joblib

    chunks = [jobs[start : start + CHUNK] for start in range(0, len(jobs), CHUNK)]
    begun = time.perf_counter()
    yield decode_all(chunks[0], size, kind)
    expected = (time.perf_counter() - begun) * (len(chunks) - 1)
    run = joblib.Parallel(n_jobs=joblib.cpu_count() if expected > WORTH else 1, return_as="generator")
    yield from run(joblib.delayed(decode_all)(chunk, size, kind) for chunk in chunks[1:])


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A callback that moves a progress bar on stderr; one that does nothing if no bar is wanted."""
    if not shown:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading pictures", total=total)
        yield lambda done: bar.update(task, completed=done)
