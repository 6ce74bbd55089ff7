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

from fairalm._validation import check_choice, no_such
from fairalm.constraints import CONSTRAINTS, Constraint
from fairalm.exceptions import InputError
from fairalm.methods import METHODS, Method

#: name -> (description, seed -> estimator)
ESTIMATORS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "logistic": ("logistic regression", lambda seed: LogisticRegression(max_iter=1000)),
    "linear-svm": ("linear support vector machine", lambda seed: LinearSVC(dual=False, random_state=seed)),
    "tree": (
        "decision tree, 20 rows per leaf",
        lambda seed: DecisionTreeClassifier(min_samples_leaf=20, random_state=seed),
    ),
    "forest": (
        "random forest, 100 trees, 10 rows per leaf",
        lambda seed: RandomForestClassifier(min_samples_leaf=10, random_state=seed),
    ),
    "boosting": (
        "gradient boosting of trees on histograms",
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
    ),
    "naive-bayes": ("Gaussian naive Bayes", lambda seed: GaussianNB()),
}
LAST_LAYER = "last-layer"
#: Estimators for images: name -> description.
IMAGE_NETS: dict[str, str] = {
    LAST_LAYER: 'images: a fair last layer on a net trained on ImageNet, in minutes; needs "fairalm[vision]"',
    "relu3": "images: the paper's net of three fully connected layers, for small images",
    "resnet18": "images: ResNet-18",
    "efficientnet-lite0": "images: EfficientNet-Lite0, from its ImageNet weights",
}
#: Every net: name -> description.
NETS: dict[str, str] = {
    "mlp": 'net with two hidden layers of 64 units, trained in mini-batches; needs "fairalm[torch]"',
    **IMAGE_NETS,
}
ADVERSARIAL = "adversarial"  # for nets on images; it trains a second net and is no Method


def make_estimator(name: str, seed: int) -> Any:
    """An estimator of scikit-learn."""
    if name in NETS:
        raise InputError(f"The estimator {name!r} is a net, which only fairalm train can train.")
    check_choice("estimator", name, ESTIMATORS)
    return ESTIMATORS[name][1](seed)


def make_constraint(which: str | type[Constraint], tol: float, target: Any = None) -> Constraint:
    """A constraint by name, as ``module:Class`` or of a class."""
    made: Constraint = _make(find_class("constraint", which, CONSTRAINTS, Constraint), tol=tol, target=target)
    return made


def make_method(which: str | type[Method], eta: float | None = None) -> Method:
    """A method by name, as ``module:Class`` or of a class, with its step size if one is given."""
    kind = find_class("method", which, METHODS, Method)
    if eta is not None and "eta" not in {field.name for field in dataclasses.fields(kind)}:
        raise InputError(f"The method {kind.name!r} has no step size: leave {{eta}} out.", eta=None)
    if eta is not None and not math.isfinite(eta):
        raise InputError(f"{{eta}} must be a positive number; got {eta}.", eta=None)
    made: Method = _make(kind) if eta is None else _make(kind, eta=eta)
    return made


def find_class(what: str, which: str | type[Any], known: Mapping[str, type[Any]], base: type[Any]) -> Any:
    """The class of that name, the one that ``module:Class`` names, or the class itself.

    A module is looked for in the current folder, then among the installed packages.
    """
    if not isinstance(which, str):
        return _check_subclass(what, getattr(which, "__name__", repr(which)), which, base)
    if ":" not in which:
        check_choice(what, which, known)
        return known[which]
    path, _, name = which.partition(":")
    if not path or not name.isidentifier():
        raise InputError(f"{which!r} names no {what}: write module:Class, such as my_package.my_module:MyClass.")
    module = _import(path)
    if not hasattr(module, name):
        classes = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, base)]
        raise no_such(f"class in {path}:", name, classes)
    return _check_subclass(what, which, getattr(module, name), base)


def _import(path: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):  # the module is there, its import is not
            raise InputError(f"The module {path} cannot be imported ({error}).") from error
        raise InputError(f"There is no module {path} in the current folder or among the installed packages.") from None
    except Exception as error:
        raise InputError(f"The module {path} cannot be imported ({type(error).__name__}: {error}).") from error


def _check_subclass(what: str, name: str, kind: Any, base: type[Any]) -> Any:
    if not isinstance(kind, type) or not issubclass(kind, base):
        raise InputError(f"{name} is no {what}: it must be a subclass of fairalm.{base.__name__}.")
    return kind


def _make(kind: type[Any], **settings: Any) -> Any:
    try:
        return kind(**settings)
    except InputError:
        raise
    except Exception as error:
        given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        raise InputError(f"{kind.__name__}({given}) fails ({type(error).__name__}: {error}).") from error
