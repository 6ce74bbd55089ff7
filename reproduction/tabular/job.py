"""The methods of the table, each with the settings that NVP chooses from, and the job: a method on a data set."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from fairalm.arrays import FloatArray, IntArray
from fairalm.constraints import EqualOpportunity
from fairalm.datasets import load, preprocess, split
from fairalm.exceptions import InputError
from fairalm.measures import splits_entry
from fairalm.measures.chance import chance_gap
from fairalm.methods import FairALMLinear
from fairalm.selection import nvp
from fairalm.sklearn import FairALMClassifier
from fairalm.sklearn.comparators import AgarwalClassifier, DoniniClassifier, HardtClassifier, ZafarClassifier
from reproduction.experiment import Job

TABLES = {"adult": "Adult", "compas": "COMPAS", "german": "German", "law": "Law"}
PARTS = (0.6, 0.2, 0.2)  # shares of the rows: to fit on, to choose a setting on, to test on
#: How a setting is chosen: NVP as published, and NVP that leaves constant classifiers out.
CHOICES = {"nvp": nvp(), "without-constants": nvp(leave_out_constants=True)}
Setting = Mapping[str, Any]
STRENGTHS = tuple({"C": C} for C in (0.1, 0.3, 1.0, 3.0, 10.0))
TOLERANCES = tuple({"tol": tol} for tol in (0.002, 0.005, 0.01, 0.02, 0.05))
STEPS = tuple({"eta": eta} for eta in (0.1, 0.3, 1.0, 3.0, 10.0))
#: Zafar's covariance as published, and conditioned on y = 1, which is nearer to equal opportunity
COVARIANCES = (
    {"share": 0.0, "among": "everyone"},
    *({"share": share, "among": "positives"} for share in (0.0, 0.25, 0.5, 0.75)),
)
EXACT = EqualOpportunity(tol=0.0)  # the paper's constraint is an equality
ROUNDS = 50  # T of Algorithm 1


@dataclass(frozen=True)
class Row:
    """A method of the table."""

    title: str
    color: str  # in the figure
    make: Callable[[Setting, int], Any]  # from a setting and a seed to an estimator that is not fitted
    settings: tuple[Setting, ...]  # at most five
    is_fair: bool = True  # whether fit takes the protected attribute
    needs_group: bool = False  # whether predict takes it too


def _logistic(C: float = 1.0) -> LogisticRegression:
    return LogisticRegression(C=C, solver="newton-cholesky")


def _hardt(setting: Setting, seed: int) -> Any:
    return HardtClassifier(_logistic(**setting), random_state=seed)


def _agarwal(setting: Setting, seed: int) -> Any:
    return AgarwalClassifier(_logistic(), random_state=seed, **setting)


def _algorithm_1(setting: Setting, seed: int) -> Any:
    rounds: Any = {"method": FairALMLinear(**setting), "predictor": "last", "max_iter": ROUNDS, "early_stop": False}
    rounds["dual_signal"] = "train"  # as the paper has it
    return FairALMClassifier(_logistic(), constraint=EXACT, random_state=seed, **rounds)


def _default(setting: Setting, seed: int) -> Any:
    return FairALMClassifier(_logistic(**setting), constraint=EXACT, random_state=seed)


#: name on the command line -> row, in the order of the table
ROWS: dict[str, Row] = {
    "zafar": Row("Zafar et al.", "#8c6d31", lambda setting, seed: ZafarClassifier(**setting), COVARIANCES),
    "hardt": Row("Hardt et al.", "#b5651d", _hardt, STRENGTHS, needs_group=True),
    "donini": Row("Donini et al.", "#7b4173", lambda setting, seed: DoniniClassifier(**setting), STRENGTHS),
    "agarwal": Row("Agarwal et al.", "#c0392b", _agarwal, TOLERANCES),
    "algorithm-1": Row("FairALM, Algorithm 1 as written", "#3b76b5", _algorithm_1, STEPS),
    "fairalm": Row("FairALM, our default", "#0b3d75", _default, STRENGTHS),
    "plain": Row("plain", "#444444", lambda setting, seed: _logistic(**setting), STRENGTHS, is_fair=False),
    "constant": Row("constant", "#999999", lambda setting, seed: DummyClassifier(), ({},), is_fair=False),
}


@dataclass(frozen=True)
class TableJob(Job):
    """Choose a setting of a method (a key of ``ROWS``) on a data set, and test it."""

    table: str
    row: str
    seed: int
    with_protected: bool = True  # whether the protected attribute is among the features

    @property
    def name(self) -> str:
        return f"{self.table}-{self.row}-{'with' if self.with_protected else 'without'}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, "parts": PARTS, "settings": ROWS[self.row].settings}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Try every setting on the validation rows, fit the chosen one again on all but the test rows, and test it.

        The result has the ``runs`` on the validation rows and, for each of ``CHOICES``, figures on the test rows.
        """
        row = ROWS[self.row]
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")  # a setting that does not meet the constraint shows in the figures
            data = SplitData(self, data_dir)
            runs = [*map(data.trial(row, self.seed, data.fit, data.valid), row.settings)]
            chosen = {name: choose(name, pd.DataFrame(runs)) for name in CHOICES}
            test = data.trial(row, self.seed, data.rest, data.test)
            tested = {index: test(row.settings[index]) for index in sorted(set(chosen.values()))}
        return {"runs": runs, "choices": {name: {"chosen": index, **tested[index]} for name, index in chosen.items()}}


class SplitData:
    """A data set in three parts."""

    def __init__(self, job: TableJob, data_dir: str | None = None) -> None:
        data = load(job.table, data_dir=data_dir)
        self.X = data.features_frame(with_protected=job.with_protected)
        self.y, self.groups = data.y, np.asarray(data.groups)
        self.is_second = self.groups == np.unique(self.groups)[1]
        fit, valid, test = PARTS
        rest, self.test = split(self.y, self.groups, test_size=test, random_state=job.seed)
        inside, outside = split(self.y[rest], self.groups[rest], test_size=valid / (fit + valid), random_state=job.seed)
        self.fit, self.valid, self.rest = rest[inside], rest[outside], rest

    def trial(self, row: Row, seed: int, fitted: IntArray, measured: IntArray) -> Callable[[Setting], dict[str, Any]]:
        """A function that fits a setting on some rows and measures it on others."""
        prepared = preprocess(self.X).fit(self.X.iloc[fitted])
        X, unseen = (np.asarray(prepared.transform(self.X.iloc[part])) for part in (fitted, measured))
        y, groups = self.y[measured], self.groups[measured]
        to_fit = {"sensitive_features": self.groups[fitted]} if row.is_fair else {}
        to_predict = {"sensitive_features": groups} if row.needs_group else {}

        def run(setting: Setting) -> dict[str, Any]:
            begin = time.perf_counter()
            model = row.make(setting, seed).fit(X, self.y[fitted], **to_fit)
            seconds = time.perf_counter() - begin
            predict = getattr(model, "expected_predict", model.predict)  # probabilities if the method is randomised
            predicted = np.asarray(predict(unseen, **to_predict), dtype=float)
            result = {**figures(predicted, y, self.is_second[measured]), "seconds": seconds}
            if measured is self.test and np.isin(predicted, (0.0, 1.0)).all():  # a randomised method has no counts
                result["entry"] = splits_entry(y, predicted == 1, sensitive_features=groups, target=1)
            return result

        return run


def figures(predicted: FloatArray, y: IntArray, is_second: Any) -> dict[str, Any]:
    """Error, DEO with its sign (first group's false negative rate less the second's), and the counts behind them.

    `predicted` is the probability that each row is predicted 1; the figures are expectations over it.
    """
    cells = [(y == 1) & (is_second == second) for second in (False, True)]
    signed = float(predicted[cells[1]].mean() - predicted[cells[0]].mean())
    sizes = [int(cell.sum()) for cell in cells]
    return {
        "error": float(abs(predicted - y).mean()),
        "deo": abs(signed),
        "signed": signed,
        "fpr": float(predicted[y == 0].mean()),
        "selection": float(predicted.mean()),
        "chance": chance_gap(float(predicted[y == 1].mean()), *sizes),
        "positives": sizes,
        "rows": len(y),
    }


def choose(name: str, runs: pd.DataFrame) -> int:
    """The run that is chosen in one of the ``CHOICES``; where all are constant, one of these."""
    try:
        return CHOICES[name](runs)
    except InputError:
        return CHOICES["nvp"](runs)
