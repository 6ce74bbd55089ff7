"""The methods of the table, each with the settings that NVP chooses from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from fairalm.constraints import EqualOpportunity
from fairalm.methods import FairALMLinear
from fairalm.sklearn import FairALMClassifier
from fairalm.sklearn.comparators import AgarwalClassifier, DoniniClassifier, HardtClassifier, ZafarClassifier
from reproduction.types import FloatArray

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

    def fit(self, setting: Setting, seed: int, X: FloatArray, y: Any, groups: Any) -> Any:
        """Fit to labels 0 and 1."""
        protected = {"sensitive_features": groups} if self.is_fair else {}
        return self.make(setting, seed).fit(X, y, **protected)

    def probabilities(self, model: Any, X: FloatArray, groups: Any) -> FloatArray:
        """The probability that each row is predicted 1; 0 or 1 unless the method is randomised."""
        protected = {"sensitive_features": groups} if self.needs_group else {}
        predict = getattr(model, "expected_predict", model.predict)
        return np.asarray(predict(X, **protected), dtype=float)


def _logistic(C: float = 1.0) -> LogisticRegression:
    return LogisticRegression(C=C, solver="newton-cholesky")


def _hardt(setting: Setting, seed: int) -> Any:
    return HardtClassifier(_logistic(**setting), random_state=seed)


def _agarwal(setting: Setting, seed: int) -> Any:
    return AgarwalClassifier(_logistic(), random_state=seed, **setting)


def _algorithm_1(setting: Setting, seed: int) -> Any:
    rounds = {"method": FairALMLinear(**setting), "predictor": "last", "max_iter": ROUNDS, "early_stop": False}
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
