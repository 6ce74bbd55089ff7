"""How long it takes to start: importing fairalm and asking for its version, beside scikit-learn and fairlearn.

    python benchmarks/import_time.py --write docs/benchmarks/speed.md

Every command is a process of its own; they take turns, and medians are compared, so that a busy machine slows all
alike.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import write_between

COMMANDS = {
    "python alone": ["-c", "pass"],
    "import sklearn": ["-c", "import sklearn"],
    "import sklearn.linear_model": ["-c", "import sklearn.linear_model"],
    "import fairalm": ["-c", "import fairalm"],
    "from fairalm import FairALMClassifier": ["-c", "from fairalm import FairALMClassifier"],
    "fairalm --version": ["-m", "fairalm", "--version"],
    "import fairlearn.reductions": ["-c", "import fairlearn.reductions"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(options.rounds + 1):
        for name, command in COMMANDS.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - begin)
    lines = ["| command | median, s | from, to | × import sklearn |", "|---|---:|---:|---:|"]
    medians = {
        name: statistics.median(times[1:]) for name, times in seconds.items()
    }  # the first fills the disk's cache
    for name, median in medians.items():
        ends = f"{min(seconds[name][1:]):.2f}, {max(seconds[name][1:]):.2f}"
        lines.append(f"| `{name}` | {median:.2f} | {ends} | {median / medians['import sklearn']:.2f} |")
    print("\n".join(lines))
    if options.write is not None:
        write_between(options.write, "imports", "\n".join(lines))


if __name__ == "__main__":
    main()
