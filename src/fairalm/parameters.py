"""Constraint and method as parameters of a classifier: by name, and each with parameters of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator

from fairalm._validation import check_choice
from fairalm.constraints import Constraint, as_constraint
from fairalm.exceptions import InputError
from fairalm.methods import Backend, Method, as_method

if TYPE_CHECKING:
    from typing_extensions import Self


class ConstrainedEstimator(BaseEstimator):
    """An estimator with the parameter `constraint`.

    It is an object, a name, or None for the default. Its own parameters are reached as scikit-learn reaches those of a
    part, so that a search can run over ``constraint__tol``. The object is frozen: setting makes a new one.

    Examples
    --------
    >>> from fairalm import FairALMClassifier
    >>> clf = FairALMClassifier(constraint="error-parity").set_params(constraint__tol=0.05)
    >>> clf.constraint
    ErrorParity(tol=0.05)
    """

    constraint: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep` also those of the constraint and other parts, such as ``constraint__tol``."""
        parameters = dict(super().get_params(deep))
        for name, make in self._parts().items() if deep else ():
            try:
                part = make()
            except InputError:  # said by fit
                continue
            parameters |= {f"{name}__{field}": getattr(part, field) for field in _names(part)}
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of a part, such as ``constraint__tol``, after the part itself."""
        prefixes = tuple(f"{name}__" for name in self._parts())
        nested = {name: params.pop(name) for name in list(params) if name.startswith(prefixes)}
        super().set_params(**params)
        for name, make in self._parts().items():
            changes = {key.removeprefix(f"{name}__"): nested[key] for key in nested if key.startswith(f"{name}__")}
            if changes:
                part = make()
                for field in changes:
                    check_choice(f"parameter of {type(part).__name__} called", field, _names(part))
                if (changed := replace(part, **changes)) != part:  # what says the same stays as it was given
                    setattr(self, name, changed)
        return self

    def _parts(self) -> dict[str, Callable[[], Any]]:
        return {
            "constraint": lambda: as_constraint(self.constraint, plain=False)
        }  # what it cannot bound is said by fit


class MethodEstimator(ConstrainedEstimator):
    """One that also has a parameter `method`, of the same kind."""

    backend: ClassVar[Backend]
    constraint: Constraint | str | None
    method: Method | str | None

    def _constraint(self) -> Constraint:
        return as_constraint(self.constraint)

    def _method(self) -> Method:
        return as_method(self.method, self.backend)

    def _parts(self) -> dict[str, Callable[[], Any]]:
        return super()._parts() | {"method": self._method}


def _names(part: Any) -> list[str]:
    return [field.name for field in fields(part) if field.init]
