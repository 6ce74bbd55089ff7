"""Models saved by one version of scikit-learn and used by another: what differs, and what is done about it."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer

import sklearn
from fairalm.exceptions import InputError, VersionError
from fairalm.tree_checks import parts_of

#: The scikit-learn versions between which saved models predict the same: docs/how-to/saving.md.
OLDEST, NEWEST = (1, 7), (1, 9)
#: Modules by the names that other versions of scikit-learn give them.
RENAMED = {"_loss": "sklearn._loss._loss"}


def check_version(saved: str) -> None:
    """Refuse a model that another scikit-learn saved, unless both versions were compared."""
    here = sklearn.__version__
    if _minor(saved) == _minor(here):
        return
    if not all(OLDEST <= _minor(version) <= NEWEST for version in (saved, here)):
        compared = " to ".join(".".join(map(str, version)) for version in (OLDEST, NEWEST))
        raise VersionError(
            f"it was saved with scikit-learn {saved} and this is {here}; models are known to predict the same only"
            f" between {compared}. Install scikit-learn=={saved}, or train again"
        )


def repair(model: Any) -> None:
    """Give the parts of a model, read from a file, the attributes that this version of scikit-learn looks for."""
    for part in parts_of(model):
        if not isinstance(part, BaseEstimator):
            continue
        known = vars(part)
        for parameter in inspect.signature(type(part).__init__).parameters.values():
            if parameter.default is not parameter.empty:  # a parameter that the other version does not have
                known.setdefault(parameter.name, parameter.default)
        if isinstance(part, SimpleImputer) and "_fit_dtype" in known and _minor(sklearn.__version__) > OLDEST:
            known.setdefault("_fill_dtype", known["_fit_dtype"])  # new in 1.8; numbers have the same type in both


def _minor(version: str) -> tuple[int, int]:
    try:
        major, minor = (int(part) for part in version.split(".")[:2])
    except ValueError:
        raise InputError(f"it names no version of scikit-learn: {version!r}") from None
    return major, minor
