"""What every classifier asks of its parameters and of the rows it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d, validate_data

from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError
from fairalm.measures.weights import check_weights


def check_X(model: Any, X: Any, *, reset: bool) -> Any:
    """Check arrays of numbers in full; data frames and text go to the estimator as they are."""
    is_frame = hasattr(X, "columns")
    is_numbers = not is_frame and (hasattr(X, "toarray") or np.asarray(X).dtype.kind in "biufc")
    if not is_numbers:
        validate_data(model, X, reset=reset, skip_check_array=True)
        return X
    checks: dict[str, Any] = {"dtype": None, "accept_sparse": "csr", "ensure_all_finite": False}
    return validate_data(model, X, reset=reset, ensure_min_samples=2 if reset else 1, **checks)


def check_y(model: Any, y: Any, n_rows: int) -> Any:
    """Labels as an array: one per row, of two kinds at least."""
    if y is None:
        raise InputError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    if len(y) != n_rows:
        raise InputError(f"y has {len(y)} rows, X has {n_rows}: pass one label per row.")
    if len(classes := np.unique(y)) == 1:
        raise InputError(f"y has one class only ({classes[0]!r}): there is nothing to learn.")
    return y


def check_settings(model: Any, checks: list[tuple[str, bool, str]]) -> None:
    """Refuse parameters that a check does not hold for, given their names and what was expected of them."""
    for name, holds, expected in checks:
        if not holds:
            raise InputError(
                f"The '{name}' parameter of {type(model).__name__} must be {expected}. Got"
                f" {getattr(model, name)!r} instead."
            )


def weights_to_fit(sample_weight: Any, n_rows: int) -> FloatArray:
    """Weights that a model can be fitted with: as measures need them, and with a sum that a float can hold."""
    weight = check_weights(sample_weight, n_rows)
    if weight.max(initial=0.0) > np.finfo(float).max / max(n_rows, 1) ** 2:
        raise InputError("`sample_weight` adds up to more than a float can hold: divide all weights by the largest.")
    return weight
