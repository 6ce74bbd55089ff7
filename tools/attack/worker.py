"""A process that tries altered inputs one after the other, and tells its parent before and after each.

It reads lines "KIND FIRST LAST" from stdin. For each number it writes "> NUMBER" and, when the program has answered,
"< NUMBER" with the failure as JSON, or null. A parent that hears nothing in between knows which input was at fault.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import shutil
import sys
import warnings
from pathlib import Path

from tools.attack.case import Case, run_case
from tools.attack.kinds import KINDS

MEMORY = 6 * 2**30  # bytes: what asks for more gets a MemoryError, not all of the machine


def prepare(seeds: Path) -> None:
    """Limit this process, and keep it from reading or writing anything but the intact files and its own folder."""
    import matplotlib

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.environ["FAIRALM_CACHE"] = str(seeds / "image_cache")
    os.environ["HF_HUB_OFFLINE"] = "1"
    matplotlib.use("agg")


def try_one(kind: str, number: int, seed: int, seeds: Path, folder: Path) -> tuple[Case, tuple[str, str] | None]:
    """Draw one input into an empty folder and try it there."""
    os.chdir(seeds)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    case = Case(kind, number, seed, seeds, folder)
    return case, run_case(KINDS[kind].function, case)


def main() -> None:
    """Serve the parent until it closes stdin."""
    seed, seeds, folder, kept = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
    to_parent = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    faulthandler.disable()
    prepare(seeds)
    for line in sys.stdin:
        kind, first, last = line.split()
        for number in range(int(first), int(last)):
            print(f"> {number}", file=to_parent, flush=True)
            _, failure = try_one(kind, number, seed, seeds, folder)
            if failure is not None:
                keep(folder, kept / f"{kind}-{number}", failure)
            print(f"< {number} {json.dumps(failure)}", file=to_parent, flush=True)


def keep(folder: Path, target: Path, failure: tuple[str, str]) -> None:
    """Keep a failing input, unless its kind has fifty already."""
    if len(list(target.parent.glob(f"{target.name.rpartition('-')[0]}-*"))) < 50:
        shutil.copytree(folder, target, symlinks=True, dirs_exist_ok=True)
        (target / "failure.txt").write_text(": ".join(failure) + "\n", encoding="utf-8", errors="replace")


if __name__ == "__main__":
    main()
