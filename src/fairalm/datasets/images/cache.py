"""Many images, decoded once and kept as one array on disk."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairalm.arrays import IntArray
from fairalm.datasets.images._decode import CHANNELS, Job, Kind, check_pillow, decode_all
from fairalm.exceptions import InputError
from fairalm.files import cache_dir, write_json
from fairalm.folders import new_folder
from fairalm.json_reader import read_json
from fairalm.manifest import digest_of_file
from fairalm.progress import progress_bar

CACHE_VARIABLE = "FAIRALM_CACHE"
PIXELS, ABOUT = "pixels.npy", "images.json"
VERSION = 2  # of `decode`: a new one invalidates old caches
CHUNK = 64  # images per task of a worker
WORTH = 10.0  # seconds of decoding above which workers, which take seconds to start, are worth it
BAR = "reading images"
STALE = 24 * 3600.0  # seconds after which the remains of a killed process are deleted


@dataclass(frozen=True, eq=False)
class Decoded:
    """The images that could be read, in their order, and for the others the reasons."""

    pixels: npt.NDArray[np.uint8]
    kept: IntArray
    reasons: dict[int, str]


def cache_folder() -> Path:
    """The folder named by FAIRALM_CACHE, else ``images`` in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else cache_dir() / "images"


def read_cached(jobs: Sequence[Job], *, size: int, kind: Kind, progress: bool) -> Decoded:
    """Decode files, or read what was decoded before.

    The cache is a folder that is renamed into place when it is complete: an interrupted run leaves none, and of two
    processes that make the same one, the last wins. Its name is a digest of the files and of how they are decoded.
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
            f"The images could not be cached in {folder.parent} ({error.strerror}): name a folder with {need:.0f} MB of"
            f" free space in the environment variable {CACHE_VARIABLE}."
        ) from error
    for _ in range(20):
        found = _open(folder, len(jobs))
        if found is not None:
            return found
        time.sleep(0.05)  # another process is renaming its own into place
    raise InputError(f"{folder} was deleted while it was read: start again.")


def _fingerprint(jobs: Sequence[Job], size: int, kind: Kind) -> str:
    digest = hashlib.sha256(repr((VERSION, size, kind)).encode())
    for job in jobs:
        for path in job:
            try:
                found = os.stat(path)  # noqa: PTH116  # pathlib takes several times as long
                known = (found.st_size, found.st_mtime_ns, found.st_mode)
            except (OSError, ValueError):
                known = (-1, 0, 0)
            full = os.path.abspath(path)  # noqa: PTH100  # likewise
            digest.update(repr((full, known)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _open(folder: Path, n_jobs: int) -> Decoded | None:
    """The content of a folder; None if it is missing, incomplete or damaged."""
    try:
        about = read_json(folder / ABOUT, "images")
        if digest_of_file(folder / PIXELS) != about["sha256"]:
            return None
        pixels = np.lib.format.open_memmap(folder / PIXELS, mode="r")
        reasons = {int(row): str(why) for row, why in about["unreadable"].items()}
    except (OSError, ValueError, AttributeError):
        return None
    kept = np.setdiff1d(np.arange(n_jobs), list(reasons))
    return Decoded(pixels, kept, reasons) if len(kept) == len(pixels) else None


def _clear(folder: Path, n_jobs: int) -> None:
    """Delete a damaged folder, and the remains of killed processes."""
    if folder.exists() and _open(folder, n_jobs) is None:
        shutil.rmtree(folder, ignore_errors=True)
    for left in folder.parent.glob(f".{'[0-9a-f]' * len(folder.name)}.*/*/{PIXELS}"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left.parents[1])


def _fill(folder: Path, jobs: Sequence[Job], size: int, kind: Kind, progress: bool) -> None:
    reasons: dict[int, str] = {}
    shape = (len(jobs), size, size, CHANNELS[kind])
    bar = progress_bar(len(jobs), shown=progress, text=BAR)
    with new_folder(folder, wait=True) as part, (part / PIXELS).open("wb") as file, bar as update:
        _write_header(file, shape)
        done = 0
        for pixels, whys in _decoded(jobs, size, kind):
            file.write(pixels.data)
            reasons |= {done + i: why for i, why in enumerate(whys) if why is not None}
            done += len(whys)
            update(done, BAR)
        if len(reasons) == len(jobs):
            raise InputError(f"None of the {len(jobs)} files could be read; the first, {jobs[0][0]}: {reasons[0]}.")
        file.seek(0)
        _write_header(file, (len(jobs) - len(reasons), *shape[1:]))  # numpy reserves space for another length
        file.flush()
        write_json(part / ABOUT, {"sha256": digest_of_file(part / PIXELS), "unreadable": reasons})


def _write_header(file: Any, shape: tuple[int, ...]) -> None:
    described = {"shape": shape, "fortran_order": False, "descr": "|u1"}
    np.lib.format.write_array_header_1_0(file, described)


def _decoded(jobs: Sequence[Job], size: int, kind: Kind) -> Iterator[tuple[npt.NDArray[np.uint8], list[str | None]]]:
    """Decoded chunks, in order. The time of the first one decides whether the rest is worth several processes."""
    import joblib
    from sklearn.utils.parallel import delayed

    from fairalm.workers import run_jobs

    chunks = [jobs[start : start + CHUNK] for start in range(0, len(jobs), CHUNK)]
    begun = time.perf_counter()
    yield decode_all(chunks[0], size, kind)
    expected = (time.perf_counter() - begun) * (len(chunks) - 1)
    n_jobs = joblib.cpu_count() if expected > WORTH else 1
    yield from run_jobs((delayed(decode_all)(chunk, size, kind) for chunk in chunks[1:]), n_jobs)
