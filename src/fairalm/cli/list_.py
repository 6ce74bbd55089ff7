"""``fairalm list``."""

from __future__ import annotations

from fairalm.cli import _words
from fairalm.cli._models import ESTIMATORS
from fairalm.cli._nets import NETS
from fairalm.cli._options import Json
from fairalm.cli._output import print_json, print_table, say
from fairalm.constraints import CONSTRAINTS
from fairalm.datasets import LOADERS
from fairalm.methods import METHODS


def list_names(as_json: Json = False) -> None:
    """List data sets, criteria, methods and estimators by name.

    What comes out: four short tables.

    For example:
      fairalm list
    """
    listed = {
        "data sets": {name: _words.first_line(loader).removeprefix("Load ") for name, loader in LOADERS.items()},
        "criteria (--constraint)": {name: _words.first_line(kind) for name, kind in CONSTRAINTS.items()},
        "methods (--method)": {name: _words.METHODS[name] for name in METHODS},
        "estimators (--estimator)": {name: words for name, (words, _) in ESTIMATORS.items()} | NETS,
    }
    if as_json:
        print_json({title.split(" (")[0]: entries for title, entries in listed.items()})
        return
    for title, entries in listed.items():
        print_table([title, ""], list(entries.items()), left=2)
        say()
