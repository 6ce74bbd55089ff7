"""What the comparators share: the checks of what comes in, linear scores, seeded draws."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d, validate_data

from fairalm._validation import FloatArray, Groups, check_binary, encode_groups
from fairalm.constraints import EqualOpportunity, check_cells
from fairalm.exceptions import InputError

BoolArray = npt.NDArray[np.bool_]


class Comparator(ClassifierMixin, BaseEstimator):
    """A classifier for equal opportunity on tables of numbers; the larger label is the one whose errors count."""

    needs_group_to_predict: ClassVar[bool] = False

    def _check_fit(
        self, X: Any, y: Any, sensitive_features: Any, *, two_groups: bool = False
    ) -> tuple[FloatArray, BoolArray, Groups]:
        """X as numbers, who has the larger label, and the groups."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if len(y) != len(X):
            raise InputError(f"y has {len(y)} rows, X has {len(X)}: pass one label per row.")
        if len(np.unique(y)) == 1:
            raise InputError(f"y has one class only ({y[0]}): there is nothing to learn.")
        positive, classes = check_binary(y)
        groups = encode_groups(sensitive_features, n_rows=len(X))
        if two_groups and groups.n_groups != 2:
            raise InputError(
                f"{type(self).__name__} is defined for two groups; `sensitive_features` has {groups.n_groups}"
                f" ({', '.join(groups.names[:5])}{', ...' if groups.n_groups > 5 else ''}): merge some, or drop rows."
            )
        check_cells(EqualOpportunity(), positive, groups.codes, groups.names, classes)
        self.classes_ = np.unique(y)
        self.groups_ = groups.labels
        return X, positive, groups

    def _check_setting(self, name: str, holds: bool, rule: str) -> None:
        if not holds:
            came = getattr(self, name)
            raise InputError(f"The '{name}' parameter of {type(self).__name__} must be {rule}. Got {came!r} instead.")

    def _check_X(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LinearComparator(Comparator):
    """A comparator that ends in `coef_` and `intercept_`."""

    coef_: FloatArray
    intercept_: FloatArray

    def decision_function(self, X: Any) -> FloatArray:
        """Signed distances, up to scale: positive for the larger label."""
        return np.asarray(self._check_X(X) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> Any:
        """Labels."""
        chosen = self.decision_function(X) > 0
        return self.classes_[chosen.astype(int)]


class RandomisedComparator(Comparator):
    """A comparator whose predictions are drawn, with the seed of the fit: same rows, same labels."""

    random_state: Any

    def _set_seed(self) -> None:
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _draw(self, chance: FloatArray) -> Any:
        drawn = np.random.RandomState(self._seed).random_sample(len(chance)) < chance
        return self.classes_[drawn.astype(int)]
