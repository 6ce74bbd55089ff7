"""Confusion counts per group, and the rates they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._validation import Attributes, Groups, check_same_index, encode_groups
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.exceptions import InputError
from fairalm.measures.totals import Totals
from fairalm.measures.weights import WeightSums, check_weights

Share = tuple[tuple[str, ...], tuple[str, ...]]  # counts above and below the line, each in the order tp, fp, tn, fn
COUNTS = ("tp", "fp", "tn", "fn")
RATES: Mapping[str, Share] = {
    "error": (("fp", "fn"), ("tp", "fp", "tn", "fn")),
    "selection": (("tp", "fp"), ("tp", "fp", "tn", "fn")),
    "base_rate": (("tp", "fn"), ("tp", "fp", "tn", "fn")),
    "tpr": (("tp",), ("tp", "fn")),
    "fnr": (("fn",), ("tp", "fn")),
    "fpr": (("fp",), ("fp", "tn")),
    "tnr": (("tn",), ("fp", "tn")),
    "ppv": (("tp",), ("tp", "fp")),
    "fdr": (("fp",), ("tp", "fp")),
}


def share_of(rate: str | Share) -> Share:
    """The definition of a rate, which may be given by its name in ``RATES``."""
    return RATES[rate] if isinstance(rate, str) else rate


@dataclass(frozen=True, eq=False)
class GroupRates:
    """Confusion counts per group: one entry per group in `tp`, `fp`, `tn` and `fn`, where positive means `target`.

    With several attributes, each compared on its own, the groups of the first come first, then those of the second, and
    so on; `blocks` says how many groups each has. Counts are of rows; `weights` says how many people these stand for.
    """

    names: tuple[str, ...]
    tp: IntArray
    fp: IntArray
    tn: IntArray
    fn: IntArray
    target: Any
    blocks: tuple[int, ...] = ()  # () stands for one attribute with all groups
    weights: WeightSums | None = None  # None if every row counts the same

    @property
    def attributes(self) -> tuple[slice, ...]:
        """Where the groups of each attribute are."""
        ends = np.cumsum(self.blocks or (len(self.names),)).tolist()
        return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))

    @property
    def pooled(self) -> GroupRates:
        """The counts of all rows together, as one group."""
        first = self.attributes[0]  # each attribute has every row once
        tp, fp, tn, fn = (getattr(self, name)[first].sum(keepdims=True) for name in COUNTS)
        weights = self.weights and self.weights.map(lambda sums: sums[first].sum(keepdims=True))
        return GroupRates(("all",), tp=tp, fp=fp, tn=tn, fn=fn, target=self.target, weights=weights)

    def counts(self, rate: str | Share) -> tuple[IntArray, IntArray]:
        """Rows in the numerator and the denominator of a rate, per group."""
        none = np.zeros_like(self.tp)
        k, n = (sum((getattr(self, name) for name in names), start=none) for names in share_of(rate))
        return k, n

    def effective(self, rate: str | Share) -> tuple[FloatArray, FloatArray]:
        """The numerator and denominator of a rate that its interval is computed from, per group.

        Without weights these are the counts. With them the denominator is Kish's effective size, and the numerator the
        weighted rate times that.
        """
        if self.weights is None:
            k, n = self.counts(rate)
            return k.astype(float), n.astype(float)
        return self.weights.effective(*share_of(rate))

    def value(self, rate: str | Share) -> FloatArray:
        """Return the rate per group, NaN where the cell is empty."""
        if self.weights is not None:
            return self.weights.rate(*share_of(rate))
        k, n = self.counts(rate)
        return k / np.where(n > 0, n, np.nan)

    def event(self, rate: str | Share) -> str:
        """The rows that a rate is taken over, in words such as "y=1"; "" for all rows."""
        below = share_of(rate)[1]
        words: dict[tuple[str, ...], str] = {
            ("tp", "fp", "tn", "fn"): "",
            ("tp", "fn"): f"y={self.target}",
            ("fp", "tn"): f"y≠{self.target}",
            ("tp", "fp"): f"predicted {self.target}",
            ("tn", "fn"): f"not predicted {self.target}",
        }
        return words.get(below, " or ".join(below))


def group_rates(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    attributes: Attributes = "crossed",
    sample_weight: Any = None,
) -> GroupRates:
    """Count true and false positives and negatives in each group.

    Parameters
    ----------
    y_true, y_pred : array-like
        Labels and predicted labels; any two values, one of which may be absent.
    sensitive_features : array-like, Series, data frame, dict of columns, or Groups
        The protected attribute, one value per row. Pass a ``Groups`` to keep groups that are absent from this
        sample; its rows marked -1 are left out.
    target : object, optional
        The label that counts as positive; by default the larger of the two.
    attributes : {"crossed", "separate"}
        Several protected columns: compare the groups of their combinations, or those of each column on its own.
    sample_weight : array-like of float, optional
        How many people each row stands for: a rate is sum(w h) / sum(w). Only their proportions matter. A row of weight
        0 is left out.

    Examples
    --------
    >>> rates = group_rates([1, 1, 0, 1], [1, 0, 0, 1], sensitive_features=["a", "a", "b", "b"])
    >>> rates.names, rates.value("tpr").tolist()
    (('a', 'b'), [0.5, 1.0])
    """
    check_same_index(y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight)
    true, pred, target = binarize(y_true, y_pred, target=target)
    groups = as_groups(sensitive_features, len(true), attributes)
    weight = None if sample_weight is None else check_weights(sample_weight, len(true))
    return count(true, pred, groups, target, weight)


def count(
    true: BoolArray, pred: BoolArray, groups: Groups, target: Any, weight: FloatArray | Totals | None = None
) -> GroupRates:
    """Count labels and predictions that are already booleans, with weights that are checked already.

    In a table of counts, `groups` says how many rows each entry stands for, and `weight` is their total.
    """
    kept = groups.codes >= 0
    if isinstance(weight, np.ndarray):
        kept &= weight > 0
    starts, entries = np.cumsum((0, *groups.blocks)), np.flatnonzero(kept)
    parts = zip(starts, groups.apart, strict=False)
    cells = np.concatenate([(4 * (start + part.codes) + 2 * true + pred)[entries] for start, part in parts])
    n_cells, entries = 4 * int(starts[-1]), np.tile(entries, len(groups.blocks))
    rows = np.bincount(cells, None if groups.rows is None else groups.rows[entries], n_cells).astype(np.int64)
    weights, names = None, ("tn", "fp", "fn", "tp")
    if isinstance(weight, Totals):
        weights = WeightSums.of(weight.take(entries).by(cells, n_cells), names)
    elif weight is not None:
        weights = WeightSums.of(Totals.of(weight[entries], cells, n_cells), names)
    counts = dict(zip(names, rows.reshape(-1, 4).T, strict=True))
    return GroupRates(groups.compared, **counts, target=target, blocks=groups.blocks, weights=weights)


def as_groups(sensitive_features: Any, n_rows: int, attributes: Attributes = "crossed") -> Groups:
    """Encode the protected attribute; a ``Groups`` passes through if it fits."""
    if not isinstance(sensitive_features, Groups):
        return encode_groups(sensitive_features, n_rows=n_rows, min_groups=1, attributes=attributes)
    if (n_codes := len(sensitive_features.codes)) != n_rows:
        raise InputError(f"`sensitive_features` has {n_codes} rows, the data has {n_rows}: pass one group per row.")
    return sensitive_features


def binarize(y_true: Any, y_pred: Any, *, target: Any = None) -> tuple[BoolArray, BoolArray, Any]:
    """Return `y_true` and `y_pred` as booleans (True = target), and the target.

    The default target is the larger of the values in either column, as in scikit-learn. If all values are the same -1,
    0 or 1, the target is 1.

    >>> binarize(["yes", "yes"], ["yes", "no"])
    (array([ True,  True]), array([ True, False]), 'yes')
    """
    true, pred = column_of(y_true, "y_true"), column_of(y_pred, "y_pred")
    if len(true) != len(pred):
        raise InputError(f"y_pred has {len(pred)} rows, y_true has {len(true)}: pass one prediction per row.")
    values = {value for column in (true, pred) for value in pd.unique(column).tolist()}
    target = target.item() if isinstance(target, np.generic) else target
    try:
        labels = sorted(values if target is None else values | {target})
    except TypeError:
        kinds = " and ".join(sorted({type(value).__name__ for value in (*values, target)} - {"NoneType"}))
        raise InputError(f"Labels, predictions and target mix {kinds}: give all the same type.") from None
    if len(labels) > 2:
        shown = ", ".join(repr(value) for value in labels[:5]) + (", ..." if len(labels) > 5 else "")
        raise InputError(
            f"Only two labels are supported here; y_true, y_pred and target have {len(labels)} ({shown}):"
            " pass predicted labels, not scores. Of several labels, measure_all and label_rates compare each"
            " against the rest."
        )
    if target is None:
        target = _default_target(labels)
    return true == target, pred == target, target


def column_of(values: Any, name: str) -> npt.NDArray[Any]:
    """Labels as an array, after refusing missing ones."""
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
    why = f"the only label is {labels[0]!r}" if labels else "there are no rows"
    raise InputError(f"The target is unknown because {why}: pass `target`, the label whose errors count.")
