"""The commands that are attacked: how each is started, when it is complete, and whether its result is right."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairalm.exceptions import InputError
from fairalm.files import MARKS
from fairalm.folders import clean
from fairalm.interrupts import run_command
from fairalm.manifest import MANIFEST, check_manifest

LIMIT = 600.0  # seconds after which a command hangs
GONE = 10.0  # seconds within which the processes of a command that was killed must end
VARIES = {"seconds", "versions", "command", "time", "seconds_mean", "seconds_sd", "out", "run"}  # from run to run
QUESTION = ("--target", "hired", "--protected", "sex")
ENDS = {".html": b"</html>", ".png": b"IEND\xaeB`\x82"}  # of whole files
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Command:
    """A command line of fairalm, or of an experiment if `module` says so, started in an empty folder.

    `outputs` are the files and folders that it writes: all or none of them must be there. `result` is the file that
    must be the same after a kill. With `resumes`, it goes on with ``--resume`` if there is a checkpoint. `replaces` is
    a folder with older outputs that are there before.
    """

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    result: str
    module: str = "fairalm"
    resumes: bool = False
    replaces: Path | None = None
    starts_cold: bool = False  # not forked: its own processes are tidied up when the interpreter exits
    continues: bool = False  # its outputs are written one after the other, and the same command goes on

    def prepare(self, folder: Path) -> None:
        """Make its folder, with the older outputs if there are any."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if self.replaces is not None:
            shutil.copytree(self.replaces, folder, dirs_exist_ok=True)

    def line(self, folder: Path) -> tuple[str, ...]:
        """Its arguments, with ``--resume`` if there is something to resume."""
        return (*self.arguments, "--resume") if self.resumes and any(folder.glob("*.checkpoint")) else self.arguments

    def is_complete(self, folder: Path) -> bool:
        """Whether all outputs are there."""
        return all((folder / name).exists() for name in self.outputs)

    def content(self, folder: Path) -> Any:
        """The result, without what differs from run to run."""
        path = folder / self.result
        return _plain(json.loads(path.read_text())) if path.suffix == ".json" else path.read_text()

    def damage(self, folder: Path) -> Iterator[str]:
        """What is wrong with the files in its folder: damaged ones, and some outputs without the others."""
        there = [name for name in self.outputs if (folder / name).exists()]
        if there and len(there) < len(self.outputs) and not self.continues:
            yield f"only {', '.join(there)} written"
        for path in sorted(folder.rglob("*")):
            hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
            if not hidden and (problem := _damage(path)):
                yield f"{path.relative_to(folder)}: {problem}"

    def run(self, folder: Path, *, warm: bool = True) -> Ended:
        """Run it undisturbed."""
        return Process(self.module, self.line(folder), folder, warm=warm and not self.starts_cold).end()

    def finish(self, folder: Path, expected: Any) -> str:
        """Clean up after a kill and run the same command again; what is wrong then, if anything."""
        clean(folder)
        left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
        if left:
            return f"left after fairalm clean: {left}"
        if not self.is_complete(folder) or self.replaces is not None or self.continues:
            again = self.run(folder)
            if again.code != 0:
                return f"the same command ends with {again.code}: {again.said[-300:]}"
        if problem := next(self.damage(folder), ""):
            return f"damaged after the same command: {problem}"
        return "" if self.content(folder) == expected else "another result than without the kill"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in VARIES}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _damage(path: Path) -> str:
    """Why a file or folder is damaged; nothing if it is not."""
    try:
        if path.is_dir() and any((path / mark).exists() for mark in (*MARKS, MANIFEST)):
            check_manifest(path)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix in ENDS and not path.read_bytes().rstrip().endswith(ENDS[path.suffix]):
            return "ends early"
    except (InputError, ValueError, OSError) as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Ended:
    """How a process ended; `seconds` is how long it ran, and `code` is None if it did not end."""

    code: int | None
    said: str
    seconds: float
    orphans: int = 0

    @property
    def has_traceback(self) -> bool:
        """Whether it said more than one sentence."""
        return "Traceback (most recent call last)" in self.said or "Exception ignored" in self.said


class Process:
    """A command that runs in a session of its own, from a new interpreter or forked from this one."""

    def __init__(
        self, module: str, line: Sequence[str], folder: Path, *, warm: bool, log: str = "", **hooks: Any
    ) -> None:
        """`hooks` are functions that a fork calls before and after the command."""
        self.begun = time.monotonic()
        self.log = folder.with_name(f"{log or folder.name}.log")
        self.pid = _fork(module, line, folder, self.log, **hooks) if warm else _start(module, line, folder, self.log)

    def kill(self, after: float, number: int, *, group: bool) -> None:
        """Send a signal to the process or, as a terminal does, to all its processes."""
        if self.wait(after):
            return
        if not group:
            os.kill(self.pid, number)
            return
        while not self.wait(0.002):
            with suppress(ProcessLookupError):  # a fork is its own group only after its first line
                os.killpg(self.pid, number)
                return

    def end(self) -> Ended:
        """Wait for its end, and for that of the processes that it started."""
        code = self.code if self.wait(LIMIT) else None
        seconds = time.monotonic() - self.begun
        deadline = time.monotonic() + GONE
        while (orphans := _living(self.pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in (*orphans, *([self.pid] if code is None else [])):
            os.kill(pid, signal.SIGKILL)
        if code is None:
            os.waitpid(self.pid, 0)
        said = self.log.read_text(errors="replace")
        self.log.unlink()
        return Ended(code, said, seconds, len(orphans))

    def wait(self, seconds: float) -> bool:
        """Wait for its end, so many seconds at most; whether it has ended."""
        deadline = time.monotonic() + seconds
        while not hasattr(self, "code"):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                return False
            else:
                time.sleep(0.002)
        return True


def _start(module: str, line: Sequence[str], folder: Path, log: Path) -> int:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with log.open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", module, *line],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        ).pid


def _fork(
    module: str,
    line: Sequence[str],
    folder: Path,
    log: Path,
    before: Callable[[], Any] = lambda: None,
    after: Callable[[], Any] = lambda: None,
) -> int:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until the command's own handler is there
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return pid
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        for number, place in ((0, os.devnull), (1, os.devnull), (2, str(log))):
            file = os.open(place, os.O_RDWR | os.O_CREAT)
            os.dup2(file, number)
        sys.argv = [module, *line]
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
        before()
        code = int(run_command(lambda: _unblocked(module)) or 0)
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        after()
        os._exit(code)


def _unblocked(module: str) -> Any:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    if module == "fairalm":
        from fairalm.cli import main

        return main
    from reproduction.command import main as reproduce

    return lambda: reproduce(sys.argv[1:])


def _living(session: int) -> list[int]:
    """The processes of a session, apart from those that have ended and from joblib's tidying ones, which end last."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, own = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except (OSError, ValueError):
                continue
            if int(own) == session and state != "Z":
                found.append(int(entry.name))
    return found


def import_libraries() -> None:
    """Import what commands import, so that a fork starts at once."""
    import torch  # noqa: F401

    import reproduction.runner
    import reproduction.tabular  # noqa: F401


def make_data(folder: Path) -> None:
    """A table of 500 people, and 80 small images with theirs."""
    from PIL import Image

    from fairalm.datasets.images import coloured_digits

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    sex, town = rng.choice(["F", "M"], 500), rng.choice(["a", "b"], 500)
    skill = rng.normal(size=500) + 0.5 * (sex == "M")
    hired = np.where(skill + 0.7 * rng.normal(size=500) > 0, "yes", "no")
    people = pd.DataFrame({"skill": skill.round(3), "town": town, "sex": sex, "hired": hired})
    people.to_csv(folder / "people.csv", index=False)
    digits = coloured_digits(80, random_state=0)
    names = [f"{row}.png" for row in range(len(digits))]
    for name, pixels in zip(names, digits.pixels, strict=True):
        Image.fromarray(pixels).save(folder / name)
    groups = digits.groups.iloc[:, 0] if digits.groups.ndim == 2 else digits.groups
    table = pd.DataFrame({"image": names, "digit": digits.y.astype(int), "colour": np.asarray(groups)})
    table.to_csv(folder / "digits.csv", index=False)


def commands(data: Path) -> dict[str, Command]:
    """The commands by name; `data` is the folder of :func:`make_data`, where runs to replace and report are made."""
    people, digits = str(data / "people.csv"), str(data / "digits.csv")
    train = ("train", people, *QUESTION, "-o", "r")
    images = ("train", digits, "--image-column", "image", "--image-size", "28", "--target", "digit")
    quick = ("--tables", "german", "--rows", "fairalm,plain", "--seeds", "2", "--jobs", "2", "-o", "t")
    old = data / "old"
    made = [
        Command("train logistic", train, ("r",), "r/metrics.json"),
        Command("train --overwrite", (*train, "--overwrite"), ("r",), "r/metrics.json", replaces=old),
        Command("train boosting", (*train, "--estimator", "boosting", "--max-iter", "3"), ("r",), "r/metrics.json"),
        Command(
            "train mlp",
            (*train, "--estimator", "mlp", "--epochs", "20", "--tol", "0.001"),
            ("r",),
            "r/metrics.json",
            resumes=True,
        ),
        Command(
            "train relu3 on images",
            (*images, "--protected", "colour", "--estimator", "relu3", "--epochs", "4", "--tol", "0.001", "-o", "r"),
            ("r",),
            "r/metrics.json",
            resumes=True,
        ),
        Command("frontier", ("frontier", people, *QUESTION, "-o", "r"), ("r",), "r/metrics.json"),
        Command(
            "compare",
            ("compare", people, *QUESTION, "--methods", "secant,fairalm", "--seeds", "2", "-o", "c.json"),
            ("c.json", "c.html"),
            "c.json",
        ),
        Command(
            "audit", ("audit", people, "--decision", "hired", "--protected", "sex", "-o", "a"), ("a",), "a/audit.json"
        ),
        Command(
            "lda",
            ("lda", people, *QUESTION, "--reference", "M", "--acceptance", "0.6", "-o", "l"),
            ("l",),
            "l/lda.json",
        ),
        Command("report", ("report", str(old / "r"), "-o", "page.html"), ("page.html",), "page.html"),
        Command(
            "reproduction",
            ("tabular", *quick),
            ("t",),
            "t/table.csv",
            module="reproduction",
            continues=True,
            starts_cold=True,
        ),
    ]
    return {command.name: command for command in made}


def prepare(folder: Path) -> dict[str, Command]:
    """The commands by name, with the data that they need in a folder."""
    data = folder / "data"
    make_data(data)
    os.environ["FAIRALM_CACHE"] = str(folder / "cache")
    made = commands(data)
    first = made["train logistic"]
    first.prepare(data / "old")
    assert first.run(data / "old").code == 0
    return made


def undisturbed(command: Command, folder: Path, *, warm: bool = True) -> tuple[Any, float]:
    """The result of a command, and the seconds that it takes."""
    command.prepare(folder)
    ended = command.run(folder, warm=warm)
    assert ended.code == 0, ended.said
    return command.content(folder), ended.seconds
