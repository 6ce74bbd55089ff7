"""The problems of frontier.py: six tables, the attribute among the features or not, rows to fit on and new rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from promise import coded, races, survey
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from fairalm.datasets import load, preprocess, split

SURVEYS = {"ACSIncome": 332_900, "ACSPublicCoverage": 227_658}  # rows of each of their two files
FIT_ROWS, TEST_ROWS, REHEARSAL_ROWS = 50_000, 100_000, 80_000  # of the large tables, at most
LARGE = (*SURVEYS, "hmda")
TABLES = ("adult", "compas", "law", *LARGE)
ESTIMATORS: dict[str, Callable[[], ClassifierMixin]] = {
    "logistic": lambda: LogisticRegression(max_iter=1000),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to fit on and new rows. Groups are numbered in the order of their names."""

    table: str
    aware: bool
    estimator: str
    seed: int
    X: np.ndarray
    y: np.ndarray
    s: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray
    s_new: np.ndarray

    @property
    def title(self) -> str:
        """For messages."""
        return f"{self.table}, {self.estimator}, attribute {'a feature' if self.aware else 'not a feature'}"

    def make(self) -> ClassifierMixin:
        """The base estimator, not fitted."""
        return ESTIMATORS[self.estimator]()


@lru_cache(maxsize=2)
def rows(table, seed, rehearse):
    """Features without the attribute, labels and groups of the rows to fit on and of the new rows.

    A rehearsal takes both from the training rows and never reads the others.
    """
    if table in SURVEYS:
        return survey_rows(table, seed, rehearse)
    X, y, s = hmda() if table == "hmda" else labelled(load(table))
    train, new = split(y, s, test_size=0.3, random_state=seed)
    if rehearse:
        inner, outer = split(y[train], s[train], test_size=0.3, random_state=seed)
        train, new = train[inner], train[outer]
    if len(train) > FIT_ROWS:
        train = np.random.RandomState(seed).permutation(train)[:FIT_ROWS]
    return X.iloc[train], y[train], s[train], X.iloc[new], y[new], s[new]


def labelled(data):
    return data.features_frame(with_protected=False), data.y, data.groups.to_numpy()


def survey_rows(name, seed, rehearse):
    """One block of the file "validation" per seed to fit on; new rows from its end, or from the file "test"."""
    table, y, race, _ = survey(name, "validation", SURVEYS[name])
    s = races(race, 4)
    block = slice(seed * FIT_ROWS, (seed + 1) * FIT_ROWS)
    if block.stop > len(y) - REHEARSAL_ROWS * rehearse:
        raise SystemExit(f"{name} has too few rows for seed {seed}: pass fewer seeds.")
    if rehearse:
        end = slice(-REHEARSAL_ROWS, None)
        new = table.iloc[end], y[end], s[end]
    else:
        table_new, y_new, race_new, _ = survey(name, "test", TEST_ROWS)
        new = table_new, y_new, races(race_new, 4)
    return table.iloc[block], y[block], s[block], *new


def hmda(keep_unknown=False):
    """Mortgages with a high price, and whether race is given as black, asian or white.

    Other rows are left out or, with `keep_unknown`, have None: race is missing for most, the others' groups are small.
    """
    path = Path(os.environ.get("FAIRALM_DATA", "")) / "hmda" / "hmda_train_preprocessed.csv.gz"
    table = pd.read_csv(path)
    groups = table[["black", "asian", "white"]].fillna(0)
    known = (groups.sum(axis=1) == 1).to_numpy()
    s = np.where(known, groups.idxmax(axis=1), None)
    features = ["term_360", "conforming", "debt_to_income_ratio_missing", *table.filter(like="_std").columns]
    X, y = table[features], table["high_priced"].to_numpy()
    return (X, y, s) if keep_unknown else (X[known].reset_index(drop=True), y[known], s[known].astype(str))


def problem(table, aware, estimator, seed, rehearse):
    """The features as the estimator gets them: prepared on the rows to fit, or the survey's own codes for boosting."""
    return prepared(table, aware, estimator, seed, *rows(table, seed, rehearse))


def prepared(table, aware, estimator, seed, X, y, s, X_new, y_new, s_new):
    """These rows as a problem."""
    names, code = np.unique(s, return_inverse=True)
    code_new = np.searchsorted(names, s_new)
    as_codes = table in SURVEYS and estimator == "boosting"
    if table in SURVEYS and not as_codes:
        X, X_new = coded(X.copy()), coded(X_new.copy())
    if aware:
        X, X_new = (
            part.assign(group=numbers if as_codes else labels)
            for part, numbers, labels in ((X, code, s), (X_new, code_new, s_new))
        )
    if as_codes:
        inside, outside = (np.ascontiguousarray(part, dtype=float) for part in (X, X_new))
    else:
        columns = preprocess(X).fit(X)
        inside, outside = columns.transform(X), columns.transform(X_new)
    labels, labels_new = np.asarray(y, dtype=int), np.asarray(y_new, dtype=int)
    return Problem(table, aware, estimator, seed, inside, labels, code, outside, labels_new, code_new)
