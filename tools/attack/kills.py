"""SIGKILL and SIGINT at random moments: no file is damaged, no process is left, and the same command finishes."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tools.attack.commands import Command, Ended, Process, import_libraries, prepare, undisturbed
from tools.attack.outcome import Outcome

SPARK = "Spark fit with a checkpoint"
#: How often each command is killed and how often it is interrupted.
TIMES = {
    "train logistic": 45,
    "train --overwrite": 40,
    "train boosting": 20,
    "train mlp": 40,
    "train relu3 on images": 35,
    "frontier": 30,
    "compare": 30,
    "audit": 35,
    "lda": 20,
    "report": 25,
    "reproduction": 15,
    SPARK: 6,
}
SHORT = {"audit": 2, "report": 1, "train --overwrite": 1, "train mlp": 1}
COLD = 3  # one in so many starts a new interpreter, the others are forks of one that has imported the libraries
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGINT": signal.SIGINT}
Failures = list[tuple[str, str]]


@dataclass(frozen=True)
class Trial:
    """A command that is to be hit by a signal after some seconds."""

    command: Command
    expected: Any
    folder: Path
    number: int
    after: float
    warm: bool
    group: bool  # whether all its processes get the signal, as from a terminal

    def __str__(self) -> str:
        how = "fork" if self.warm else "new process"
        return f"{self.command.name}, signal {self.number} after {self.after:.3f} s, {how}"


def attack(*, full: bool, seed: int, commands: Iterable[str] | None = None) -> Iterator[Outcome]:
    """One row for each command, or those that are named, and signal."""
    times_of = TIMES if full else SHORT
    if shutil.which("java") is None:
        times_of = {name: times for name, times in times_of.items() if name != SPARK}
    rng = np.random.default_rng(seed)
    root = Path(tempfile.mkdtemp(prefix="fairalm-kills-"))
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(2, mp_context=context, initializer=import_libraries) as pool:
            made = pool.submit(prepare, root).result()
            os.environ["FAIRALM_CACHE"] = str(root / "cache")
            for name in commands or times_of:
                command = _spark(root) if name == SPARK else made[name]
                yield from _attack_one(pool, command, root, times_of.get(name, 1), rng, cold=full)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _attack_one(pool: Any, command: Command, root: Path, times: int, rng: Any, *, cold: bool) -> Iterator[Outcome]:
    warm = not command.starts_cold
    expected, seconds = pool.submit(undisturbed, command, root / "whole").result() if warm else (None, 0.0)
    seconds_cold = 0.0
    if cold:
        expected, seconds_cold = pool.submit(undisturbed, command, root / "whole", warm=False).result()
    for name, number in SIGNALS.items():
        outcome = Outcome(f"{command.name}: {name}")
        trials = []
        for place in range(times):
            is_warm = warm and not (cold and place % COLD == 0)
            after = float(rng.uniform(0, 1.02 * (seconds if is_warm else seconds_cold)))
            folder = root / f"{name}-{place}"
            trials.append(Trial(command, expected, folder, number, after, is_warm, place % 2 == 0))
        ended_early = 0
        for trial, (failures, was_running) in zip(trials, pool.map(hit, trials), strict=True):
            outcome.tries += 1
            ended_early += not was_running
            for kind, how in failures:
                outcome.fail(kind, f"{trial}: {how}")
        outcome.note = f"{ended_early} had finished" if ended_early else ""
        yield outcome


def hit(trial: Trial) -> tuple[Failures, bool]:
    """Start a command, send it a signal, and look at what is left; the failures, and whether it was still running."""
    command, folder = trial.command, trial.folder
    for _ in range(20):
        command.prepare(folder)
        process = Process(command.module, command.line(folder), folder, warm=trial.warm)
        process.kill(trial.after, trial.number, group=trial.group)
        ended = process.end()
        if not _is_before_us(ended):
            break
        trial = replace(trial, after=trial.after + 0.05)
    failures = [("corrupt", problem) for problem in command.damage(folder)]
    if command.replaces is not None and not command.is_complete(folder):
        failures += [("lost", "the older output is gone")] * (not any(folder.glob(".*.old")))
    if ended.code is None:
        failures.append(("hang", "did not end"))
    if ended.orphans:
        failures.append(("hang", f"{ended.orphans} processes left"))
    if trial.number == signal.SIGINT and not _is_one_line(ended, command):
        failures.append(("traceback", f"code {ended.code}: {ended.said[-400:]!r}"))
    if problem := command.finish(folder, trial.expected):
        failures.append(("lost", problem))
    shutil.rmtree(folder, ignore_errors=True)
    return failures, ended.code not in (0, None)


def _is_before_us(ended: Ended) -> bool:
    """Whether an interrupt came while Python itself was starting, before it had read a line of fairalm."""
    return ended.code in (1, -signal.SIGINT) and "/fairalm/" not in ended.said and "/reproduction/" not in ended.said


def _is_one_line(ended: Ended, command: Command) -> bool:
    """Whether an interrupted command said so in one line, after its warnings, or had finished."""
    lines = [line for line in ended.said.splitlines() if line and not line.startswith("Warning: ")]
    if command.name == SPARK:
        lines = [line for line in lines if line == "Interrupted."]  # the JVM and py4j log around it
    return (ended.code == 130 and lines == ["Interrupted."]) or (ended.code == 0 and not ended.has_traceback)


def _spark(root: Path) -> Command:
    rows = root / "data" / "rows.parquet"
    people = pd.read_csv(root / "data" / "people.csv")
    people.assign(label=(people["hired"] == "yes").astype(int), x=people["skill"]).to_parquet(rows)
    line = (str(rows), "checkpoint", "out.json")
    return Command(SPARK, line, ("out.json",), "out.json", "tools.attack.spark_fit", starts_cold=True)
