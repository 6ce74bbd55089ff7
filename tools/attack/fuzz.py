"""Altered inputs of every kind: 100,000 of them over every reader and the command line.

    python -m tools.attack.fuzz metrics-json 17              # try one input again, and show what happens
    python -m tools.attack.fuzz metrics-json --count 500     # the first 500 of a kind; or of all
    python -m tools.attack --only fuzz --full                # all of them

A failing input is kept in ``build/attack/inputs/``.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from tools.attack.kinds import KINDS
from tools.attack.outcome import Outcome
from tools.attack.worker import prepare, try_one

ROOT, KEPT = Path(__file__).parents[2], Path("build/attack/inputs")
SHORT = 250  # the short version tries one in so many
SECONDS = 30.0  # a hang
BATCH = 50


def attack(full: bool, seed: int) -> Iterator[Outcome]:
    """One outcome per kind of input."""
    return fuzz({kind: entry.full if full else entry.full // SHORT for kind, entry in KINDS.items()}, seed)


def fuzz(counts: dict[str, int], seed: int = 0, n_workers: int = 2) -> Iterator[Outcome]:
    """Try so many inputs of each kind, in worker processes; yields the outcome of a kind as soon as it is complete."""
    outcomes = {kind: Outcome(f"fuzz: {KINDS[kind].text}") for kind in counts}
    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        seeds = seeds_in(Path(place))
        jobs: queue.Queue[tuple[str, int, int]] = queue.Queue()
        for kind, count in counts.items():
            for first in range(0, count, BATCH):
                jobs.put((kind, first, min(first + BATCH, count)))
        folders = [Path(place) / "work" / str(number) / "case" for number in range(n_workers)]
        threads = [
            threading.Thread(target=_serve, args=(jobs, outcomes, seed, seeds, folder), daemon=True)
            for folder in folders
        ]
        for thread in threads:
            thread.start()
        for kind, count in counts.items():
            while outcomes[kind].tries < count and any(thread.is_alive() for thread in threads):
                time.sleep(0.1)
            yield outcomes[kind]
        for thread in threads:
            thread.join()


def seeds_in(place: Path) -> Path:
    """Make the intact files, in a process of their own: threads and settings of the training stay there."""
    seeds = place / "seeds"
    code = "import sys, pathlib; from tools.attack.seeds import make_seeds; make_seeds(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-W", "ignore", "-c", code, str(seeds)]
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The intact files could not be made:\n{done.stderr[-3000:]}")
    return seeds


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}


def _serve(
    jobs: queue.Queue[tuple[str, int, int]], outcomes: dict[str, Outcome], seed: int, seeds: Path, folder: Path
) -> None:
    """Give jobs to one worker after the other: a new one after a hang or a crash."""
    worker, slow = None, set[tuple[str, int]]()
    while True:
        try:
            kind, first, last = jobs.get_nowait()
        except queue.Empty:
            if worker is not None:
                worker.end()
            return
        while first < last:
            worker = worker or Worker(seed, seeds, folder)
            first, state = worker.work(kind, first, last, outcomes[kind])
            if state == "slow" and (kind, first) in slow:
                worker.lose(outcomes[kind], "hang", kind, first, f"no answer within {SECONDS:.0f} s, twice")
                first += 1
            elif state == "slow":
                slow.add((kind, first))  # the machine may have been busy: once more
            if state != "alive":
                worker.process.kill()
                worker.end()
                worker = None


class Worker:
    """A process of :mod:`tools.attack.worker`, and a thread that hears what it says."""

    def __init__(self, seed: int, seeds: Path, folder: Path) -> None:
        command = [sys.executable, "-m", "tools.attack.worker", str(seed), str(seeds), str(folder), str(KEPT.resolve())]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=_environment()
        )
        self.folder = folder
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.hearing = threading.Thread(target=self._hear, daemon=True)
        self.hearing.start()

    def _hear(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def work(self, kind: str, first: int, last: int, outcome: Outcome) -> tuple[int, Literal["alive", "slow", "dead"]]:
        """Try inputs; the number of the next one, and what became of the process."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{kind} {first} {last}\n")
        self.process.stdin.flush()
        number, is_started = first, False
        while number < last:
            try:
                line = self.lines.get(timeout=SECONDS if is_started else 120.0)
            except queue.Empty:
                return number, "slow"
            if line is None:
                code = self.process.wait()
                self.lose(outcome, "traceback", kind, number, f"the process died (exit code {code})")
                return number + 1, "dead"
            mark, _, rest = line.partition(" ")
            is_started = mark == ">"
            if is_started:
                continue
            failure = json.loads(rest.partition(" ")[2])
            outcome.tries += 1
            number += 1
            if failure is not None:
                outcome.fail(failure[0], f"{kind} {number - 1}: {failure[1]}")
        return number, "alive"

    def lose(self, outcome: Outcome, failure: str, kind: str, number: int, how: str) -> None:
        """Record an input after which there was no answer."""
        shutil.copytree(self.folder, KEPT / f"{kind}-{number}", symlinks=True, dirs_exist_ok=True)
        outcome.tries += 1
        outcome.fail(failure, f"{kind} {number}: {how}")

    def end(self) -> None:
        """Let the process end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.hearing.join()
        self.process.stdout.close()


def replay(kind: str, number: int, seed: int) -> int:
    """Try one input in this process and print what it is and what happens."""
    with tempfile.TemporaryDirectory() as place:
        seeds = seeds_in(Path(place))
        prepare(seeds)
        target = (ROOT / KEPT / f"{kind}-{number}").resolve()
        case, failure = try_one(kind, number, seed, seeds, Path(place) / "work" / "0" / "case")
        shutil.copytree(case.folder, target, symlinks=True, dirs_exist_ok=True)
        os.chdir(ROOT)
    print("\n".join(case.tried).encode("ascii", "backslashreplace").decode(), file=sys.stderr)
    if case.error is not None:
        traceback.print_exception(case.error)
    print(f"The input is in {target.relative_to(ROOT)}.", file=sys.stderr)
    print("It did not fail." if failure is None else ": ".join(failure), file=sys.stderr)
    return int(failure is not None)


def grouped(outcomes: dict[str, Outcome]) -> list[str]:
    """The failures by error and place, most frequent first, each with one number to replay it by."""
    found: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for kind, outcome in outcomes.items():
        for failure, cases in outcome.failures.items():
            for case in cases:
                number, _, text = case.partition(": ")
                key = kind, f"{failure}: {': '.join(text.split(': ')[:1])}"
                found[key] += 1
                first.setdefault(key, f"{number} ({text[:200]})")
    return [f"{count:6d}  {kind:14s} {how}  e.g. {first[kind, how]}" for (kind, how), count in found.most_common()]


def main() -> int:
    """Replay one input, or try some of one kind."""
    parser = argparse.ArgumentParser(prog="python -m tools.attack.fuzz", description="Replay an altered input.")
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("number", type=int, nargs="?")
    parser.add_argument("--count", type=int, default=200, help="without a number: try this many")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.number is not None:
        return replay(options.kind, options.number, options.seed)
    kinds = list(KINDS) if options.kind == "all" else [options.kind]
    outcomes = dict(zip(kinds, fuzz(dict.fromkeys(kinds, options.count), options.seed), strict=True))
    for kind, outcome in outcomes.items():
        print(f"{kind}: {outcome.tries} tries, {outcome.n_failures} failures")
    print("\n".join(grouped(outcomes)))
    return int(any(outcome.n_failures for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
