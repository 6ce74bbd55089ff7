"""``python -m tools.attack``: run attacks and print one table."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.common import write_between
from tools.attack.outcome import FAILURES, Outcome

ATTACKS = ("kills", "folders", "disk", "damage", "fuzz", "privacy")
RESULTS = Path("build/attack").resolve()  # attacks change the current folder


def main() -> int:
    """Run what was asked for; the exit code is 1 if the program failed anywhere."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.attack", description="Attack fairalm and count its failures."
    )
    parser.add_argument("--full", action="store_true", help="as often as docs/reference/reliability.md says")
    parser.add_argument("--only", choices=ATTACKS, action="append", help="one attack; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="write the recorded results into a page; run nothing"
    )
    options = parser.parse_args()
    if options.write is not None:
        outcomes = [outcome for name in ATTACKS for outcome in _recorded(name)]
        write_between(options.write, "attack", "\n".join(table(outcomes)))
    else:
        outcomes = []
        for name in options.only or ATTACKS:
            own = []
            RESULTS.mkdir(parents=True, exist_ok=True)
            for outcome in importlib.import_module(f"tools.attack.{name}").attack(full=options.full, seed=options.seed):
                own.append(outcome)  # written at once: the long attacks take an hour
                (RESULTS / f"{name}.json").write_text(json.dumps([outcome.to_dict() for outcome in own], indent=1))
            outcomes += own
    print("\n".join(table(outcomes)))
    for outcome in outcomes:
        for kind, cases in outcome.failures.items():
            for case in cases[:20]:
                print(f"{outcome.what}: {kind}: {case}", file=sys.stderr)
    return int(any(outcome.n_failures for outcome in outcomes))


def table(outcomes: Iterable[Outcome]) -> list[str]:
    """The outcomes as a table in Markdown, with the sums below."""
    outcomes = list(outcomes)
    total = Outcome("all", sum(outcome.tries for outcome in outcomes))
    for outcome in outcomes:
        for kind in FAILURES:
            total.failures[kind] += outcome.failures[kind]
    rows = [["attack", "tries", *FAILURES, "note"], ["---"] * (len(FAILURES) + 3)]
    rows += [outcome.cells() for outcome in [*outcomes, total]]
    return [f"| {' | '.join(row)} |" for row in rows]


def _recorded(name: str) -> list[Outcome]:
    path = RESULTS / f"{name}.json"
    return [Outcome(**row) for row in json.loads(path.read_text())] if path.is_file() else []


if __name__ == "__main__":
    sys.exit(main())
