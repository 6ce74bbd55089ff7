"""Counts of two models' predictions for the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairalm._validation import Attributes, Groups, check_same_index
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.exceptions import InputError
from fairalm.measures.rates import GroupRates, Share, as_groups, binarize
from fairalm.measures.weights import WeightSums, check_weights

PLACES = {"tp": (1, 1), "fp": (0, 1), "tn": (0, 0), "fn": (1, 0)}  # of each count: label, prediction


@dataclass(frozen=True, eq=False)
class PairedRates:
    """Rows of each group by label, prediction before and prediction after: arrays of shape (groups, 2, 2, 2).

    Names and blocks are those of :class:`GroupRates`. `sums` and `squares` are the sums of the rows' weights and of
    their squares, None if every row counts the same.
    """

    names: tuple[str, ...]
    blocks: tuple[int, ...]
    target: Any
    rows: IntArray
    sums: FloatArray | None = None
    squares: FloatArray | None = None

    @cached_property
    def before(self) -> GroupRates:
        """The counts of the first model."""
        return self._marginal(axis=-1)

    @cached_property
    def after(self) -> GroupRates:
        """The counts of the second model."""
        return self._marginal(axis=-2)

    @property
    def pooled(self) -> PairedRates:
        """All rows as one group."""
        first = self.before.attributes[0]  # each attribute has every row once
        tables = (None if t is None else t[first].sum(axis=0, keepdims=True) for t in self._tables)
        return PairedRates(("all",), (1,), self.target, *tables)  # type: ignore[arg-type]

    def both(self, share: Share) -> FloatArray:
        """Rows per group that are in the numerator of a rate before and after; on the scale of its effective size."""
        above, below = (_indicator(part) for part in share)
        sums, squares = self._weighted
        taken = _crossed(below, below)
        total, square = _sum(sums * taken), _sum(squares * taken)
        return np.asarray(_sum(sums * _crossed(above, above)) * total / np.where(square > 0, square, 1.0))

    def correlation(self, share: Share) -> FloatArray:
        """Correlation, per group, of the estimates of a rate before and after.

        It is that of the two indicators over the rows which both rates are taken over, times the share of these rows
        in the two denominators. Half a row is added to each combination of the indicators, so that models which agree
        on every row of a sample are not taken to agree everywhere.
        """
        above, below = (_indicator(part) for part in share)
        sums, squares = self._weighted
        taken = _crossed(below, below)
        total, square = _sum(sums * taken), _sum(squares * taken)
        scale = total / np.where(square > 0, square, 1.0)
        p0, p1 = ((k + 1) / (n + 2) for k, n in (self.before.effective(share), self.after.effective(share)))
        product = np.zeros(self.rows.shape[:-3])
        for has0, has1 in ((0, 0), (0, 1), (1, 0), (1, 1)):
            rows = _sum(sums * taken * _crossed(above == has0, above == has1)) * scale
            product += (rows + 0.5) * (has0 - p0) * (has1 - p1)
        within = product / (total * scale + 2) / np.sqrt(p0 * (1 - p0) * p1 * (1 - p1))
        ones = np.ones((2, 2))
        either = np.sqrt(_sum(squares * _crossed(below, ones)) * _sum(squares * _crossed(ones, below)))
        return np.asarray(np.clip(within * square / np.where(either > 0, either, 1.0), -1.0, 1.0))

    @property
    def _weighted(self) -> tuple[Any, Any]:
        """Sums of the weights and of their squares; the rows if all count the same."""
        return (self.rows, self.rows) if self.sums is None else (self.sums, self.squares)

    @property
    def _tables(self) -> tuple[IntArray, FloatArray | None, FloatArray | None]:
        return self.rows, self.sums, self.squares

    def _marginal(self, axis: int) -> GroupRates:
        """Counts of one model: summed over the predictions of the other."""
        rows, sums, squares = (None if table is None else table.sum(axis=axis) for table in self._tables)
        weights = None
        if sums is not None and squares is not None:
            by_count = [{name: table[..., y, p] for name, (y, p) in PLACES.items()} for table in (sums, squares)]
            weights = WeightSums(by_count[0], by_count[1], unit=1.0)
        counts: Any = {name: rows[..., y, p] for name, (y, p) in PLACES.items()}  # type: ignore[index]
        return GroupRates(self.names, **counts, target=self.target, blocks=self.blocks, weights=weights)


def paired_rates(
    y_true: Any,
    before: Any,
    after: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    attributes: Attributes = "crossed",
    sample_weight: Any = None,
) -> PairedRates:
    """Count the rows of each group by label and two predictions; parameters as in :func:`group_rates`.

    Examples
    --------
    >>> pair = paired_rates([1, 1, 0], [0, 0, 0], [1, 0, 0], sensitive_features=["a", "a", "b"])
    >>> pair.before.value("tpr")[0].item(), pair.after.value("tpr")[0].item()
    (0.0, 0.5)
    """
    check_same_index(
        y_true=y_true,
        before=before,
        after=after,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
    )
    labels, n_rows = np.asarray(y_true), len(y_true)
    for name, predictions in (("before", before), ("after", after)):
        if len(predictions) != n_rows:
            raise InputError(f"`{name}` has {len(predictions)} rows, y_true has {n_rows}: pass one prediction per row.")
    both = np.concatenate([np.asarray(before), np.asarray(after)])
    true, predicted, target = binarize(np.concatenate([labels, labels]), both, target=target)
    groups = as_groups(sensitive_features, n_rows, attributes)
    weight = None if sample_weight is None else check_weights(sample_weight, n_rows)
    return count_pairs(true[:n_rows], predicted[:n_rows], predicted[n_rows:], groups, target, weight)


def count_pairs(
    true: BoolArray, before: BoolArray, after: BoolArray, groups: Groups, target: Any, weight: FloatArray | None
) -> PairedRates:
    """Count labels and predictions that are already booleans, with weights that are checked already."""
    kept = groups.codes >= 0 if weight is None else (groups.codes >= 0) & (weight > 0)
    place = (4 * true + 2 * before + after)[kept]
    starts = np.cumsum((0, *groups.blocks))
    cells = np.concatenate(
        [8 * (at + part.codes[kept]) + place for at, part in zip(starts, groups.apart, strict=False)]
    )

    def table(values: FloatArray | None) -> Any:
        tiled = None if values is None else np.tile(values[kept], len(groups.blocks))
        return np.bincount(cells, tiled, 8 * int(starts[-1])).reshape(-1, 2, 2, 2)

    scaled = None if weight is None else weight / weight.max()
    sums, squares = (None, None) if scaled is None else (table(scaled), table(scaled**2))
    return PairedRates(groups.compared, groups.blocks, target, table(None), sums, squares)


def _indicator(counts: tuple[str, ...]) -> FloatArray:
    """Which label (first axis) and prediction (second) the counts are of."""
    found = np.zeros((2, 2))
    for name in counts:
        found[PLACES[name]] = 1.0
    return found


def _crossed(before: Any, after: Any) -> FloatArray:
    """A table over label and both predictions, from those over label and one of them."""
    return np.asarray(before[:, :, None] * after[:, None, :], dtype=float)


def _sum(table: FloatArray) -> FloatArray:
    return np.asarray(table.sum(axis=(-3, -2, -1)))
