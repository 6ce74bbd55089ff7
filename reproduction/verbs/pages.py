"""The tables as text: for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from reproduction.markdown import markdown_table
from reproduction.verbs.paper import PAPER
from reproduction.verbs.rules import SEVEN
from reproduction.verbs.steady import COLUMNS
from reproduction.verbs.summary import MEASURES, figure_text, title
from reproduction.verbs.zero import RATE

Table = tuple[list[str], list[list[str]]]
LEGEND = (
    "Percent of test pictures, mean over the seeds [95 % interval]. Waterbirds and imSitu: the interval of the test"
    " part, which the seeds share; scenes: over the seeds, each with scenes of its own. worst group: the largest error"
    " of the four cells of label and group. gap 0: the DEO that a head without any gap shows on as many pictures."
    " many: DEO on 1,000 further scenes of the target verb. held-out: multipliers moved by half of the validation part."
)
STEADY_LEGEND = (
    "Largest less smallest over eta from 0.01 to 10, in points of the test part, mean over the seeds [95 % interval]."
)
STEADY_MORE = (
    "DEO, decade: the same within the worst tenfold range of eta. useful: share of the etas with at most half of the"
    " unconstrained head's DEO for at most two points of error."
)
ZERO_LEGEND = (
    "What a DEO of 0 can mean with imSitu's numbers. 0 at: in how many ways both groups can be hit at the same rate (2:"
    " nobody or everybody). up to: the upper end of the interval of a DEO of 0, everybody hit. chance, exact: mean DEO"
    f" of a model that hits {RATE:.0%} of both in truth, and how often it shows exactly 0; percent. off: how far the"
    " paper's errors are from shares of so many pictures, at most, in points."
)


def name_of(data: str) -> str:
    """A data set in words.

    >>> name_of("scenes-cooking")
    'Scenes, cooking (+)'
    """
    kind, _, verb = data.partition("-")
    kind = {"imsitu": "imSitu"}.get(kind, kind.capitalize())
    return f"{kind}, {verb} (+)" if verb else kind


def block(table: pd.DataFrame, data: str) -> Table:
    """One data set: scenes with what the test scenes are too few for, the others with the worst group."""
    is_drawn = data.startswith("scenes")
    names = ["error", "deo"] if is_drawn else list(MEASURES)
    rows = []
    for line in table[table["data"] == data].to_dict("records"):
        more = [f"{line['chance']:.1f}", figure_text(line, "fresh_deo")] if is_drawn else []
        rows.append([title(line["rule"]), *(figure_text(line, name) for name in names), *more])
    return ["method", *(MEASURES[name] for name in names), *["gap 0", "many"] * is_drawn], rows


def paper_shape(table: pd.DataFrame, kind: str) -> Table:
    """The paper's table: methods down, pairs across; its own numbers under each of ours."""
    part = table[table["data"].str.startswith(kind)]
    verbs = [str(data).partition("-")[2] for data in part["data"].unique()]
    cells = {(line["rule"], line["data"]): line for line in part.to_dict("records")}
    head = ["method", *(f"{verb} (+): {name}" for verb in verbs for name in ("ERR", "DEO"))]
    rows = []
    for rule in SEVEN:
        ours = [cells.get((rule, f"{kind}-{verb}"), {}) for verb in verbs]
        rows.append([title(rule), *(figure_text(line, name) for line in ours for name in ("error", "deo"))])
        printed = [PAPER[rule][verb] for verb in verbs]
        rows.append(["*printed, on imSitu*", *(f"*{number:.1f}*" for entry in printed for number in entry)])
    return head, rows


def one_set(table: pd.DataFrame) -> Table:
    """What one test part of scenes says of a DEO, and how often it says 0."""
    head = ["method", "pair", "DEO", "interval of one set", "sets with DEO 0", "gap 0", "DEO on many"]
    rows = [
        [
            title(line["rule"]),
            str(line["data"]).partition("-")[2],
            f"{line['deo']:.1f}",
            f"{line['one_low']:.1f} to {line['one_high']:.1f}",
            f"{line['zeros']} of {line['seeds']}",
            f"{line['chance']:.1f}",
            figure_text(line, "fresh_deo"),
        ]
        for line in table[table["data"].str.startswith("scenes")].to_dict("records")
    ]
    return head, rows


def differences(found: pd.DataFrame) -> Table:
    """FairALM with a held-out dual less the others."""
    return ["less", *MEASURES.values()], [
        [title(line["rule"]), *(figure_text(line, name) for name in MEASURES)] for line in found.to_dict("records")
    ]


def steady(found: pd.DataFrame, names: Sequence[str] = tuple(COLUMNS)) -> Table:
    """Ranges over eta, and FairALM's less those of the two others with the same multipliers."""
    lines = found.to_dict("records")
    rows = [[title(line["rule"]), *(figure_text(line, name) for name in names)] for line in lines]
    for line in lines:
        less = [figure_text(line, f"{name}_less") for name in names]
        rows += [[f"FairALM less {title(line['rule'])}", *less]] if any(less) else []
    return ["method", *(COLUMNS[name] for name in names)], rows


def zero(found: pd.DataFrame) -> Table:
    """What a DEO of 0 can mean."""
    names = {
        "verb": "verb (+)",
        "part": "part",
        "men": "men",
        "women": "women",
        "rates": "0 at",
        "high": "up to",
        "chance": "chance",
        "exact": "exact",
        "pictures": "pictures",
        "off": "off",
    }
    rows = [[_short(line[name], 2 if name == "off" else 1) for name in names] for line in found.to_dict("records")]
    return list(names.values()), rows


def _short(value: Any, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def markdown(
    table: pd.DataFrame, compared: pd.DataFrame, steadied: pd.DataFrame, zeroed: pd.DataFrame, seeds: int
) -> str:
    """Every table, in sections."""
    parts = [LEGEND, f"{seeds} seeds."]
    data = list(table["data"].unique())
    if "waterbirds" in data:
        parts += ["### Waterbirds", markdown_table(*block(table, "waterbirds"))]
    if not compared.empty:
        parts += [
            "FairALM with a held-out dual less the others, seed by seed, in points:",
            markdown_table(*differences(compared)),
        ]
    for kind in ("scenes", "imsitu"):
        if any(name.startswith(kind) for name in data):
            parts += [f"### The paper's table, on {'imSitu' if kind == 'imsitu' else 'scenes with its counts'}"]
            parts += [markdown_table(*paper_shape(table, kind))]
    if any(name.startswith("scenes") for name in data):
        parts += [
            "### What one set of scenes says",
            markdown_table(*one_set(table)),
            ZERO_LEGEND,
            markdown_table(*zero(zeroed)),
        ]
    if not steadied.empty:
        parts += [
            "### Steadiness over eta, Waterbirds",
            f"{STEADY_LEGEND} {STEADY_MORE}",
            markdown_table(*steady(steadied)),
        ]
    return "\n\n".join(parts) + "\n"
