"""From cells to tables, in percent: the paper's table with ours beside it, and what eta does to the small net."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairalm.vision.leak import average
from reproduction.celeba.paper import PAPER
from reproduction.markdown import markdown_table

FIGURES = ("error", "deo", "fnr_women", "fnr_men")
ARM = ["rule", "eta", "accumulates"]
OVER_SEEDS = ("error", "deo", "selection", "swing")
Result = Mapping[str, Any]


def points(results: Sequence[Result]) -> pd.DataFrame:
    """The paper's table: one row per model, on the test part.

    Returns
    -------
    pandas.DataFrame
        ``model``, ``by`` ("paper" or "us") and ``error``, ``deo``, ``fnr_women`` and ``fnr_men`` with ``_low`` and
        ``_high``, the ends of their intervals; the paper prints none.
    """
    rows = [{"model": name, "by": "paper", **printed._asdict()} for name, printed in PAPER.items()]
    rows += [{"model": name, "by": "us", **_percent(test)} for name, test in _ours(results)]
    return pd.DataFrame(rows)


def _ours(results: Sequence[Result]) -> Iterator[tuple[str, Result]]:
    for result in results:
        for head in result.get("heads", ()):
            yield "plain head" if head["tol"] is None else f"fair head {head['tol']:g}", head["test"]
    for result in nets(results, "resnet18"):
        if result["diverged"] is None:
            yield "ResNet plain" if result["config"]["eta"] is None else "ResNet FairALM", result["history"][-1]["test"]


def _percent(test: Result) -> dict[str, float]:
    ends = {"": "value", "_low": "low", "_high": "high"}
    return {f"{name}{end}": 100 * test[name][key] for name in FIGURES for end, key in ends.items()}


def nets(results: Sequence[Result], net: str) -> list[Result]:
    """The cells of a trained net."""
    return [result for result in results if result["config"]["net"] == net and "history" in result]


def ablation(results: Sequence[Result]) -> pd.DataFrame:
    """What eta does to the small net: one row per rule and eta, means over the seeds after the last epoch.

    Returns
    -------
    pandas.DataFrame
        ``rule``, ``eta``, ``accumulates``, ``seeds``, ``diverged`` (how many seeds ended in numerical errors, which are
        left out of the means), and on the test part ``error``, ``deo``, ``selection`` (predicted attractive) and
        ``swing`` (mean change of the error from one epoch to the next), each with ``_low`` and ``_high``.
    """
    frame = pd.DataFrame([_run(result) for result in nets(results, "relu3")])
    rows = []
    for arm, runs in frame.groupby(ARM, sort=False, dropna=False):
        ended = runs[~runs["diverged"]]
        row = dict(zip(ARM, arm, strict=True)) | {"seeds": len(runs), "diverged": int(runs["diverged"].sum())}
        if len(ended):
            for name, mean in average(ended[list(OVER_SEEDS)]).items():
                row |= {name: mean.value, f"{name}_low": _cut(mean.low), f"{name}_high": _cut(mean.high)}
        rows.append(row)
    return pd.DataFrame(rows).astype(dict.fromkeys(OVER_SEEDS, float))


def _cut(end: float | None) -> float | None:
    """Three seeds make a wide interval: no share lies outside 0 to 100."""
    return None if end is None else min(max(end, 0.0), 100.0)


def _run(result: Result) -> dict[str, Any]:
    row = {name: result["config"][name] for name in ARM} | {"diverged": result["diverged"] is not None}
    if row["diverged"]:
        return row
    error, deo, selection = (profile(result, name) for name in ("error", "deo", "selection"))
    swing = float(np.abs(np.diff(error)).mean()) if len(error) > 1 else np.nan
    return row | {"error": error[-1], "deo": deo[-1], "selection": selection[-1], "swing": swing}


def profile(result: Result, name: str) -> list[float]:
    """A figure on the test part after every epoch, in percent."""
    found = [row["test"][name] for row in result["history"]]
    return [100 * (each if name == "selection" else each["value"]) for each in found]


def with_ends(row: Mapping[Any, Any], name: str, digits: int = 1, end_digits: int | None = None) -> str:
    """A figure with its interval, whose ends may have fewer digits.

    >>> row = {"deo": 1.12, "deo_low": 0.0, "deo_high": 5.6}
    >>> with_ends(row, "deo"), with_ends(row, "deo", 1, 0), with_ends({"deo": 10.4}, "deo")
    ('1.1 [0.0, 5.6]', '1.1 [0, 6]', '10.4')
    """
    value, *ends = (row.get(name + end) for end in ("", "_low", "_high"))
    if value is None or pd.isna(value):
        return ""
    if any(end is None or pd.isna(end) for end in ends):
        return f"{value:.1f}"
    end_digits = digits if end_digits is None else end_digits
    return f"{value:.{digits}f} [{ends[0]:.{end_digits}f}, {ends[1]:.{end_digits}f}]"


def point_rows(table: pd.DataFrame, *, short: bool = False) -> list[list[str]]:
    """The lines of :func:`points` as text; `short` for a terminal."""
    digits = 0 if short else 1
    return [[row["model"], *(with_ends(row, name, 1, digits) for name in FIGURES)] for row in table.to_dict("records")]


def ablation_rows(table: pd.DataFrame, *, short: bool = False) -> list[list[str]]:
    """The lines of :func:`ablation` as text; `short` for a terminal."""
    rows = []
    for row in table.to_dict("records"):
        eta = "" if pd.isna(row["eta"]) else f" {row['eta']:g}"
        figures = [with_ends(row, name, 1, 0 if short else 1) for name in ("error", "deo")]
        figures += [with_ends(row, "selection", 0), with_ends(row, "swing")]
        if row["diverged"]:
            figures[-1] = f"{row['diverged']} of {row['seeds']} diverged"
        rows.append([f"{row['rule']}{'*' * row['accumulates']}{eta}", *figures])
    return rows


POINT_HEAD = ["model", "error", "DEO", "FNR women", "FNR men"]
ABLATION_HEAD = ["rule, eta", "error", "DEO", "predicted +", "swing"]
POINT_LEGEND = (
    "Percent of the test part, with 95 % intervals; the first three are printed in the paper, without. Heads: a last"
    " layer on frozen features, fair to within the tolerance named. FNR: attractive people who are not called so."
)
ABLATION_LEGEND = (
    "Three-layer ReLU net at 28 pixels; means over the seeds on the test part after the last epoch, with Student's 95 %"
    " intervals, cut at 0 and 100. predicted +: share predicted attractive. swing: mean change of the error from one"
    " epoch to the next. *: gradients are never set to zero, as in the authors' l2."
)


def markdown(table: pd.DataFrame, sweep: pd.DataFrame, eta: float) -> str:
    """Both tables."""
    parts = [
        POINT_LEGEND,
        markdown_table(POINT_HEAD, point_rows(table)),
        ABLATION_LEGEND,
        markdown_table(ABLATION_HEAD, ablation_rows(sweep)),
        f"FairALM's eta for ResNet-18 by the validation part: {eta:g}.",
    ]
    return "\n\n".join(parts) + "\n"
