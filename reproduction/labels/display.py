"""The table as text, for the terminal and for table.md, and as a figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from reproduction.experiment import Block, Result, Results, Table
from reproduction.figures import COLORS, new_figure, tidy
from reproduction.labels.job import BATCH_SIZE, EPOCHS, GROUPS, SIZE
from reproduction.labels.table import DEFAULT, FAIR, LEAST_DEO, LEVEL, PAPER, TRIED, F, U, chosen, sentences, tried
from reproduction.seeds import column_text

#: method -> place in its row, so that intervals do not hide each other, marker, color, words
DRAWN = {
    U: (-0.24, "o", COLORS[U], "U, unconstrained"),
    F: (0.0, "o", COLORS[F], "F, FairALM"),
    DEFAULT: (0.24, "D", COLORS["lagrangian"], "default"),
}
LEGEND = (
    "Percent on the test part, with 95 % intervals over the people. DEO: difference of the groups' true positive rates."
    " precision: of those predicted to have the label, the share who do. U: unconstrained. F: FairALM (Algorithm 2)."
    " default: this library's method for nets. *: a gap of U also when adjusted for the number of pairs. †: in the"
    " paper's table, but does not meet its conditions here on the validation part."
)


def rows_of(table: pd.DataFrame, protected: str) -> dict[tuple[str, str], Result]:
    """The rows for one protected attribute, by label and method."""
    part = table[table["protected"] == protected].to_dict("records")
    return {(str(row["label"]), str(row["method"])): {str(name): row[name] for name in row} for row in part}


def labels_shown(table: pd.DataFrame, protected: str) -> list[str]:
    """The labels that pass the screen, by falling DEO of the unconstrained net, then those that only the paper has."""
    rows = table[(table["protected"] == protected) & (table["method"] == U)].sort_values("deo", ascending=False)
    chosen = [str(label) for label in rows.loc[rows["is_screened"], "label"]]
    return chosen + [label for label in rows["label"] if label in PAPER[protected] and label not in chosen]


def main_blocks(table: pd.DataFrame, title: str) -> Iterator[Block]:
    """The paper's table, and what the methods do to precision; `title` is a template."""
    for name, make in (("DEO", deo_table), ("Precision", precision_table)):
        for protected in GROUPS:
            yield title.format(f"{name}, protected: {protected}")
            yield make(table, protected)


def deo_table(table: pd.DataFrame, protected: str) -> Table:
    """DEO of the nets for one protected attribute: the paper's table."""
    rows, lines = rows_of(table, protected), []
    for label in labels_shown(table, protected):
        printed = PAPER[protected].get(label)
        deos = [_deo(rows.get((label, method))) for method in (U, *FAIR)]
        lines.append([_title(rows[label, U]), *deos, "" if printed is None else f"{printed[0]:.0f}, {printed[1]:.0f}"])
    return Table(["label", "U", *FAIR.values(), "paper: U, F"], lines)


def precision_table(table: pd.DataFrame, protected: str) -> Table:
    """What the methods do to precision, for one protected attribute."""
    rows = rows_of(table, protected)
    lines = [
        [_title(rows[label, U]), _interval(rows[label, U], "precision")]
        + [_interval(rows.get((label, method)), "change", sign="+") for method in FAIR]
        for label in labels_shown(table, protected)
    ]
    return Table(["label", "U", *(f"{name} less U" for name in FAIR.values())], lines)


def all_labels(table: pd.DataFrame, protected: str) -> Table:
    """Every label without a constraint; `people` are those of the smaller of the two cells of DEO."""
    lines = []
    for (label, method), row in rows_of(table, protected).items():
        if method == U:
            people: str = "" if pd.isna(row["people"]) else f"{row['people']:.0f}"
            figures = _deo(row), _interval(row, "precision"), _interval(row, "error")
            lines.append([_spaced(label), people, *figures, "yes" if row["is_screened"] else ""])
    return Table(["label", "people", "DEO", "precision", "error", "screened"], lines)


def settings_text(results: Results) -> str:
    """What was chosen, and how."""
    pairs = ", ".join(f"{_spaced(label)} / {protected}" for protected, label in TRIED)
    lr, eta = chosen(results, "lr"), chosen(results, "eta")
    lrs, etas = (", ".join(f"{value:g}" for value in tried(results, name)[name]) for name in ("lr", "eta"))
    return (
        f"Faces of {SIZE} × {SIZE} pixels, {EPOCHS} epochs of SGD in batches of {BATCH_SIZE}. Chosen on the validation"
        f" part for all labels alike, by means over {pairs}: the step size of the smallest error, {lr:g} of {lrs}, and"
        f" FairALM's eta by NVP, {eta:g} of {etas}."
    )


def markdown_blocks(results: Results, table: pd.DataFrame) -> Iterator[Block]:
    """All tables and what they say."""
    yield from (settings_text(results), LEGEND, *main_blocks(table, "**{}**"))
    yield "\n".join(f"- {text}" for text in sentences(table))
    for protected in GROUPS:
        yield f"### All labels without a constraint, protected: {protected}"
        yield all_labels(table, protected)
    yield "### The settings tried: means on the validation part"
    names = {"error": "error", "deo": "DEO", "precision": "precision"}
    for setting in ("lr", "eta"):
        runs = tried(results, setting).to_dict("records")
        rows = [[f"{run[setting]:g}", *(f"{100 * run[name]:.1f}" for name in names)] for run in runs]
        yield Table([setting, *names.values()], rows)


def _title(row: Result) -> str:
    return _spaced(row["label"]) + ("" if row["is_screened"] else " †")


def _spaced(label: str) -> str:
    return label.replace("_", " ")


def _deo(row: Result | None) -> str:
    if row is None or pd.isna(row["deo"]):
        return "" if row is None else str(row["note"])
    return _interval(row, "deo") + ("*" if row["q"] < LEVEL else "")


def _interval(row: Result | None, name: str, *, sign: str = "") -> str:
    return "" if row is None else column_text(row, name, 0, scale=1, sign=sign) or "undefined"


def draw(table: pd.DataFrame) -> Any:
    """Draw the DEO of each label under each method, with intervals, a panel per protected attribute.

    Rings are the numbers that the paper prints; the dashed line is its condition on U.
    """
    shown = {protected: labels_shown(table, protected) for protected in GROUPS}
    n_rows = max(map(len, shown.values()))
    figure = new_figure(11, 1.6 + 0.4 * n_rows)
    panels = figure.subplots(1, len(shown), sharex=True)
    for axes, (protected, labels) in zip(panels, shown.items(), strict=True):
        rows = rows_of(table, protected)
        for place, label in enumerate(labels):
            for method, (side, marker, color, _) in DRAWN.items():
                row = rows.get((label, method))
                if row is not None and not pd.isna(row["deo"]):
                    axes.plot([row["deo_low"], row["deo_high"]], [place + side] * 2, color=color, lw=1.2)
                    axes.plot(row["deo"], place + side, marker, color=color, ms=5)
            for value, method in zip(PAPER[protected].get(label, ()), (U, F), strict=False):
                axes.plot(value, place + DRAWN[method][0], "o", mfc="none", mec=DRAWN[method][2], ms=11, mew=1.3)
        axes.axvline(100 * LEAST_DEO, color="#999999", lw=1, ls="--", zorder=0)
        axes.set_yticks(range(len(labels)), [_title(rows[label, U]) for label in labels])
        axes.set_ylim(n_rows - 0.4, -0.6)
        axes.set(xlabel="test DEO, points", title=f"protected: {protected}")
        tidy(axes)
    for _, marker, color, words in DRAWN.values():
        panels[0].plot([], [], marker, color=color, ms=5, label=words)
    panels[0].plot([], [], "o", mfc="none", mec="#666666", ms=11, label="ring: printed in the paper")
    panels[0].legend(fontsize=8, frameon=False, loc="lower right")
    title = "CelebA: labels that a small net predicts unfairly, with 95 % intervals"
    figure.suptitle(title, x=0.01, ha="left", size=11)
    return figure
