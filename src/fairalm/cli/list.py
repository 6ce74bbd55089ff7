"""``fairalm list``."""

from __future__ import annotations

from fairalm._validation import first_line
from fairalm.cli._options import Json
from fairalm.cli._output import print_json
from fairalm.console import print_table, say
from fairalm.constraints import CONSTRAINTS
from fairalm.datasets import LOADERS
from fairalm.methods import METHODS
from fairalm.runs.choices import BOOSTERS, ESTIMATORS, FRONTIER, FRONTIER_SUMMARY, NETS


def list(as_json: Json = False) -> None:
    """List data sets, constraints, methods and estimators by name.

    What you get: four short tables. A constraint or a method of your own needs no name: see --constraint and --method
    of fairalm train.

    For example:
      fairalm list
    """
    listed = {
        "data sets": {name: first_line(loader).removeprefix("Load ") for name, loader in LOADERS.items()},
        "constraints": {name: first_line(kind) for name, kind in CONSTRAINTS.items()},
        "methods": {name: kind.summary for name, kind in METHODS.items()} | {FRONTIER: FRONTIER_SUMMARY},
        "estimators": {name: words for name, (_, words) in ESTIMATORS.items()}
        | {name: words for name, (_, _, words) in BOOSTERS.items()}
        | NETS,
    }
    if as_json:
        print_json(listed)
        return
    for title, entries in listed.items():
        option = "" if title == "data sets" else f" (--{title[:-1]})"
        print_table([f"{title}{option}", ""], [*entries.items()], left=2)
        say()
