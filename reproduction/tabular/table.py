"""The table: means over the seeds, the paper's numbers beside them, as text, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from fairalm.measures.text import plus_minus
from reproduction.experiment import Block, Results, Table
from reproduction.tabular.job import CHOICES, ROWS, TABLES


class Printed(NamedTuple):
    """An entry of the paper's table; the ± is taken to be a standard deviation over its runs."""

    error: float
    deo: float
    error_sd: float | None = None
    deo_sd: float | None = None


#: row -> data set -> entry of the appendix's table "Standard Datasets", in percent; only the last row was measured for
#: the paper, the others are quoted there
PAPER: dict[str, dict[str, Printed]] = {
    "zafar": {"adult": Printed(22, 5), "compas": Printed(31, 10), "german": Printed(38, 13)},
    "hardt": {"adult": Printed(18, 11), "compas": Printed(29, 8), "german": Printed(29, 11), "law": Printed(4.5, 0)},
    "donini": {"adult": Printed(19, 1), "compas": Printed(27, 5), "german": Printed(27, 5)},
    "agarwal": {"adult": Printed(17, 1), "compas": Printed(31, 3), "law": Printed(4.5, 1)},
    "algorithm-1": {
        "adult": Printed(15.8, 0.7, 1, 0.6),
        "compas": Printed(34.7, 0.1, 1, 0.1),
        "german": Printed(24.3, 10.8, 2.7, 4.5),
        "law": Printed(4.8, 0.4, 0.1, 0.2),
    },
}
KEYS = ["with_protected", "choice", "table", "row"]
SPREAD = {"error": "sd", "deo": "sd", "signed": "se", "fpr": "sd"}
TITLES = {True: "with the protected attribute among the features", False: "without it"}
MAIN = "without-constants"
CHOSEN = {MAIN: "NVP, constant models left out", "nvp": "NVP as published"}
LEGEND = (
    "Percent on the test rows. error, DEO and FPR: mean ± standard deviation over the seeds. signed: mean of the first"
    " group's false negative rate less the second's, ± its standard error; first are women in Adult, Black people in"
    " COMPAS, workers who are not foreign in German, black students in Law. gap 0: the DEO that a model without any gap"
    " shows on as many rows. *: needs the group of every row it predicts."
)


def summarise(results: Results) -> pd.DataFrame:
    """One line per protected attribute in or out, way to choose, data set and method, in percent over the seeds.

    ``error``, ``deo``, ``signed`` and ``fpr`` are means, each with ``_sd`` or ``_se`` (of the mean; seeds share rows,
    so it is a little too small); ``chance`` is the DEO of a model without a gap on as many rows; ``constants`` counts
    the seeds whose model predicts one label for every row.
    """
    lines = [{**r["config"], "choice": choice, **r["choices"][choice]} for r in results for choice in CHOICES]
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


def blocks(table: pd.DataFrame, choice: str) -> Iterator[tuple[bool, str, pd.DataFrame]]:
    """The lines of each data set with and without the protected attribute."""
    for with_protected in TITLES:
        part = table[(table["with_protected"] == with_protected) & (table["choice"] == choice)]
        for name in part["table"].unique():
            yield with_protected, str(name), part[part["table"] == name]


def text_table(lines: pd.DataFrame, name: str, *, short: bool = False) -> Table:
    """The lines of one data set as text; `short` for the terminal."""
    is_law = name == "law"
    head = ["method", "error", "DEO", "signed", "gap 0", *["FPR"] * is_law, "paper" if short else "paper: error, DEO"]
    rows = []
    for line in lines.to_dict("records"):
        key = str(line["row"])
        title = (key if short else ROWS[key].title) + "*" * ROWS[key].needs_group
        if line["constants"] and key != "constant":
            title += "!" if short else f" ({line['constants']} of {line['seeds']} constant)"
        row = [title, _figure(line, "error"), _figure(line, "deo")]
        row += [plus_minus(line["signed"], line["signed_se"], digits=2), f"{line['chance']:.2f}"]
        printed = PAPER.get(key, {}).get(name)
        entry = {} if printed is None else printed._asdict() | ({"error_sd": None, "deo_sd": None} if short else {})
        row += [_figure(line, "fpr")] * is_law + [", ".join(_figure(entry, part) for part in ("error", "deo") if entry)]
        rows.append(row)
    return Table(head, rows)


def _figure(line: Mapping[Any, Any], name: str) -> str:
    return plus_minus(line[name], line[f"{name}_sd"])


def is_changed_by_constants(table: pd.DataFrame) -> bool:
    """Whether leaving constant models out of NVP's choice makes any difference."""
    errors = [table.loc[table["choice"] == choice, "error"].to_numpy() for choice in CHOSEN]
    return bool((errors[0] != errors[1]).any())


def printed_blocks(table: pd.DataFrame) -> Iterator[Block]:
    """For the terminal."""
    for with_protected, name, lines in blocks(table, MAIN):
        yield f"{TABLES[name]}, {TITLES[with_protected]}; {CHOSEN[MAIN]}; {lines['seeds'].max()} seeds"
        yield text_table(lines, name, short=True)
        yield ""
    yield f"{LEGEND} !: predicts one label for every row, in some seeds at least. paper: its error and DEO."
    if is_changed_by_constants(table):
        yield "NVP as published may choose a constant model; table.md has what it chooses."


def markdown_blocks(table: pd.DataFrame) -> Iterator[Block]:
    """For table.md: also what NVP chooses as published, where that differs."""
    yield LEGEND
    choices = [choice for choice in CHOSEN if choice == MAIN or is_changed_by_constants(table)]
    for with_protected, title in TITLES.items():
        for choice in choices:
            found = [block for block in blocks(table, choice) if block[0] == with_protected]
            if found:
                yield f"### {title[0].upper()}{title[1:]}; {CHOSEN[choice]}"
            for _, name, lines in found:
                yield f"**{TABLES[name]}**, {lines['seeds'].max()} seeds"
                yield text_table(lines, name)


def latex(table: pd.DataFrame) -> str:
    r"""The paper's layout: methods down, data sets across; under each of ours, in grey, what the paper printed.

    Needs the packages booktabs and xcolor.
    """
    part = table[table["with_protected"] & (table["choice"] == MAIN)]
    names = [name for name in TABLES if name in set(part["table"])]
    measured: dict[Any, Any] = {(line["row"], line["table"]): line for line in part.to_dict("records")}
    lines = [
        r"\begin{tabular}{l" + "rr" * len(names) + "}",
        r"\toprule",
        " & ".join(["", *(rf"\multicolumn{{2}}{{c}}{{{TABLES[name]}}}" for name in names)]) + r" \\",
        " & ".join(["", *["ERR & DEO"] * len(names)]) + r" \\",
        r"\midrule",
    ]
    for row in [row for row in ROWS if row in set(part["row"])]:
        ours = [_latex(measured.get((row, name)), "{}") for name in names]
        lines.append(" & ".join([ROWS[row].title, *ours]) + r" \\")
        if row in PAPER:
            entries = [PAPER[row].get(name) for name in names]
            grey = [_latex(entry and entry._asdict(), r"\textcolor{{gray}}{{{}}}") for entry in entries]
            lines.append(" & ".join([r"\textcolor{gray}{\quad in the paper}", *grey]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex(line: Mapping[Any, Any] | None, style: str) -> str:
    """Error and DEO in two columns, empty if there is no line."""
    if not line:
        return "&"
    return " & ".join(style.format("$" + _figure(line, name).replace("±", r"\pm") + "$") for name in ("error", "deo"))
