"""The tables as files: Markdown and LaTeX to read, CSV to compute with."""

from __future__ import annotations

import pandas as pd

from reproduction.markdown import markdown_table
from reproduction.tabular.cell import TABLES
from reproduction.tabular.paper import PAPER
from reproduction.tabular.rows import ROWS
from reproduction.tabular.summary import block, head, plus_minus, text_rows

FIRST_GROUPS = "women in Adult, Black people in COMPAS, workers who are not foreign in German, black students in Law"
LEGEND = (
    "Percent on the test people. error, DEO and FPR: mean ± standard deviation over the seeds. signed: mean of the"
    f" first group's false negative rate less the second's, ± its standard error; first are {FIRST_GROUPS}. gap 0: the"
    " DEO that a model without any gap shows on as many people. *: is told the group of everyone it predicts."
)
TITLES = {True: "with the protected attribute among the features", False: "without it"}
CHOSEN = {"without-constants": "NVP, constant models left out", "nvp": "NVP as published"}


def is_changed_by_constants(table: pd.DataFrame) -> bool:
    """Whether leaving constant models out of NVP's list makes any difference."""
    figures = [table.loc[table["choice"] == choice, "error"].to_numpy() for choice in CHOSEN]
    return bool((figures[0] != figures[1]).any())


def markdown(table: pd.DataFrame) -> str:
    """Every table, in sections."""
    parts = [LEGEND]
    for with_protected, title in TITLES.items():
        for choice, how in CHOSEN.items():
            part = table[(table["with_protected"] == with_protected) & (table["choice"] == choice)]
            if part.empty or (choice == "nvp" and not is_changed_by_constants(table)):
                continue
            parts.append(f"### {title[0].upper()}{title[1:]}; {how}")
            for name in part["table"].unique():
                lines = block(table, with_protected=with_protected, choice=choice, name=name)
                parts.append(f"**{TABLES[name]}**, {lines['seeds'].max()} seeds")
                parts.append(markdown_table(head(name), text_rows(lines, name)))
    return "\n\n".join(parts) + "\n"


def latex(table: pd.DataFrame) -> str:
    r"""The paper's layout: methods down, data sets across; under each of ours, in grey, what the paper printed.

    Needs the packages booktabs and xcolor.
    """
    part = table[table["with_protected"] & (table["choice"] == "without-constants")]
    names = [name for name in TABLES if name in set(part["table"])]
    cells = {(line["row"], line["table"]): line for line in part.to_dict("records")}
    lines = [
        r"\begin{tabular}{l" + "rr" * len(names) + "}",
        r"\toprule",
        " & ".join(["", *(rf"\multicolumn{{2}}{{c}}{{{TABLES[name]}}}" for name in names)]) + r" \\",
        " & ".join(["", *["ERR & DEO"] * len(names)]) + r" \\",
        r"\midrule",
    ]
    for row in ROWS:
        if row not in set(part["row"]):
            continue
        ours = [cells.get((row, name)) for name in names]
        measured = [
            f"{_math(line['error'], line['error_sd'])} & {_math(line['deo'], line['deo_sd'])}" if line else "&"
            for line in ours
        ]
        lines.append(" & ".join([ROWS[row].title, *measured]) + r" \\")
        if row in PAPER:
            printed = [PAPER[row].get(name) for name in names]
            figures = [
                _grey(_math(p.error, p.error_sd)) + " & " + _grey(_math(p.deo, p.deo_sd)) if p else "&" for p in printed
            ]
            lines.append(" & ".join([_grey(r"\quad in the paper"), *figures]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _math(mean: float, spread: float | None) -> str:
    return "$" + plus_minus(mean, spread).replace("±", r"\pm") + "$"


def _grey(text: str) -> str:
    return rf"\textcolor{{gray}}{{{text}}}"
