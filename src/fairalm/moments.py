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


def contrast(counts: Array, blocks: tuple[int, ...] = ()) -> Array:
    """Matrix C of each event, shape (events, rows, groups): the gap is ``d = C mu``.

    Two groups: one row, ``[1, -1]``, the paper's d_h. More: one row per group, ``I - 1 pi'``, each group against
    the event's mean (``pi``: cell shares). Rows with an empty cell are 0: without data there is no gap. With several
    protected attributes, `blocks` has the number of groups of each; a group is compared with those of its attribute.

    >>> import numpy as np
    >>> contrast(np.array([[10.0, 30.0]]))
    array([[[ 1., -1.]]])
    """
    xp = namespace(counts)
    present = xp.astype(counts > 0, counts.dtype)
    n_groups = counts.shape[-1]
    if is_pair(n_groups, blocks):
        both = present[:, :1] * present[:, 1:]
        return xp.stack([both, -both], axis=-1)
    same = _same_block(counts, blocks)
    share = divide(counts, counts @ same)
    identity = xp.eye(n_groups, dtype=counts.dtype, device=device(counts))
    return (identity - share[:, None, :] * same) * present[:, :, None]


def is_pair(n_groups: int, blocks: tuple[int, ...] = ()) -> bool:
    """Whether two groups of one attribute are all there is to compare."""
    return n_groups == 2 and len(blocks) <= 1


def _same_block(counts: Array, blocks: tuple[int, ...]) -> Array:
    """1 where two groups belong to the same attribute, shape (groups, groups)."""
    xp, n_groups = namespace(counts), counts.shape[-1]
    if len(blocks) <= 1:
        return xp.ones((n_groups, n_groups), dtype=counts.dtype, device=device(counts))
    block = [index for index, size in enumerate(blocks) for _ in range(size)]
    table = [[float(a == b) for b in block] for a in block]
    return xp.asarray(table, dtype=counts.dtype, device=device(counts))


def spread_of(mu: Array, blocks: tuple[int, ...] = (), present: Array | None = None) -> Array:
    """Largest minus smallest mean over the groups of each attribute: shape (..., groups) becomes (..., attributes).

    >>> import numpy as np
    >>> spread_of(np.array([[0.5, 0.2, 0.4]]))
    array([[0.3]])
    """
    xp = namespace(mu)
    low, high = (mu, mu) if present is None else (xp.where(present, mu, xp.inf), xp.where(present, mu, -xp.inf))
    parts, start = [], 0
    for size in blocks or (mu.shape[-1],):
        own = slice(start, start + size)
        parts.append(xp.max(high[..., own], axis=-1) - xp.min(low[..., own], axis=-1))
        start += size
    spread = xp.stack(parts, axis=-1)
    return xp.where(spread > 0, spread, 0.0)  # also where fewer than two cells are there


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
    blocks : tuple of int
        Groups of each protected attribute, where there are several; empty for one.

    Examples
    --------
    >>> import numpy as np
    >>> Moments(np.array([[0.5, 0.2]]), np.array([[10.0, 30.0]]), 80.0).gap
    array([[0.3]])
    """

    mu: Array
    counts: Array
    total: Any
    blocks: tuple[int, ...] = ()

    @cached_property
    def contrast(self) -> Array:
        """C of :func:`contrast`, shape (events, rows, groups)."""
        return contrast(self.counts, self.blocks)

    @cached_property
    def defined(self) -> Array:
        """Which rows of C compare cells that are not empty, shape (events, rows)."""
        return abs(self.contrast).sum(-1) > 0

    @cached_property
    def gap(self) -> Array:
        """D = C mu, shape (events, rows)."""
        return (self.contrast @ self.mu[:, :, None])[:, :, 0]

    @property
    def spread(self) -> Array:
        """Largest difference between two groups of an attribute, shape (events, attributes); empty cells are left out.

        This is what the tolerance bounds.
        """
        return spread_of(self.mu, self.blocks, self.counts > 0)

    @property
    def max_gap(self) -> float:
        """Largest difference between any two groups that are compared."""
        return float(self.spread.max())

    def row_tolerance(self, tol: float) -> float:
        """The tolerance of a row of C: groups that are each within tol / 2 of the mean are within tol of each other."""
        return tol if is_pair(self.mu.shape[-1], self.blocks) else tol / 2

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
        if not is_pair(self.counts.shape[-1], self.blocks):
            return self.counts / self.total
        first, second = self.counts[:, :1], self.counts[:, 1:]
        return divide(first * second, (first + second) * self.total)
