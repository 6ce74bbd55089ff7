"""The cells of one data set as a run that :mod:`fairalm.report` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.datasets import load
from reproduction import page
from reproduction.tabular.cell import PARTS
from reproduction.tabular.rows import ROWS

KINDS = {"fairalm": page.OURS, "algorithm-1": page.OURS, "plain": page.PLAIN, "constant": page.PLAIN}


def as_run(
    results: Sequence[Mapping[str, Any]], name: str, choice: str, command: str, data_dir: str | None = None
) -> dict[str, Any] | None:
    """What each method chose, a model per seed, with the protected attribute among the features.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`run_cell` gives them.
    name : str
        The data set.
    choice : str
        How the settings were chosen.
    command : str
        As typed.
    data_dir : str, optional
        Where the data is.
    """
    found = [r for r in results if r["config"]["table"] == name and r["config"]["with_protected"]]
    found.sort(key=lambda r: (r["config"]["row"] != "fairalm", [*ROWS].index(r["config"]["row"]), r["config"]["seed"]))
    models = [
        page.model(
            result["config"]["row"],
            KINDS.get(result["config"]["row"], page.OTHER),
            _test(result["choices"][choice]),
            seed=result["config"]["seed"],
            seconds=result["choices"][choice]["seconds"],
            settings={"tol": 0.0} if KINDS.get(result["config"]["row"]) == page.OURS else {},
        )
        for result in found
    ]
    return page.as_run(name, load(name, data_dir=data_dir), models, command, with_protected=True, test_size=PARTS[-1])


def _test(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The test people; of a method that draws there are expectations, and no counts."""
    if chosen.get("entry"):
        return dict(chosen["entry"])
    sizes = {"error": (chosen["people"], chosen["people"]), "deo": (sum(chosen["positives"]), min(chosen["positives"]))}
    return {
        "groups": {},
        **{
            name: {"value": chosen[name], "low": None, "high": None, "n": n, "n_min": n_min}
            for name, (n, n_min) in sizes.items()
        },
    }
