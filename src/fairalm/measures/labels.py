"""Labels and predictions as booleans, also where only one of the two classes occurs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm.exceptions import InputError

BoolArray = npt.NDArray[np.bool_]


def binarize(y_true: Any, y_pred: Any, *, target: Any = None) -> tuple[BoolArray, BoolArray, Any]:
    """Return `y_true` and `y_pred` as booleans (True = target), and the target.

    Without `target` it is the larger of the values that occur in either, as scikit-learn has it. A lone -1, 0
    or 1 is read as one of the usual pairs, whose target is 1.

    >>> binarize(["yes", "yes"], ["yes", "no"])
    (array([ True,  True]), array([ True, False]), 'yes')
    """
    columns = {"y_true": _column(y_true, "y_true"), "y_pred": _column(y_pred, "y_pred")}
    true, pred = columns["y_true"], columns["y_pred"]
    if len(true) != len(pred):
        raise InputError(f"y_pred has {len(pred)} rows, y_true has {len(true)}: pass one prediction per row.")
    found = {value for column in columns.values() for value in pd.unique(column).tolist()}
    target = target.item() if isinstance(target, np.generic) else target
    try:
        labels = sorted(found if target is None else found | {target})
    except TypeError:
        kinds = " and ".join(sorted({type(value).__name__ for value in (*found, target)} - {"NoneType"}))
        raise InputError(f"Labels, predictions and target mix {kinds}: give all the same type.") from None
    if len(labels) > 2:
        shown = ", ".join(repr(value) for value in labels[:5]) + (", ..." if len(labels) > 5 else "")
        raise InputError(
            f"Only two labels are supported; y_true, y_pred and target have {len(labels)} ({shown}):"
            " pass predicted labels, not scores, and choose one label against the rest."
        )
    if target is None:
        target = _default_target(labels)
    return true == target, pred == target, target


def _column(values: Any, name: str) -> npt.NDArray[Any]:
    column = np.asarray(values)
    if column.ndim != 1:
        raise InputError(f"{name} must be one column; got shape {column.shape}.")
    if missing := int(pd.isna(column).sum()):
        raise InputError(f"{name} has {missing} missing values: drop or fill those rows first.")
    return column


def _default_target(labels: list[Any]) -> Any:
    if len(labels) == 2:
        return labels[1]
    if labels and labels[0] in (-1, 0, 1):
        return 1
    came = f"only the label {labels[0]!r} occurs" if labels else "there are no rows"
    raise InputError(f"The target cannot be told because {came}: pass target=, the label whose errors count.")
