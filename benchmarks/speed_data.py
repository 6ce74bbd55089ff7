"""The problems of speed.py: four tables, a survey, and made-up rows of any number, with any number of groups."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from frontier_data import FIT_ROWS, SURVEYS, TEST_ROWS, Problem, prepared, problem
from promise import survey

NEW_ROWS = 200_000  # made-up rows to test on
CHUNK = 1_000_000  # rows made at a time, so that ten million need little more memory than they take


AWARE = " + group"  # ends the title of made-up rows of which the group is a feature


def made_up(n_rows, n_groups, n_features, aware, seed, estimator):
    """Rows whose plain model has a clear gap, for any number of groups.

    If `aware`, there is a column more per group, 1 for its rows and otherwise 0.

    - Groups are of unequal size: the largest has three times the rows of the smallest.
    - Every group has its own centre, normal with a standard deviation of 0.5 in each of the features, around which its
      rows are standard normal. So the features tell much about the group, as a place of residence does.
    - The log-odds of the label are 2.5 times a direction of length 1 in the features without the centre, plus an offset
      of the group that goes from 1 for the first to -1 for the last: equally able people, unequal labels.
    - Labels are flipped with a probability that goes from 2 % in the first group to 10 % in the last.

    Centres and direction are the same for all seeds and numbers of rows.
    """
    rng = np.random.default_rng([n_groups, n_features])
    centres = 0.5 * rng.standard_normal((n_groups, n_features))
    direction = rng.standard_normal(n_features)
    direction *= 2.5 / np.linalg.norm(direction)
    shares = np.linspace(3, 1, n_groups)
    offsets, flips = np.linspace(1, -1, n_groups), np.linspace(0.02, 0.1, n_groups)
    rng = np.random.default_rng([seed, n_rows, n_groups, n_features])

    def draw(n):
        X, y = np.zeros((n, n_features + aware * n_groups)), np.empty(n, dtype=int)
        s = rng.choice(n_groups, size=n, p=shares / shares.sum())
        for begin in range(0, n, CHUNK):
            part = slice(begin, begin + CHUNK)
            group = s[part]
            own = rng.standard_normal((len(group), n_features))
            chance = 1 / (1 + np.exp(-(own @ direction + offsets[group])))
            chance += (1 - 2 * chance) * flips[group]
            X[part, :n_features], y[part] = own + centres[group], rng.random(len(group)) < chance
        if aware:
            X[np.arange(n), n_features + s] = 1
        return X, y, s

    return Problem("made-up rows", aware, estimator, seed, *draw(n_rows), *draw(NEW_ROWS))


def income_by_sex(seed, estimator):
    """ACSIncome with two groups; sex is a feature."""
    parts = []
    for part, rows, chosen in (
        ("validation", SURVEYS["ACSIncome"], slice(seed * FIT_ROWS, (seed + 1) * FIT_ROWS)),
        ("test", TEST_ROWS, slice(None)),
    ):
        table, y, _, _ = survey("ACSIncome", part, rows)
        table, y = table.iloc[chosen], y[chosen]
        parts += [table, y, np.where(table["SEX"] == 1, "male", "female")]
    return replace(prepared("ACSIncome", False, estimator, seed, *parts), aware=True)


def table(name, aware, seed, estimator):
    """One of the tables of frontier_data."""
    return problem(name, aware, estimator, seed, False)


def load_of(title):
    """What makes the problem of a title, from a seed and the name of an estimator."""
    if title in ("adult", "compas", "german", "law"):
        return partial(table, title, True)
    if title == "ACSIncome, race":
        return partial(table, "ACSIncome", False)
    if title == "ACSIncome, sex":
        return income_by_sex
    return partial(made_up, *map(int, title.removesuffix(AWARE).split(" × ")), title.endswith(AWARE))


def title_of(n_rows, n_groups, n_features=20, aware=False):
    """The title of made-up rows: rows × groups × features."""
    return f"{n_rows} × {n_groups} × {n_features}{AWARE if aware else ''}"
