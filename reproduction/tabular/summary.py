"""From cells to tables: means over the seeds, in percent, the paper's numbers beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.tabular.cell import CHOICES, TABLES
from reproduction.tabular.paper import PAPER, Printed
from reproduction.tabular.rows import ROWS

KEYS = ["with_protected", "choice", "table", "row"]
SPREAD = {"error": "sd", "deo": "sd", "signed": "se", "fpr": "sd"}


def summarise(results: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Mean and spread over the seeds.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`run_cell` gives them.

    Returns
    -------
    pandas.DataFrame
        One line per protected attribute in or out, way to choose, data set and method. Percent: ``error``, ``deo``,
        ``signed``, ``fpr``, each with ``_sd`` (over the seeds) or ``_se`` (of the mean; seeds share people, so it is a
        little too small), and ``chance``, the DEO of a model without a gap on as many people. ``constants`` counts
        the seeds whose model predicts one label for everybody.
    """
    lines = [
        {**result["config"], "choice": choice, **result["choices"][choice]} for result in results for choice in CHOICES
    ]
    frame = pd.DataFrame(lines).drop(columns="entry", errors="ignore")
    frame["constants"] = frame["selection"].isin((0.0, 1.0))
    percent = [*SPREAD, "chance"]
    frame[percent] *= 100
    groups = frame.groupby(KEYS, sort=False)
    table = groups[percent].mean()
    for name, spread in SPREAD.items():
        table[f"{name}_{spread}"] = groups[name].std() if spread == "sd" else groups[name].sem()
    table["constants"], table["seeds"] = groups["constants"].sum(), groups.size()
    table = table.reset_index()
    for column, names in (("row", list(ROWS)), ("table", list(TABLES))):
        table[column] = pd.Categorical(table[column], names, ordered=True)
    return table.sort_values(KEYS, ascending=[False, True, True, True]).reset_index(drop=True)


def block(table: pd.DataFrame, *, with_protected: bool, choice: str, name: str) -> pd.DataFrame:
    """The lines of one data set."""
    chosen = (table["with_protected"] == with_protected) & (table["choice"] == choice) & (table["table"] == name)
    return table[chosen]


def head(name: str, *, short: bool = False) -> list[str]:
    """Names of the columns of :func:`text_rows`."""
    fpr, paper = ["FPR"] if name == "law" else [], "paper" if short else "paper: error, DEO"
    return ["method", "error", "DEO", "signed", "gap 0", *fpr, paper]


def text_rows(lines: pd.DataFrame, name: str, *, short: bool = False) -> list[list[str]]:
    """The lines of one data set as text: a star for those told the group of everyone, and how many are constant."""
    rows = []
    for line in lines.to_dict("records"):
        key = str(line["row"])
        title = (key if short else ROWS[key].title) + "*" * ROWS[key].needs_group
        if line["constants"] and key != "constant":
            title += "!" if short else f" ({line['constants']} of {line['seeds']} constant)"
        printed = PAPER.get(key, {}).get(name)
        rows.append(
            [
                title,
                plus_minus(line["error"], line["error_sd"]),
                plus_minus(line["deo"], line["deo_sd"]),
                plus_minus(line["signed"], line["signed_se"], digits=2),
                f"{line['chance']:.2f}",
                *([plus_minus(line["fpr"], line["fpr_sd"])] if name == "law" else []),
                "" if printed is None else _printed(printed, short),
            ]
        )
    return rows


def _printed(entry: Printed, short: bool) -> str:
    if short:
        return f"{entry.error:.1f}, {entry.deo:.1f}"
    return f"{plus_minus(entry.error, entry.error_sd)}, {plus_minus(entry.deo, entry.deo_sd)}"


def plus_minus(mean: float, spread: float | None, *, digits: int = 1) -> str:
    """Return a mean with its spread, if there is one.

    >>> plus_minus(15.82, 1.0), plus_minus(-0.0312, 0.1, digits=2), plus_minus(3, float("nan"))
    ('15.8 ± 1.0', '-0.03 ± 0.10', '3.0')
    """
    text = f"{mean:.{digits}f}"
    return text if spread is None or spread != spread else f"{text} ± {spread:.{digits}f}"
