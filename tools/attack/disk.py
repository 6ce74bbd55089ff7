"""A full disk at every write: the writes of a command are counted, then each in turn is the first that fails.

The writes fail in the C library (full_disk.c, loaded with LD_PRELOAD), below Python and every package that it uses.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tools.attack.commands import Command, Process, import_libraries, prepare, undisturbed
from tools.attack.outcome import Outcome

SOURCE = Path(__file__).with_name("full_disk.c")
NAMES = ("train logistic", "train --overwrite", "train mlp", "train relu3 on images", "frontier", "compare", "audit")
NAMES += ("lda", "report")
SHORT = ("audit",)
COUNT = "writes"  # file beside the folder of a command, with the number of its writes


def attack(*, full: bool, seed: int, commands: Iterable[str] | None = None) -> Iterator[Outcome]:
    """One row for each command, or those that are named; `seed` is not used, since every write is tried."""
    if shutil.which("gcc") is None:
        yield Outcome("full disk", note="not run: needs gcc")
        return
    root = Path(tempfile.mkdtemp(prefix="fairalm-disk-"))
    try:
        library = root / "full_disk.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
        os.environ["LD_PRELOAD"] = str(library)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2 if full else 1, mp_context=context, initializer=import_libraries) as pool:
            made = pool.submit(prepare, root).result()
            for name in commands or (NAMES if full else SHORT):
                yield _attack_one(pool, made[name], root)
    finally:
        os.environ.pop("LD_PRELOAD", None)
        shutil.rmtree(root, ignore_errors=True)


def _attack_one(pool: Any, command: Command, root: Path) -> Outcome:
    expected, _ = pool.submit(undisturbed, command, root / "whole").result()
    n_writes = pool.submit(count_writes, command, root / "counted").result()
    outcome = Outcome(f"full disk: {command.name}", note=f"{n_writes} writes")
    folders = [root / f"full-{n}" for n in range(1, n_writes + 1)]
    tried = [pool.submit(fill, command, folder, n, expected) for n, folder in enumerate(folders, start=1)]
    for n, failures in enumerate(tried, start=1):
        outcome.tries += 1
        for kind, how in failures.result():
            outcome.fail(kind, f"write {n}: {how}")
    return outcome


def count_writes(command: Command, folder: Path) -> int:
    """How many writes below its folder a command makes."""
    command.prepare(folder)
    counted = folder.with_name(COUNT)
    Process(command.module, command.line(folder), folder, warm=True, before=_full(folder, 0), after=_count).end()
    return int(counted.read_text())


def fill(command: Command, folder: Path, n: int, expected: Any) -> list[tuple[str, str]]:
    """Run a command on a disk whose n-th write fails; then, with space again, the same command must finish."""
    command.prepare(folder)
    ended = Process(command.module, command.line(folder), folder, warm=True, before=_full(folder, n)).end()
    failures = [("corrupt", problem) for problem in command.damage(folder)]
    if ended.code is None:
        failures.append(("hang", "did not end"))
    lines = [line for line in ended.said.splitlines() if not line.startswith("Warning: ")]
    is_sentence = ended.code == 2 and len(lines) == 1 and "No space left on device" in lines[0]
    if not is_sentence and not (ended.code == 0 and command.is_complete(folder)):
        failures.append(("traceback", f"code {ended.code}: {ended.said[-300:]!r}"))
    left = [path.name for path in folder.rglob(".*")]
    if left:
        failures.append(("lost", f"left behind: {left}"))
    if command.replaces is not None and not command.is_complete(folder):
        failures.append(("lost", "the older output is gone"))
    if problem := command.finish(folder, expected):
        failures.append(("lost", problem))
    shutil.rmtree(folder, ignore_errors=True)
    return failures


def _full(folder: Path, n: int) -> Any:
    return lambda: ctypes.CDLL(None).fill(os.fsencode(folder), ctypes.c_long(n))


def _count() -> None:
    Path("..", COUNT).write_text(str(ctypes.CDLL(None).n_writes()))
