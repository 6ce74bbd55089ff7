"""The results of frontier.py as tables for the docs."""

from __future__ import annotations

import itertools

import numpy as np
from frontier_contenders import CONTENDERS, FEW, NEEDS_GROUP, ONE

EQUAL_GAPS = (0.02, 0.05, 0.1)
PROBLEM = ["table", "estimator", "aware", "constraint"]


def error_at(curve, plain, gap):
    """Error where the curve, followed from the plain model to tighter tolerances, first has this gap on the new rows.

    Between two tolerances error and gap are interpolated. NaN if the curve never comes down to the gap; the plain
    model's error if that is within it already.
    """
    points = [plain, *curve.sort_values("tol", ascending=False)[["net gap", "error"]].to_numpy()]
    if points[0][0] <= gap:
        return points[0][1]
    for (wide, error), (narrow, next_error) in itertools.pairwise(points):
        if wide > gap >= narrow:
            share = (wide - gap) / (wide - narrow)
            return error + share * (next_error - error)
    return np.nan


def means(results):
    """Means over the seeds, one row per problem, contender and tolerance.

    The net gap of two groups is the mean of the signed gaps, without its sign: chance cancels out in it.
    """
    numbers = ["error", "gap", "low", "high", "floor", "signed", "one", "twenty"]
    with_signed = results.reindex(columns=[*PROBLEM, "contender", "tol", *numbers])
    mean = with_signed.groupby([*PROBLEM, "contender", "tol"], sort=False).mean().reset_index()
    mean["net gap"] = mean["signed"].abs().fillna(mean["gap"])
    return mean


def named(problem):
    table, estimator, aware, constraint = problem
    return f"{table}, {estimator}, {'a feature' if aware else 'not a feature'}, {constraint}"


def percent(value, digits=1):
    return "–" if np.isnan(value) else f"{100 * value:.{digits}f}"


def table_of(mean, contenders, cell, extra=None):
    """One line per problem, one column per contender."""
    head = ["problem", *contenders, *(["floor"] if extra else [])]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for problem, block in mean.groupby(PROBLEM, sort=False):
        cells = [cell(block, block[block["contender"] == name]) for name in contenders]
        lines.append("| " + " | ".join([named(problem), *cells, *([extra(block)] if extra else [])]) + " |")
    return "\n".join(lines)


def at_one(block, curve):
    """Error @ gap [interval] at the tolerance of one point."""
    row = curve[curve["tol"].isin((ONE, np.inf))]
    if row.empty:
        return ""
    row = row.iloc[0]
    return f"{percent(row['error'])} @ {percent(row['gap'])} [{percent(row['low'])}, {percent(row['high'])}]"


def at_equal_gaps(block, curve):
    plain = block.loc[block["contender"] == "plain", ["net gap", "error"]].to_numpy()
    if curve.empty or len(plain) == 0:
        return ""
    return " / ".join(percent(error_at(curve, plain[0], gap)) for gap in EQUAL_GAPS)


def times(block, curve):
    if curve.empty:
        return ""
    extrapolated = "~" if len(curve) == len(FEW) else ""
    return f"{curve['one'].iloc[0]:.1f}, {extrapolated}{curve['twenty'].iloc[0]:.1f}"


def markdown(results):
    """Three tables: at one tolerance, at equal gaps, and times."""
    if results.empty:
        return "no results"
    mean = means(results)
    contenders = [name for name in CONTENDERS if name in set(mean["contender"])]
    fair = [name for name in contenders if name != "plain"]
    gaps = " / ".join(f"{100 * gap:g}" for gap in EQUAL_GAPS)
    needs = ", ".join(name for name in NEEDS_GROUP if name in fair)
    parts = [
        f"At a tolerance of {ONE:g}: error @ gap on new rows, in percent, with the gap's interval.",
        table_of(mean, contenders, at_one, lambda block: percent(block["floor"].median())),
        f"Error in percent at a gap of {gaps} points on new rows (two groups: of the mean signed gap); – where the"
        " curve does not come down to it.",
        table_of(mean, fair, at_equal_gaps),
        "Time for one tolerance and for twenty, in plain fits; ~ extrapolated from three tolerances.",
        table_of(mean, fair, times),
    ]
    if needs:
        parts.append(f"Need the group of new rows even if it is not a feature: {needs}.")
    return "\n\n".join(parts)
