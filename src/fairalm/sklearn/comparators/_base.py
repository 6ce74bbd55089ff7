"""What the comparators share: fit and its checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fairalm._validation import Groups, check_binary, check_same_index, encode_groups
from fairalm.arrays import FloatArray
from fairalm.constraints import CONSTRAINTS, check_cells
from fairalm.exceptions import InputError

if TYPE_CHECKING:
    from typing_extensions import Self

BoolArray = npt.NDArray[np.bool_]


class Comparator(ClassifierMixin, BaseEstimator):
    """A fair classifier on tables of numbers; the larger label is the one whose errors count.

    A subclass gives the requirements of its parameters and trains in ``_fit``. Fitting sets `classes_` and `groups_`,
    the labels and the groups.
    """

    constraint: str = "equal-opportunity"
    requirements: ClassVar[Mapping[str, tuple[Callable[[Any], bool], str]]] = {}
    package: ClassVar[str] = ""  # must be installed
    needs_group_to_predict: ClassVar[bool] = False
    only_two_groups: ClassVar[bool] = False

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array of shape (n, features)
            Numbers.
        y : array of shape (n,)
            Two labels.
        sensitive_features : array, Series, data frame or dict of columns
            The protected attribute, one value per row.
        """
        for name, (holds, words) in self.requirements.items():
            if not holds(value := getattr(self, name)):
                owner = type(self).__name__
                raise InputError(f"The '{name}' parameter of {owner} must be {words}. Got {value!r} instead.")
        if self.package:
            import_extra(self.package)
        check_same_index(X=X, y=y, sensitive_features=sensitive_features)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        if len(np.unique(y)) == 1:
            raise InputError(f"y has one class only ({y[0]}): there is nothing to learn.")
        positive, classes = check_binary(y)
        groups = encode_groups(sensitive_features, n_rows=len(X))
        if self.only_two_groups and groups.n_groups != 2:
            raise InputError(
                f"{type(self).__name__} is defined for two groups; `sensitive_features` has {groups.n_groups}"
                f" ({', '.join(groups.names[:5])}{', ...' if groups.n_groups > 5 else ''}): merge some, or drop rows."
            )
        check_cells(CONSTRAINTS[self.constraint](), positive, groups.codes, groups.names, classes)
        self.classes_, self.groups_ = np.unique(y), groups.labels
        self._fit(X, positive, groups)
        return self

    def _check_X(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def _fit(self, X: FloatArray, positive: BoolArray, groups: Groups) -> None:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def import_extra(package: str) -> Any:
    """A package that comparators run on; without it, an error with the command that installs it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f'This comparator runs on {package}: pip install "fairalm[compare]"') from error
