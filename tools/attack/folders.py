"""Two processes write one output at the same time: one is told so at once, or both finish in order."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tools.attack.commands import Command, Process, import_libraries, prepare, undisturbed
from tools.attack.outcome import Outcome

ROUNDS = 25
SHORT = ("audit", "report")
NAMES = ("train logistic", "train --overwrite", "train mlp", "frontier", "compare", "audit", "lda", "report")
REFUSED = ("is being written by process", "exists: choose another")


def attack(*, full: bool, seed: int, commands: Iterable[str] | None = None) -> Iterator[Outcome]:
    """One row for each command, or those that are named."""
    rng = np.random.default_rng(seed)
    root = Path(tempfile.mkdtemp(prefix="fairalm-folders-"))
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=context, initializer=import_libraries) as pool:
            made = pool.submit(prepare, root).result()
            os.environ["FAIRALM_CACHE"] = str(root / "cache")
            for name in commands or (NAMES if full else SHORT):
                expected, seconds = pool.submit(undisturbed, made[name], root / "whole").result()
                outcome = Outcome(f"two processes, one output: {name}")
                second_won = 0
                for _ in range(ROUNDS if full else 2):
                    head_start = float(rng.choice([0.0, rng.uniform(0, 1.1 * seconds)]))
                    failures, n_done = pool.submit(race, made[name], root / "race", expected, head_start).result()
                    outcome.tries += 1
                    second_won += n_done == 2
                    for kind, how in failures:
                        outcome.fail(kind, f"head start {head_start:.3f} s: {how}")
                outcome.note = f"in {second_won} both finished, in order" if second_won else ""
                yield outcome
    finally:
        shutil.rmtree(root, ignore_errors=True)


def race(command: Command, folder: Path, expected: Any, head_start: float) -> tuple[list[tuple[str, str]], int]:
    """Start a command twice, the second after a head start; the failures, and how many finished."""
    command.prepare(folder)
    processes = []
    for number in (1, 2):
        process = Process(command.module, command.line(folder), folder, warm=True, log=f"race-{number}")
        processes.append(process)
        if number == 1:
            process.wait(head_start)
    both = [process.end() for process in processes]
    failures = [("corrupt", problem) for problem in command.damage(folder)]
    for ended in both:
        if ended.code is None:
            failures.append(("hang", "did not end"))
        elif ended.has_traceback or ended.code not in (0, 2):
            failures.append(("traceback", ended.said[-300:]))
        elif ended.code == 2 and not any(words in ended.said for words in REFUSED):
            failures.append(("lost", f"refused for another reason: {ended.said[-300:]}"))
    n_done = sum(ended.code == 0 for ended in both)
    if n_done == 0:
        failures.append(("lost", f"neither finished: {[ended.said[-200:] for ended in both]}"))
    if n_done == 2 and "--overwrite" not in command.arguments:
        failures.append(("lost", "both say that they have written it"))
    if n_done and command.content(folder) != expected:
        failures.append(("lost", "another result than from one process"))
    if left := [path.name for path in folder.iterdir() if path.name.startswith(".")]:
        failures.append(("lost", f"left behind: {left}"))
    return failures, n_done
