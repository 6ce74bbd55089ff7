"""The estimators by name, and building, fitting and measuring a model."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fairalm._validation import FloatArray, no_such
from fairalm.cli._nets import NETS
from fairalm.constraints import CONSTRAINTS, Constraint
from fairalm.exceptions import FairALMWarning, InputError
from fairalm.methods import METHODS, Method

Value = TypeVar("Value")

#: name -> (words, seed -> estimator)
ESTIMATORS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "logistic": ("logistic regression", lambda seed: LogisticRegression(max_iter=1000)),
    "linear-svm": ("linear support vector machine", lambda seed: LinearSVC(dual=False, random_state=seed)),
    "tree": (
        "decision tree, 20 people per leaf",
        lambda seed: DecisionTreeClassifier(min_samples_leaf=20, random_state=seed),
    ),
    "forest": (
        "random forest, 100 trees, 10 people per leaf",
        lambda seed: RandomForestClassifier(min_samples_leaf=10, random_state=seed),
    ),
    "boosting": (
        "gradient boosting of trees on histograms",
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
    ),
    "naive-bayes": ("Gaussian naive Bayes", lambda seed: GaussianNB()),
}


def choose(what: str, name: str, known: Mapping[str, Value]) -> Value:
    """Look a name up; an unknown one is an error that names the nearest."""
    if name not in known:
        raise no_such(what, name, known)
    return known[name]


def check_choice(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is not known."""
    choose(what, name, dict.fromkeys(known))


def make_estimator(name: str, seed: int) -> Any:
    """Return an estimator of the registry that is fitted whole."""
    if name in NETS:
        raise InputError(f"The estimator {name!r} is a net, which only fairalm train can train.")
    return choose("estimator", name, ESTIMATORS)[1](seed)


def make_constraint(name: str, tol: float, target: Any) -> Constraint:
    """Return a criterion."""
    return choose("criterion", name, CONSTRAINTS)(tol=tol, target=target)


def make_method(name: str, eta: float | None = None) -> Method:
    """Return a rule, with its step size if one is given."""
    kind = choose("method", name, METHODS)
    if eta is None:
        return kind()
    if "eta" not in {field.name for field in dataclasses.fields(kind)}:
        raise InputError(f"The method {name!r} has no step size: leave --eta out.")
    if not np.isfinite(eta):
        raise InputError(f"--eta must be a positive number; got {eta}.")
    return kind(eta=eta)  # type: ignore[call-arg]  # checked above


@dataclasses.dataclass(frozen=True)
class Fit:
    """A fitted model, how long it took, and what our warnings said."""

    model: Any
    seconds: float
    warnings: tuple[Warning, ...] = ()


def timed(fit: Callable[[], Any]) -> Fit:
    """Fit, with the warnings kept."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", FairALMWarning)
        start = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - start
    return Fit(model, seconds, tuple(w.message for w in caught if isinstance(w.message, Warning)))


def scores_of(model: Any, X: Any, positive: Any) -> FloatArray | None:
    """Scores of the positive label: probabilities, else decision values, else None."""
    is_last = model.classes_[-1] == positive
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, 1 if is_last else 0], dtype=float)
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=float)
        return values if is_last else -values
    return None
