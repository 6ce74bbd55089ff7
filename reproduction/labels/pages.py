"""The tables as text and Markdown."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from reproduction.labels.cell import BATCH_SIZE, EPOCHS, GROUPS, SIZE
from reproduction.labels.paper import PAPER
from reproduction.labels.plan import TRIED
from reproduction.labels.summary import DEFAULT, LEVEL, F, Row, U, findings, labels_shown, rows_of
from reproduction.markdown import markdown_table

FAIR = {F: "F", DEFAULT: "default"}
DEO_HEAD = ["label", "U", *FAIR.values(), "paper: U, F"]
PRECISION_HEAD = ["label", "U", *(f"{name} less U" for name in FAIR.values())]
ALL_HEAD = ["label", "people", "DEO", "precision", "error", "screened"]
MEANS = {"error": "error", "deo": "DEO", "precision": "precision"}
LEGEND = (
    "Percent on the test part, with 95 % intervals over the people. DEO: difference of the groups' true positive rates."
    " precision: of those predicted to have the label, the share who do. U: unconstrained. F: FairALM (Algorithm 2)."
    " default: this library's rule for nets. *: a gap of U also when adjusted for the number of pairs. †: in the"
    " paper's table, but does not meet its conditions here on the validation part."
)


def deo_rows(table: pd.DataFrame, protected: str) -> list[list[str]]:
    """DEO of the nets for one protected attribute: the paper's table."""
    rows, lines = rows_of(table, protected), []
    for label in labels_shown(table, protected):
        printed = PAPER[protected].get(label)
        lines.append(
            [
                _title(rows[label, U]),
                *(_deo(rows.get((label, rule))) for rule in (U, *FAIR)),
                "" if printed is None else f"{printed[0]:.0f}, {printed[1]:.0f}",
            ]
        )
    return lines


def precision_rows(table: pd.DataFrame, protected: str) -> list[list[str]]:
    """What the rules do to precision, for one protected attribute."""
    rows = rows_of(table, protected)
    return [
        [_title(rows[label, U]), _interval(rows[label, U], "precision")]
        + [_interval(rows.get((label, rule)), "change", sign="+") for rule in FAIR]
        for label in labels_shown(table, protected)
    ]


def all_rows(table: pd.DataFrame, protected: str) -> list[list[str]]:
    """Every label without a constraint; `people` are those of the smaller cell that DEO rests on."""
    return [
        [
            _spaced(label),
            "" if pd.isna(row["people"]) else f"{row['people']:.0f}",
            _deo(row),
            *(_interval(row, name) for name in ("precision", "error")),
            "yes" if row["is_screened"] else "",
        ]
        for (label, rule), row in rows_of(table, protected).items()
        if rule == U
    ]


def settings(rates: pd.DataFrame, etas: pd.DataFrame, lr: float, eta: float) -> str:
    """What was chosen, and how."""
    pairs = ", ".join(f"{_spaced(label)} / {protected}" for protected, label in TRIED)
    return (
        f"Faces of {SIZE} × {SIZE} pixels, {EPOCHS} epochs of SGD in batches of {BATCH_SIZE}. Chosen on the validation"
        f" part for all labels alike, by means over {pairs}: the step size of the smallest error, {lr:g} of"
        f" {_listed(rates['lr'])}, and FairALM's eta by NVP, {eta:g} of {_listed(etas['eta'])}."
    )


def tried_rows(runs: pd.DataFrame, setting: str) -> list[list[str]]:
    """The means that a setting was chosen by."""
    return [[f"{row[setting]:g}", *(f"{100 * row[name]:.1f}" for name in MEANS)] for row in runs.to_dict("records")]


def markdown(table: pd.DataFrame, rates: pd.DataFrame, etas: pd.DataFrame, chosen: str) -> str:
    """All tables and what they say."""
    parts = [chosen, LEGEND]
    for protected in GROUPS:
        parts.append(f"**DEO, protected: {protected}**")
        parts.append(markdown_table(DEO_HEAD, deo_rows(table, protected)))
    for protected in GROUPS:
        parts.append(f"**Precision, protected: {protected}**")
        parts.append(markdown_table(PRECISION_HEAD, precision_rows(table, protected)))
    parts.append("\n".join(f"- {line}" for line in findings(table)))
    for protected in GROUPS:
        parts.append(f"### All labels without a constraint, protected: {protected}")
        parts.append(markdown_table(ALL_HEAD, all_rows(table, protected)))
    parts.append("### The settings tried: means on the validation part")
    for setting, runs in (("lr", rates), ("eta", etas)):
        parts.append(markdown_table([setting, *MEANS.values()], tried_rows(runs, setting)))
    return "\n\n".join(parts) + "\n"


def _title(row: Row) -> str:
    return _spaced(row["label"]) + ("" if row["is_screened"] else " †")


def _spaced(label: str) -> str:
    return label.replace("_", " ")


def _deo(row: Row | None) -> str:
    if row is None or pd.isna(row["deo"]):
        return "" if row is None else str(row["note"])
    return _interval(row, "deo") + ("*" if row["q"] < LEVEL else "")


def _interval(row: Row | None, name: str, *, sign: str = "") -> str:
    if row is None or pd.isna(row[name]):
        return "" if row is None else "undefined"
    return f"{row[name]:{sign}.0f} [{row[name + '_low']:{sign}.0f}, {row[name + '_high']:{sign}.0f}]"


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
