"""From cells to tables: means over the seeds with intervals, and the difference of the two nets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fairalm.vision.leak import average
from reproduction.looks.cell import ATTRIBUTE, FAIR, PLAIN
from reproduction.looks.paper import CLAIMS
from reproduction.looks.sets import SETS
from reproduction.markdown import markdown_table

BOTH, DIFFERENCE, AGAIN = "both", "difference", "again"
#: (kind, name in a cell) -> words, in the order of the tables
WORDS = {
    ("", "error"): "error",
    ("", "gap"): "gap",
    ("leak", "overlap"): "leak: shared",
    ("leak", "chance"): "by chance",
    ("leak", "excess"): "above chance",
    ("focus", "inside"): "focus: mass inside",
    ("focus", "overlap"): "highest inside",
    ("focus", "chance"): "by chance",
    ("focus", "peak_outside"): "peak outside",
}
HEAD = ("%", PLAIN, "FairALM", DIFFERENCE)
LEGEND = (
    "Percent on test pictures: mean over the seeds ± half of its 95 % interval over them; difference: FairALM less"
    " unconstrained, seed by seed. gap: of the criterion, equalized odds on the scenes, equal opportunity (DEO) on the"
    " others. leak: how much of the highest fifth of a map is in that of the net of the protected attribute too; by"
    " chance: the same between different pictures. focus: how much of a map lies in the mask; by chance: the mask's"
    " share of the picture; highest inside: of as many highest places as the mask has."
)


def summarise(results: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Means over the seeds.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`run_cell` gives them.

    Returns
    -------
    pandas.DataFrame
        One line per set, ``kind`` ("leak", "focus" or "") and ``measure``. For each net, the ``difference`` (FairALM's
        less the unconstrained one's, paired), ``both`` (how often both look outside) and, of scenes, ``again`` (a
        second unconstrained net's less the first's), a column with the mean and ``_low``, ``_high`` for its 95 %
        interval; shares, not percent. ``seeds`` counts the cells.
    """
    lines = []
    for name in SETS:
        cells = [result for result in results if result["config"]["set"] == name]
        for kind, measure in WORDS if cells else ():
            table = seed_table(cells, kind, measure)
            line: dict[str, Any] = {"set": name, "kind": kind, "measure": measure, "seeds": len(cells)}
            for column, found in average(table).items():
                line |= {column: found.value, f"{column}_low": found.low, f"{column}_high": found.high}
            lines.append(line)
    return pd.DataFrame(lines)


def seed_table(cells: Sequence[Mapping[str, Any]], kind: str, measure: str) -> pd.DataFrame:
    """A row per seed: the measure of each net that has it, the difference, and that of both nets at once."""
    nets = [name for name in (ATTRIBUTE, PLAIN, FAIR) if not kind or cells[0]["nets"][name][kind]]
    rows = []
    for cell in cells:
        found = {name: cell["nets"][name][kind] if kind else cell["nets"][name] for name in nets}
        row = {name: found[name][measure]["value"] for name in nets}
        if measure in cell["both"]:
            row[BOTH] = cell["both"][measure]["value"]
        if measure in cell.get(AGAIN, {}).get(kind, {}):
            row[AGAIN] = cell[AGAIN][kind][measure]["value"] - row[PLAIN]
        rows.append(row)
    table = pd.DataFrame(rows, dtype=float)  # what is undefined becomes NaN
    table[DIFFERENCE] = table[FAIR] - table[PLAIN]
    return table


def text_rows(table: pd.DataFrame, name: str) -> list[list[str]]:
    """The lines of one set as text, under ``HEAD``."""
    return [
        [WORDS[line["kind"], line["measure"]], *(_figure(line, column) for column in (PLAIN, FAIR, DIFFERENCE))]
        for line in table[table["set"] == name].to_dict("records")
    ]


def notes(table: pd.DataFrame, name: str) -> list[str]:
    """What the lines do not hold: how good the third net is, and how often both look outside."""
    lines = {(line["kind"], line["measure"]): line for line in table[table["set"] == name].to_dict("records")}
    error, peak = lines["", "error"], lines["focus", "peak_outside"]
    said = [
        f"The net of the protected attribute errs in {_figure(error, ATTRIBUTE)} % of the pictures.",
        f"Both nets have their peak outside {SETS[name].mask} in {_figure(peak, BOTH)} % of them.",
    ]
    if not SETS[name].is_pretrained:
        excess, inside = lines["leak", "excess"], lines["focus", "inside"]
        said.append(
            "A second unconstrained net, from other first weights, differs from the first by"
            f" {_figure(excess, AGAIN)} in leak above chance, {_figure(inside, AGAIN)} in mass inside and"
            f" {_figure(peak, AGAIN)} in peak outside."
        )
    return said


def verdicts(table: pd.DataFrame) -> list[list[str]]:
    """What the intervals say of each of the paper's claims, set by set.

    Returns
    -------
    list of rows
        The claim, and per set "holds", "the reverse", or "not shown" if the interval of the difference has 0 in it.
    """
    rows = []
    for claim in CLAIMS:
        lines = table[(table["kind"] == claim.kind) & (table["measure"] == claim.measure)]
        ends = claim.sign * lines[[f"{DIFFERENCE}_low", f"{DIFFERENCE}_high"]].astype(float)
        rows.append([claim.words, *(_verdict(min(pair), max(pair)) for pair in ends.to_numpy().tolist())])
    return rows


def title(table: pd.DataFrame, name: str) -> str:
    """Which pictures, where they should be looked at, and how many seeds."""
    seeds = int(table.loc[table["set"] == name, "seeds"].iloc[0])
    return f"{SETS[name].title}; mask: {SETS[name].mask}; {seeds} seeds"


def markdown(table: pd.DataFrame) -> str:
    """Every set, in sections, and the claims."""
    parts, names = [LEGEND], list(table["set"].unique())
    for name in names:
        parts.append(f"**{title(table, name)}**")
        parts.append(markdown_table(HEAD, text_rows(table, name)))
        parts.append(" ".join(notes(table, name)))
    parts.append(markdown_table(["the paper on FairALM's net", *(SETS[name].title for name in names)], verdicts(table)))
    return "\n\n".join(parts) + "\n"


def _verdict(low: float, high: float) -> str:
    return "holds" if low > 0 else "the reverse" if high < 0 else "not shown"


def _figure(line: Mapping[Any, Any], column: str) -> str:
    mean, high = 100 * float(line[column]), line[f"{column}_high"]
    if mean != mean:
        return "undefined"
    if high is None or high != high:  # one seed
        return f"{mean:.1f}"
    return f"{mean:.1f} ± {100 * high - mean:.1f}"
