"""Choosing among runs: NVP, the procedure of Donini et al. (2018) that the paper uses, and the Pareto front."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.exceptions import InputError
from fairalm.measures import MEASURES, make_gap_scorer

Runs = Mapping[str, Any] | pd.DataFrame
DECIMALS = 12  # figures that agree so far are equal: the order of a sum changes its last bits
SEARCH = "mean_test_"  # columns of a grid search, which are scores: greater is better
PREFIXES = (SEARCH, "valid_", "")
BEST_IS_ONE = {"accuracy", *(name for name, measure in MEASURES.items() if measure.kind == "ratio")}


def select_nvp(errors: Any, gaps: Any, *, keep: float = 0.9, constant: Any = None) -> int:
    """The position of the run with the smallest gap among those whose accuracy is at least `keep` times the best.

    Of equal gaps the smaller error wins, then the earlier run; figures that agree to 12 decimals are equal. Runs with
    a NaN and runs marked in `constant` are ignored: they do not set the best accuracy either. If no run is left, an
    ``InputError`` says why.

    Parameters
    ----------
    errors, gaps : array-like of float
        Error of each run on validation data, between 0 and 1, and its fairness measure there, 0 or more.
    keep : float
        In (0, 1]; 0.9 in Donini et al. and in the paper.
    constant : array-like of bool, optional
        Runs that predict one label for every row. Where nine labels in ten are the same, such a model is on every
        shortlist, with a gap of 0.

    Examples
    --------
    >>> errors, gaps = [0.15, 0.18, 0.23], [0.12, 0.03, 0.0]
    >>> select_nvp(errors, gaps), select_nvp(errors, gaps, keep=0.95)
    (2, 1)
    >>> select_nvp([0.25, 0.30], [0.05, 0.0]), select_nvp([0.25, 0.30], [0.05, 0.0], constant=[False, True])
    (1, 0)
    """
    _check_keep(keep)
    error, gap = _check_runs(errors, gaps)
    known = ~np.isnan(error + gap)
    is_constant = np.zeros(len(error), dtype=bool) if constant is None else _check_marks(constant, len(error))
    allowed = known & ~is_constant
    if not allowed.any():
        raise InputError(
            f"There is no run to choose from: of {len(error)} runs, {(~known).sum()} have a NaN and"
            f" {(known & is_constant).sum()} others are constant. Try other settings, or more validation data."
        )
    accuracy = 1.0 - error
    best = accuracy[allowed].max()
    shortlist = np.flatnonzero(allowed & (accuracy >= keep * best - 10.0**-DECIMALS))
    return int(shortlist[np.lexsort((error[shortlist], gap[shortlist]))[0]])


def pareto_front(errors: Any, gaps: Any) -> IntArray:
    """The positions of the runs that no other run beats, by rising error and thus falling gap.

    A run beats another if it is as good in error and in gap, and better in one of them. Of runs that are equal in both
    the first is kept; runs with a NaN are ignored. Parameters as in :func:`select_nvp`.

    Examples
    --------
    >>> pareto_front([0.20, 0.15, 0.18, 0.15], [0.01, 0.10, 0.12, 0.10])
    array([1, 0])
    """
    error, gap = _check_runs(errors, gaps)
    known = np.flatnonzero(~np.isnan(error + gap))
    order = known[np.lexsort((gap[known], error[known]))]
    smallest_before = np.minimum.accumulate([np.inf, *gap[order]])[:-1]
    return order[gap[order] < smallest_before]


def selection_rate(estimator: Any, X: Any, y: Any = None) -> float:
    """Share of `X` that a fitted classifier predicts as its last class, as a scorer: 0 or 1 if it is constant.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> selection_rate(DummyClassifier().fit([[0], [1], [2]], ["no", "yes", "no"]), [[3], [4]])
    0.0
    """
    return float(np.mean(np.asarray(estimator.predict(X)) == estimator.classes_[-1]))


@dataclass(frozen=True)
class NVP:
    """:func:`select_nvp` over named columns; made by :func:`nvp`."""

    keep: float
    gap: str
    leave_out_constants: bool

    def scoring(self, *, target: Any = None) -> dict[str, Any]:
        """The scorers for a grid search with ``refit=nvp(...)``; `target` as in :func:`make_gap_scorer`."""
        scorers = {name: make_gap_scorer(name, target=target) for name in ("error", self.gap)}
        return {**scorers, "selection": selection_rate}

    def __call__(self, runs: Runs) -> int:
        """The position of the chosen run; `runs` as in :func:`nvp`."""
        if not isinstance(runs, (Mapping, pd.DataFrame)):
            raise InputError(f"`runs` must be a table with named columns; got a {type(runs).__name__}.")
        prefix = next((prefix for prefix in PREFIXES if prefix + self.gap in runs), None)
        if prefix is None:
            raise _no_column(self.gap, PREFIXES)
        error = next((name for name in ("error", "accuracy") if prefix + name in runs), None)
        if error is None:
            raise _no_column("error", (prefix,))
        constant = _constant(runs, prefix) if self.leave_out_constants else None
        errors, gaps = (_zero_is_best(runs, prefix, name) for name in (error, self.gap))
        return select_nvp(errors, gaps, keep=self.keep, constant=constant)


def nvp(keep: float = 0.9, *, gap: str = "deo", leave_out_constants: bool = False) -> NVP:
    """Make a function that chooses a row of a table by :func:`select_nvp` and returns its position.

    The table is one of these:

    - ``cv_results_`` (``mean_test_deo``, ...): pass the function as ``refit=`` of ``GridSearchCV``, with its
      `scoring()`. Scores are minus an error or a gap, plus an accuracy or a ratio, as in scikit-learn.
    - the history of a :class:`fairalm.nn.Trainer` (``valid_deo``, ...): pass the function as ``choose=``.
    - any data frame or dict of columns (``deo``, ...), with errors and gaps as they are.

    Parameters
    ----------
    keep : float
        In (0, 1]: the share of the best accuracy that a run must have.
    gap : str
        Column of the fairness measure; of a ratio in ``MEASURES``, 1 minus the ratio counts. The error's column is
        "error", or "accuracy", of which 1 minus the accuracy counts.
    leave_out_constants : bool
        Ignore runs whose "selection", the share predicted as the target, is 0 or 1; in a search, in every fold.

    Examples
    --------
    >>> runs = pd.DataFrame({"error": [0.25, 0.27, 0.30], "deo": [0.08, 0.02, 0.0], "selection": [0.8, 0.9, 1.0]})
    >>> nvp()(runs), nvp(leave_out_constants=True)(runs)
    (2, 1)
    """
    _check_keep(keep)
    if not isinstance(gap, str) or not gap:
        raise InputError(f"`gap` must be the name of a measure, such as 'deo'; got {gap!r}.")
    if not isinstance(leave_out_constants, bool):
        raise InputError(f"`leave_out_constants` must be True or False; got {leave_out_constants!r}.")
    return NVP(keep, gap, leave_out_constants)


def _check_keep(keep: Any) -> None:
    if not isinstance(keep, (int, float, np.integer, np.floating)) or not 0 < keep <= 1:
        raise InputError(f"`keep` must lie in (0, 1], such as 0.9; got {keep!r}.")


def _check_runs(errors: Any, gaps: Any) -> tuple[FloatArray, FloatArray]:
    error, gap = _numbers(errors, "errors"), _numbers(gaps, "gaps")
    if len(error) != len(gap):
        raise InputError(f"There are {len(error)} errors and {len(gap)} gaps: pass one of each per run.")
    for numbers, most, requirement in (
        (error, 1.0, "Errors must lie between 0 and 1, not in percent"),
        (gap, np.finfo(float).max, "Gaps must be 0 or more, without sign"),
    ):
        if not ((numbers >= 0) & (numbers <= most) | np.isnan(numbers)).all():
            raise InputError(f"{requirement}; got {np.nanmin(numbers):g} to {np.nanmax(numbers):g}.")
    return error, gap


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        numbers = np.asarray(values, dtype=float).round(DECIMALS)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, one per run ({error}).") from error
    if numbers.ndim != 1:
        raise InputError(f"{name} must be one column, one number per run; got shape {numbers.shape}.")
    return numbers


def _check_marks(constant: Any, n_runs: int) -> BoolArray:
    marks = _numbers(constant, "`constant`")
    if len(marks) != n_runs or not np.isin(marks, (0.0, 1.0)).all():
        raise InputError(f"`constant` must be True or False for each of {n_runs} runs; got {constant!r}.")
    return marks.astype(bool)


def _zero_is_best(runs: Runs, prefix: str, name: str) -> FloatArray:
    """A column as an error or a gap."""
    values = _numbers(runs[prefix + name], prefix + name)
    if name in BEST_IS_ONE:
        return 1.0 - values
    if prefix != SEARCH:
        return values
    if (values > 0).any():
        raise InputError(
            f"{prefix}{name} goes up to {values[values > 0].max():g}, where a scorer must give minus the {name}: pass"
            " scoring=nvp(...).scoring(), or make_scorer(..., greater_is_better=False)."
        )
    return -values


def _constant(runs: Runs, prefix: str) -> BoolArray:
    """Whether a run predicts one label for every row; a run of a search, in every fold."""
    if f"{prefix}selection" not in runs:
        raise _no_column("selection", (prefix,))
    folds = [name for name in map(str, runs) if re.fullmatch(r"split\d+_test_selection", name)]
    columns = folds if folds and prefix == SEARCH else [f"{prefix}selection"]
    is_constant = [np.isin(_numbers(runs[name], name), (0.0, 1.0)) for name in columns]
    return np.asarray(np.all(is_constant, axis=0))


def _no_column(name: str, prefixes: tuple[str, ...]) -> InputError:
    wanted = " or ".join(f"{prefix}{name}" for prefix in prefixes)
    return InputError(
        f"The runs have no {wanted}: name the measure with nvp(gap=...), and give a search scoring=nvp(...).scoring()."
    )
