"""Constraints, methods and estimators by name; classes of your own as ``module:Class``."""

from __future__ import annotations

import dataclasses
import importlib
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fairalm._validation import by_name, no_such
from fairalm.constraints import CONSTRAINTS, Constraint
from fairalm.exceptions import InputError
from fairalm.methods import METHODS, Method

#: Estimators of scikit-learn: name -> (seed -> estimator, description).
ESTIMATORS: dict[str, tuple[Callable[[int], Any], str]] = {
    "logistic": (lambda seed: LogisticRegression(max_iter=1000), "logistic regression"),
    "linear-svm": (lambda seed: LinearSVC(dual=False, random_state=seed), "linear support vector machine"),
    "tree": (lambda n: DecisionTreeClassifier(min_samples_leaf=20, random_state=n), "decision tree, 20 rows per leaf"),
    "forest": (
        lambda seed: RandomForestClassifier(min_samples_leaf=10, random_state=seed),
        "random forest, 100 trees, 10 rows per leaf",
    ),
    "boosting": (lambda n: HistGradientBoostingClassifier(random_state=n), "gradient boosting of trees on histograms"),
    "naive-bayes": (lambda seed: GaussianNB(), "Gaussian naive Bayes"),
}
#: Boosting libraries, imported when they are used: name -> (class, its settings, description).
BOOSTERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "lightgbm": ("LGBMClassifier", {"verbose": -1}, 'LightGBM with its own defaults; needs "fairalm[lightgbm]"'),
    "xgboost": ("XGBClassifier", {}, 'XGBoost with its own defaults; needs "fairalm[xgboost]"'),
}
#: Those that the frontier can be made of.
WITH_PROBABILITIES = (
    *(name for name, (make, _) in ESTIMATORS.items() if hasattr(make(0), "predict_proba")),
    *BOOSTERS,
)
LAST_LAYER = "last-layer"
#: Estimators for images, and every net: name -> description.
IMAGE_NETS: dict[str, str] = {
    LAST_LAYER: 'images: a fair last layer on a net trained on ImageNet, in minutes; needs "fairalm[vision]"',
    "relu3": "images: the paper's net of three fully connected layers, for small images",
    "resnet18": "images: ResNet-18",
    "efficientnet-lite0": "images: EfficientNet-Lite0, from its ImageNet weights",
}
NETS = {"mlp": 'net with two hidden layers of 64 units, in mini-batches; needs "fairalm[torch]"', **IMAGE_NETS}
ADVERSARIAL = "adversarial"  # for nets on images; it trains a second net and is no Method
FRONTIER = "frontier"  # fairalm.FrontierClassifier: fitted once, and no Method either
FRONTIER_SUMMARY = "fits once, then answers every tolerance; see fairalm frontier"


def make_estimator(name: str, seed: int) -> Any:
    """An estimator of scikit-learn, LightGBM or XGBoost."""
    if name in NETS:
        raise InputError(f"The estimator {name!r} is a net, which only fairalm train can train.")
    if name in BOOSTERS:
        kind, settings, _ = BOOSTERS[name]
        try:
            return getattr(importlib.import_module(name), kind)(random_state=seed, **settings)
        except ImportError as error:
            raise InputError(f'The estimator {name!r} needs its library: pip install "fairalm[{name}]".') from error
    make, _ = by_name("estimator", name, ESTIMATORS)
    return make(seed)


def make_constraint(which: str | type[Constraint], tol: float, target: Any = None) -> Constraint:
    """A constraint by name, as ``module:Class`` or from a class."""
    made: Constraint = _make(_find("constraint", which, CONSTRAINTS, Constraint), tol=tol, target=target)
    return made


def make_method(which: str | type[Method], eta: float | None = None) -> Method:
    """A method by name, as ``module:Class`` or from a class, with its step size if one is given."""
    kind, given = _find("method", which, METHODS, Method), {} if eta is None else {"eta": eta}
    if given and "eta" not in {field.name for field in dataclasses.fields(kind)}:
        raise InputError(f"The method {kind.name!r} has no step size: leave {{eta}} out.", eta=None)
    if not math.isfinite(given.get("eta", 0)):
        raise InputError(f"{{eta}} must be a positive number; got {eta}.", eta=None)
    made: Method = _make(kind, **given)
    return made


def _find(what: str, which: str | type[Any], known: Mapping[str, type[Any]], base: type[Any]) -> Any:
    """The class of that name, the one that ``module:Class`` names, or the class itself."""
    if isinstance(which, str) and ":" not in which:
        return by_name(what, which, known)
    kind = _import(what, which, base) if isinstance(which, str) else which
    if not isinstance(kind, type) or not issubclass(kind, base):
        raise InputError(f"{which} is no {what}: it must be a subclass of fairalm.{base.__name__}.")
    return kind


def _import(what: str, which: str, base: type[Any]) -> Any:
    """What ``module:Class`` names; the module is in the current folder or among the installed packages."""
    path, _, name = which.partition(":")
    if not path or not name.isidentifier():
        raise InputError(f"{which!r} names no {what}: write module:Class, such as my_package.my_module:MyClass.")
    find_modules_here()
    try:
        module = importlib.import_module(path)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{path}.".startswith(f"{error.name}."):
            raise InputError(f"There is no module {path} in the current folder or in an installed package.") from None
        raise InputError(f"The module {path} cannot be imported ({type(error).__name__}: {error}).") from error
    if not hasattr(module, name):
        classes = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, base)]
        raise no_such(f"class in {path}:", name, classes)
    return getattr(module, name)


def find_modules_here() -> None:
    """Let Python find modules in the current folder, as it does for scripts there."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))


def _make(kind: type[Any], **settings: Any) -> Any:
    try:
        return kind(**settings)
    except InputError:
        raise
    except Exception as error:
        given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        raise InputError(f"{kind.__name__}({given}) fails ({type(error).__name__}: {error}).") from error
