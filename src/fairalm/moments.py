"""The means of the cells and the gaps between groups: all that a method sees of a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace, device

from fairalm.arrays import Array

_NAMESPACES: dict[type, Any] = {}


def namespace(array: Array) -> Any:
    """The functions that go with a kind of array (numpy's or torch's), looked up once for each kind."""
    kind = type(array)
    if kind not in _NAMESPACES:
        _NAMESPACES[kind] = array_namespace(array)
    return _NAMESPACES[kind]


def divide(x: Array, counts: Array) -> Array:
    """``x / counts``, and 0 where a count is 0."""
    xp = namespace(counts)
    present = counts > 0
    return xp.where(present, x / xp.where(present, counts, 1.0), 0.0)


def contrast(counts: Array) -> Array:
    """Matrix C of each event, shape (events, rows, groups): the gap is ``d = C mu``.

    Two groups: one row, ``[1, -1]``, the paper's d_h. More: one row per group, ``I - 1 pi'``, each group against
    the event's mean (``pi``: cell shares). Rows with an empty cell are 0: without data there is no gap.

    >>> import numpy as np
    >>> contrast(np.array([[10.0, 30.0]]))
    array([[[ 1., -1.]]])
    """
    xp = namespace(counts)
    present = xp.astype(counts > 0, counts.dtype)
    n_groups = counts.shape[-1]
    if n_groups == 2:
        both = present[:, :1] * present[:, 1:]
        return xp.stack([both, -both], axis=-1)
    share = divide(counts, xp.sum(counts, axis=-1, keepdims=True))
    identity = xp.eye(n_groups, dtype=counts.dtype, device=device(counts))
    return (identity - share[:, None, :]) * present[:, :, None]


@dataclass(frozen=True)
class Moments:
    """Means and sizes of the cells, each of shape (events, groups).

    Parameters
    ----------
    mu : array
        Mean per cell; 0 where the cell is empty (its contrast is 0 too).
    counts : array
        Rows per cell (the sum of their weights); rows predicted as the target where the event conditions on that.
    total : float
        Rows in all.

    Examples
    --------
    >>> import numpy as np
    >>> Moments(np.array([[0.5, 0.2]]), np.array([[10.0, 30.0]]), 80.0).gap
    array([[0.3]])
    """

    mu: Array
    counts: Array
    total: Any

    @cached_property
    def contrast(self) -> Array:
        """C of :func:`contrast`, shape (events, rows, groups)."""
        return contrast(self.counts)

    @cached_property
    def defined(self) -> Array:
        """Which rows of C compare cells that are not empty, shape (events, rows)."""
        return abs(self.contrast).sum(-1) > 0

    @cached_property
    def gap(self) -> Array:
        """D = C mu, shape (events, rows)."""
        return (self.contrast @ self.mu[:, :, None])[:, :, 0]

    @property
    def max_gap(self) -> float:
        """Largest absolute entry of the gap."""
        return float(abs(self.gap).max())

    def pull(self, rows: Array) -> Array:
        """C' rows: from one number per row of C to one per cell."""
        return (rows[:, None, :] @ self.contrast)[:, 0, :]

    @property
    def reach(self) -> Array:
        """|C|'1: the sum of the absolute entries of C in each cell, shape (events, groups)."""
        return abs(self.contrast).sum(-2)

    @property
    def event_mean(self) -> Array:
        """Mean over all rows of an event, shape (events, 1); 0 where there are none."""
        return divide((self.mu * self.counts).sum(-1), self.counts.sum(-1))[:, None]

    @cached_property
    def row_share(self) -> Array:
        """Share of all rows of data that a row of C speaks of, shape (events, rows); 0 where it is undefined.

        A multiplier of this size moves the weight of these rows, against the others', by one plain weight, which makes
        steps comparable across data sets. Two groups: ``1 / (1/p0 + 1/p1)``; more: the cell's share.
        """
        if self.counts.shape[-1] > 2:
            return self.counts / self.total
        first, second = self.counts[:, :1], self.counts[:, 1:]
        return divide(first * second, (first + second) * self.total)
