"""The cells of one data set as a run that :mod:`fairalm.report` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm._validation import encode_groups
from fairalm.datasets import load
from fairalm.experiments.tabular.cell import PARTS
from fairalm.experiments.tabular.rows import ROWS
from fairalm.io import data_entry, metrics

KINDS = {"fairalm": "fairalm", "algorithm-1": "fairalm", "plain": "plain", "constant": "plain"}
TOL = 0.01  # to judge by; in training it is 0


def as_run(
    results: Sequence[Mapping[str, Any]], name: str, choice: str, command: str, data_dir: str | None = None
) -> dict[str, Any]:
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
    data = load(name, data_dir=data_dir)
    groups = encode_groups(data.groups, n_rows=len(data.y))
    found = [r for r in results if r["config"]["table"] == name and r["config"]["with_protected"]]
    found.sort(key=lambda r: (r["config"]["row"] != "fairalm", [*ROWS].index(r["config"]["row"]), r["config"]["seed"]))
    seeds = {result["config"]["seed"] for result in found}
    return metrics(
        data=data_entry(name, data.frame, data.frame[data.target], groups),
        config={
            "target": data.target,
            "positive": data.positive,
            "protected": data.protected,
            "with_protected": True,
            "constraint": "equal-opportunity",
            "tol": TOL,
            "seeds": len(seeds),
            "test_size": PARTS[-1],
        },
        splits={},
        command=command,
        runs=[
            {
                "rule": result["config"]["row"],
                "kind": KINDS.get(result["config"]["row"], "other"),
                "seed": result["config"]["seed"],
                "seconds": result["choices"][choice]["seconds"],
                "splits": {"test": _test(result["choices"][choice])},
            }
            for result in found
        ],
    )


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
