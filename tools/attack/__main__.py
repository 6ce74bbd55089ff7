"""``python -m tools.attack``: run attacks and print one table."""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.common import write_between
from tools.attack import kills
from tools.attack.outcome import FAILURES, Outcome

ATTACKS = ("kills", "folders", "disk", "damage", "fuzz", "privacy")
OF_COMMANDS = ("kills", "folders", "disk")  # the attacks on commands
RESULTS = Path("build/attack").resolve()  # attacks change the current folder


def main() -> int:
    """Run what was asked for; the exit code is 1 if the program failed anywhere."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.attack", description="Attack fairalm and count its failures."
    )
    parser.add_argument("--full", action="store_true", help="as often as docs/reference/reliability.md says")
    parser.add_argument("--only", choices=ATTACKS, action="append", help="one attack; may be repeated")
    parser.add_argument(
        "--command",
        choices=kills.TIMES,
        action="append",
        metavar="NAME",
        help="of kills, folders and disk, only this command, by its name in the table; may be repeated",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--write",
        type=Path,
        metavar="PAGE",
        help="write the recorded results into the table of a page, in place of its rows for the same; run nothing",
    )
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs would ignore it
    if options.write is not None:
        outcomes = [outcome for name in ATTACKS for outcome in _recorded(name)]
        lines = updated(options.write.read_text(encoding="utf-8"), outcomes)
        write_between(options.write, "attack", "\n".join(lines))
    else:
        outcomes = []
        RESULTS.mkdir(parents=True, exist_ok=True)
        for name in options.only or ATTACKS:
            given = {"commands": options.command} if name in OF_COMMANDS else {}
            attack = importlib.import_module(f"tools.attack.{name}").attack
            for outcome in attack(full=options.full, seed=options.seed, **given):
                outcomes.append(outcome)
                _record(name, outcome)  # at once: the long attacks take an hour
        lines = table(outcomes)
    print("\n".join(lines))
    for outcome in outcomes:
        for kind, cases in outcome.failures.items():
            for case in cases[:20]:
                print(f"{outcome.what}: {kind}: {case}", file=sys.stderr)
    return int(any(outcome.n_failures for outcome in outcomes))


def table(outcomes: Iterable[Outcome]) -> list[str]:
    """The outcomes as a table in Markdown, with the sums below."""
    return _lines([outcome.cells() for outcome in outcomes])


def updated(page: str, outcomes: Iterable[Outcome]) -> list[str]:
    """The table of a page with new outcomes, each in place of the row for the same; others come at the end."""
    old = page.split("<!-- attack -->")[1].split("<!-- /attack -->")[0].strip().splitlines()[2:-1]
    rows = {cells[0]: cells for cells in ([cell.strip() for cell in line.split("|")[1:-1]] for line in old)}
    rows.update({outcome.what: outcome.cells() for outcome in outcomes})
    return _lines(list(rows.values()))


def _lines(rows: list[list[str]]) -> list[str]:
    columns = [[int(row[place].replace(",", "")) for row in rows] for place in range(1, len(FAILURES) + 2)]
    total = ["all", *(f"{sum(column):,}" for column in columns), ""]
    head = [["attack", "tries", *FAILURES, "note"], ["---"] * (len(FAILURES) + 3)]
    return [f"| {' | '.join(row)} |" for row in (*head, *rows, total)]


def _recorded(name: str) -> list[Outcome]:
    path = RESULTS / f"{name}.json"
    return [Outcome(**row) for row in json.loads(path.read_text())] if path.is_file() else []


def _record(name: str, outcome: Outcome) -> None:
    kept = [other for other in _recorded(name) if other.what != outcome.what]
    rows = [row.to_dict() for row in (*kept, outcome)]
    (RESULTS / f"{name}.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.exit(main())
