"""Several labels: the confusion counts of each against the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._validation import Attributes, Groups, check_same_index
from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError
from fairalm.measures.rates import GroupRates, as_groups, column_of, count, group_rates
from fairalm.measures.totals import Totals
from fairalm.measures.weights import check_weights

MOST = 50  # labels; more are scores or ids


@dataclass(frozen=True, eq=False)
class LabelRates:
    """Confusion counts of several labels.

    Parameters
    ----------
    each : dict of GroupRates
        For each label that is compared, its counts against the rest.
    right : GroupRates
        True positives are the right predictions of any label, false negatives the wrong ones.
    """

    each: Mapping[Any, GroupRates]
    right: GroupRates

    @property
    def names(self) -> tuple[str, ...]:
        """The groups."""
        return self.right.names


def label_rates(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    attributes: Attributes = "crossed",
    sample_weight: Any = None,
) -> LabelRates:
    """Count, for each of several labels against the rest, true and false positives and negatives in each group.

    Parameters
    ----------
    y_true, y_pred : array-like
        Labels and predicted labels, of any number of values.
    target : label or list of labels, optional
        Those that are compared; all if left out.
    sensitive_features, attributes, sample_weight
        As in :func:`group_rates`.

    Examples
    --------
    >>> rates = label_rates(list("abcb"), list("abbb"), sensitive_features=[0, 0, 1, 1])
    >>> rates.each["b"].value("selection").tolist(), rates.right.value("error").tolist()
    ([0.5, 1.0], [0.0, 0.5])
    """
    check_same_index(y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight)
    true, pred = column_of(y_true, "y_true"), column_of(y_pred, "y_pred")
    if len(true) != len(pred):
        raise InputError(f"y_pred has {len(pred)} rows, y_true has {len(true)}: pass one prediction per row.")
    labels = distinct_labels(true, pred)
    groups = as_groups(sensitive_features, len(true), attributes)
    weight = None if sample_weight is None else check_weights(sample_weight, len(true))
    return count_labels(true, pred, groups, as_targets(target, labels), weight)


def rates_of_labels(y_true: Any, y_pred: Any, *, target: Any = None, **more: Any) -> GroupRates | LabelRates:
    """The counts of two labels or, if there are more or `target` is a list, of several; parameters as above."""
    if isinstance(target, (list, tuple)) or len({*_values(y_true), *_values(y_pred)}) > 2:
        return label_rates(y_true, y_pred, target=target, **more)
    return group_rates(y_true, y_pred, target=target, **more)


def count_labels(
    true: npt.NDArray[Any],
    pred: npt.NDArray[Any],
    groups: Groups,
    targets: Sequence[Any],
    weight: FloatArray | Totals | None = None,
) -> LabelRates:
    """Count labels and predictions that are checked already; `weight` is as in :func:`fairalm.measures.rates.count`."""
    each = {label: count(true == label, pred == label, groups, label, weight) for label in targets}
    return LabelRates(each, count(np.ones(len(true), dtype=bool), true == pred, groups, "right", weight))


def distinct_labels(true: npt.NDArray[Any], pred: npt.NDArray[Any]) -> list[Any]:
    """The labels in order, after refusing scores in place of predicted labels."""
    known, predicted = (dict.fromkeys(pd.unique(column).tolist()) for column in (true, pred))
    new = [value for value in predicted if value not in known]
    if any(isinstance(value, float) and not value.is_integer() for value in new) or len(known | predicted) > MOST:
        raise InputError(
            f"y_true and y_pred have {len(known | predicted)} labels ({_shown(list(known | predicted))}): pass"
            " predicted labels, not scores."
        )
    try:
        return sorted(known | predicted)
    except TypeError:
        kinds = " and ".join(sorted({type(value).__name__ for value in known | predicted}))
        raise InputError(f"Labels and predictions mix {kinds}: give all the same type.") from None


def as_targets(target: Any, labels: Sequence[Any]) -> list[Any]:
    """The labels that are compared: those named, which must be known, or all."""
    if target is None:
        return list(labels)
    named = list(target) if isinstance(target, (list, tuple)) else [target]
    for label in named:
        if label not in labels:
            raise InputError(f"{{target}} is not a label: there are {_shown(labels)}.", target=label)
    return named


def _values(column: Any) -> set[Any]:
    values = np.asarray(column)
    return set(pd.unique(values).tolist()) if values.ndim == 1 else set()


def _shown(labels: Sequence[Any]) -> str:
    return ", ".join(repr(label) for label in labels[:5]) + (", ..." if len(labels) > 5 else "")
