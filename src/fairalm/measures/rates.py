"""Confusion counts per group, and the rates they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm._validation import FloatArray, Groups, IntArray, encode_groups
from fairalm.exceptions import InputError
from fairalm.measures.labels import BoolArray, binarize

# rate -> (counts above, counts below the line)
RATES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
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


@dataclass(frozen=True, eq=False)
class GroupRates:
    """Confusion counts per group; every rate comes with its numerator and denominator.

    Attributes
    ----------
    names : tuple of str
        The groups.
    tp, fp, tn, fn : ndarray of int, shape (groups,)
        People by label and prediction; positive means "equal to `target`".
    target : object
        The label whose errors count.
    """

    names: tuple[str, ...]
    tp: IntArray
    fp: IntArray
    tn: IntArray
    fn: IntArray
    target: Any

    def counts(self, rate: str) -> tuple[IntArray, IntArray]:
        """Numerator and denominator of a rate (a key of ``RATES``), per group."""
        above, below = RATES[rate]
        return self._sum(above), self._sum(below)

    def value(self, rate: str) -> FloatArray:
        """Return the rate per group, NaN where nobody is in the cell."""
        k, n = self.counts(rate)
        return k / np.where(n > 0, n, np.nan)

    def event(self, rate: str) -> str:
        """Return in words the event a rate is taken over; "" for everyone.

        >>> group_rates([1, 0], [1, 1], sensitive_features=["a", "b"]).event("fpr")
        'y≠1'
        """
        below = RATES[rate][1]
        words: dict[tuple[str, ...], str] = {
            ("tp", "fn"): f"y={self.target}",
            ("fp", "tn"): f"y≠{self.target}",
            ("tp", "fp"): f"predicted {self.target}",
        }
        return words.get(below, "")

    def _sum(self, fields: tuple[str, ...]) -> IntArray:
        total = np.zeros_like(self.tp)
        for field in fields:
            total = total + getattr(self, field)
        return total


def group_rates(y_true: Any, y_pred: Any, *, sensitive_features: Any, target: Any = None) -> GroupRates:
    """Count true and false positives and negatives in each group.

    Parameters
    ----------
    y_true, y_pred : array-like
        Labels and predicted labels; any two values, of which one may be absent.
    sensitive_features : array-like, Series, data frame, dict of columns, or Groups
        The protected attribute, one value per row. Give a ``Groups`` to keep groups that are absent from this
        sample; its rows marked -1 are left out.
    target : object, optional
        The label that counts as positive; by default the larger of the two.

    Examples
    --------
    >>> rates = group_rates([1, 1, 0, 1], [1, 0, 0, 1], sensitive_features=["a", "a", "b", "b"])
    >>> rates.names, rates.value("tpr").tolist()
    (('a', 'b'), [0.5, 1.0])
    """
    true, pred, target = binarize(y_true, y_pred, target=target)
    return count(true, pred, as_groups(sensitive_features, len(true)), target)


def count(true: BoolArray, pred: BoolArray, groups: Groups, target: Any) -> GroupRates:
    """Count labels and predictions that are already booleans."""
    cell = groups.codes * 4 + 2 * true + pred
    table = np.bincount(cell[groups.codes >= 0], minlength=4 * groups.n_groups).astype(np.int64)
    tn, fp, fn, tp = table.reshape(groups.n_groups, 4).T
    return GroupRates(groups.names, tp=tp, fp=fp, tn=tn, fn=fn, target=target)


def as_groups(sensitive_features: Any, n_rows: int) -> Groups:
    """Encode the protected attribute; a ``Groups`` passes through if it fits."""
    if not isinstance(sensitive_features, Groups):
        return encode_groups(sensitive_features, n_rows=n_rows, min_groups=1)
    if len(sensitive_features.codes) != n_rows:
        raise InputError(
            f"`sensitive_features` has {len(sensitive_features.codes)} rows, the data has {n_rows}:"
            " pass one group per row."
        )
    return sensitive_features
