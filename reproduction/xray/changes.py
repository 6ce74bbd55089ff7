"""What a rule changes beside what the paper speaks of: rates in each hospital, and the error after each epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fairalm.measures import Measure
from fairalm.vision.leak import average, difference
from reproduction.xray.settings import HOSPITAL, PLAIN
from reproduction.xray.summary import label

HEAD = ["rule", "figure", "unconstrained", "change"]
LEGEND = "What else changes, seed by seed: the unconstrained net's mean and the mean difference, with 95 % intervals."


def changes(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, Measure, Measure]]:
    """Compare each rule with the unconstrained net, seed by seed.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`reproduction.xray.cell.run_cell` gives them.

    Returns
    -------
    list of (rule, figure, mean of the unconstrained net, mean difference)
    """
    lines: dict[str, dict[int, dict[str, float]]] = {}
    for result in results:
        config = result["config"]
        if config["rule"] != HOSPITAL:
            lines.setdefault(label(config), {})[config["seed"]] = _figures(result)
    tables = {rule: pd.DataFrame.from_dict(found, orient="index") for rule, found in lines.items()}
    plain = tables.pop(PLAIN, pd.DataFrame())
    found = []
    for rule, table in tables.items():
        seeds = table.index.intersection(plain.index)
        if not seeds.empty:
            before, change = average(plain.loc[seeds]), difference(table.loc[seeds], plain.loc[seeds])
            found += [(rule, name, before[name], change[name]) for name in change]
    return found


def _figures(result: Mapping[str, Any]) -> dict[str, float]:
    words = {"tpr": "true positive rate", "fpr": "false positive rate", "error": "error"}
    rates = {f"{words[name]}, {place}": found[name] for name in words for place, found in result["rates"].items()}
    errors = enumerate(result["profile"]["test_error"], 1)
    return rates | {f"error after epoch {epoch}": value for epoch, value in errors}


def rows(found: Sequence[tuple[str, str, Measure, Measure]]) -> list[list[str]]:
    """The lines of :func:`changes` as text, in percent and points."""
    return [[rule, name, _text(before, ".1f"), _text(change, "+.1f")] for rule, name, before, change in found]


def _text(mean: Measure, form: str) -> str:
    value, low, high = (None if end is None else format(100 * end, form) for end in (mean.value, mean.low, mean.high))
    return f"{value}" if low is None else f"{value} [{low}, {high}]"
