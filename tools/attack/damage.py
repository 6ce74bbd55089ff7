"""Single flipped bits and cut ends in every file of the folders that commands write, and in the caches.

A command may refuse a damaged folder, or not need the damaged file; what it must not do is end well with other results
than those of the intact folder.

    python -m tools.attack --only damage
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tools.attack.case import REFUSED, Case, Failed
from tools.attack.fuzz import seeds_in
from tools.attack.kinds_runs import cached_images, reader
from tools.attack.outcome import Outcome
from tools.attack.seeds import CHECKPOINT, FEATURE_CACHE, IMAGE_CACHE, features, net_run
from tools.attack.worker import prepare

#: folder -> the commands that read it
COMMANDS = {
    "logistic": ("predict", "report", "card", "check"),
    "forest": ("predict", "report", "card", "check"),
    "boosting": ("predict", "card", "check"),
    "mlp": ("predict", "card", "check"),
    "frontier": ("predict", "point", "report", "card", "check"),
    "lda": ("predict", "check"),
    "audit": ("check",),
    "relu3": ("predict_images", "card", "cam", "check"),
}
CACHES = {IMAGE_CACHE: "images", FEATURE_CACHE: "features", CHECKPOINT: "resumed training"}
FULL, SHORT = 2_400, 66  # damaged files in all
WRITTEN = ("out.csv", "out.md", "out.html", "maps/cam.json")


def attack(full: bool, seed: int) -> Iterator[Outcome]:
    """One outcome per folder."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        seeds = seeds_in(Path(place))
        prepare(seeds)
        try:
            for name in (*COMMANDS, *CACHES):
                count = (FULL if full else SHORT) // (len(COMMANDS) + len(CACHES))
                yield damage(name, count, seed, seeds, Path(place) / "work" / "0" / "case")
        finally:
            os.chdir(here)


def damage(name: str, count: int, seed: int, seeds: Path, folder: Path) -> Outcome:
    """Damage one folder so many times, its files in turn."""
    outcome = Outcome(f"damage: {name}")
    intact: dict[str, Any] = {}
    files = [file for file in sorted((seeds / name).rglob("*")) if file.is_file() and file.stat().st_size]
    files = [file for file in files if file.suffix not in (".html", ".png")]
    for number in range(-len(COMMANDS.get(name, "x")), count):  # the first ones are intact, each with a command
        case = _new_case(f"damage {name}", number, seed, seeds, folder)
        case.copied(name)
        read = COMMANDS[name][number % len(COMMANDS[name])] if name in COMMANDS else name
        how = "" if number < 0 else _damage(case.rng, folder / files[number % len(files)].relative_to(seeds))
        try:
            result = _result(case, name, read)
        except Failed as failure:
            outcome.fail(failure.args[0], f"{read} {how}: {failure.args[1]}")
            continue
        finally:
            outcome.tries += number >= 0
        if number < 0:
            intact[read] = result
        elif result is not None and not _same(result, intact[read]):
            outcome.fail("silent", f"{read} {how}")
    return outcome


def _new_case(kind: str, number: int, seed: int, seeds: Path, folder: Path) -> Case:
    os.chdir(seeds)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    return Case(kind, number, seed, seeds, folder)


def _damage(rng: Random, file: Path) -> str:
    """Flip a bit, or cut the end off; says which."""
    content = bytearray(file.read_bytes())
    place = rng.randrange(len(content))
    if rng.random() < 0.75:
        bit = rng.randrange(8)
        content[place] ^= 1 << bit
        how = f"bit {bit} of byte {place}"
    else:
        del content[place:]
        how = f"cut to {place} bytes"
    file.write_bytes(content)
    return f"{file.parent.name}/{file.name} {how}"


def _result(case: Case, name: str, read: str) -> Any:
    """What comes out of a folder; None if it is refused."""
    if name == IMAGE_CACHE:
        return case.call(cached_images, case.seeds, case.folder / name)
    if name == FEATURE_CACHE:
        return case.call(features, case.folder / name)
    if name == CHECKPOINT:
        case.copied("people.csv")
        done = case.call(net_run, case.folder / name, resume=True)
        return done and [fit.model.predict_proba(done.samples.X) for fit in (done.fair, done.plain)]
    if reader(case, read, case.folder / name) == REFUSED:
        return None
    return [(case.folder / file).read_bytes() for file in WRITTEN if (case.folder / file).is_file()]


def _same(result: Any, intact: Any) -> bool:
    if isinstance(result, np.ndarray):
        return np.array_equal(result, intact)
    return len(result) == len(intact) and all(
        np.array_equal(one, other) for one, other in zip(result, intact, strict=True)
    )
