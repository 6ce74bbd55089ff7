"""Cells, their means, and the way back from a table of weights to one weight per sample.

An *event* is the subset a criterion conditions on; a *cell* is event × group. For each cell the library
keeps one mean, ``mu``. A training rule answers a table of ``mu`` with a table of weights, and
:meth:`Cells.sample_weight` spreads that table over the people in the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device

from fairalm._validation import FloatArray, IntArray

Array = Any  # a numpy array or a torch tensor: the rules use only what both have
PAIR = np.array([[1.0, -1.0]], dtype=np.float32)  # C of two groups
TINY = 1e-20  # in place of nobody, to divide nothing by
_NAMESPACES: dict[type, Any] = {}


def namespace(array: Array) -> Any:
    """The functions that go with a kind of array; looked up once, for a net asks several times a step."""
    kind = type(array)
    if kind not in _NAMESPACES:
        _NAMESPACES[kind] = array_namespace(array)
    return _NAMESPACES[kind]


@dataclass(frozen=True)
class Event:
    """One event of a criterion, written for the individual sample.

    A sample's share in the cell's mean is ``base + sign * loss``, and the mean is taken over `mask`. A
    linear-fractional criterion also says what a sample adds to the denominator: ``over_base + over_sign *
    loss`` in place of 1.

    Parameters
    ----------
    name : str
        What the event conditions on, for tables and messages: "y=1", "all".
    mask : bool array, optional
        Who belongs to the event; everyone if left out.
    sign, base : array or float
        The coefficients of the numerator.
    over_sign, over_base : array or float, optional
        The coefficients of the denominator, where it depends on the predictions.
    """

    name: str
    mask: Array | None = None
    sign: Array | float = 1.0
    base: Array | float = 0.0
    over_sign: Array | float | None = None
    over_base: Array | float = 0.0


def at_least(x: Array, low: float) -> Array:
    """The entries, or `low` where they are less."""
    return np.maximum(x, low) if isinstance(x, np.ndarray) else x.clip(low, None)


class lazy:  # used as a decorator
    """A property that is computed once. The standard library's takes a lock, which is most of what it costs here."""

    def __init__(self, compute: Any) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        value = owner.__dict__[self.name] = self.compute(owner)
        return value


def contrast(counts: Array) -> Array:
    """Matrix C of each event, shape (events, rows, groups): the gap is ``d = C mu``.

    Two groups: one row, ``[1, -1]``, the paper's d_h. More: one row per group, ``I - 1 pi'``, each group against
    the event's mean (``pi``: cell shares). Rows with an empty cell are 0: no people, no gap.

    >>> contrast(np.array([[10.0, 30.0]]))
    array([[[ 1., -1.]]])
    """
    xp = namespace(counts)
    present = xp.astype(counts > 0, counts.dtype)
    n_groups = counts.shape[-1]
    if n_groups == 2:
        both = present[:, 0] * present[:, 1]
        return xp.stack([both, -both], axis=-1)[:, None, :]
    total = xp.sum(counts, axis=-1, keepdims=True)
    share = counts / xp.where(total > 0, total, xp.ones_like(total))
    identity = xp.eye(n_groups, dtype=counts.dtype, device=device(counts))
    return (identity[None, :, :] - share[:, None, :]) * present[:, :, None]


@dataclass(frozen=True)
class Moments:
    """Means and sizes of the cells, each of shape (events, groups).

    Parameters
    ----------
    mu : array
        Mean per cell; 0 where the cell is empty (its contrast is 0 too).
    counts : array
        People per cell (the sum of their weights); people predicted 1 where the event conditions on that.
    total : float
        People in all.

    Examples
    --------
    >>> Moments(np.array([[0.5, 0.2]]), np.array([[10.0, 30.0]]), 80.0).gap
    array([[0.3]])
    """

    mu: Array
    counts: Array
    total: Any

    @lazy
    def contrast(self) -> Array:
        """C of :func:`contrast`, shape (events, rows, groups)."""
        return contrast(self.counts)

    @lazy
    def divisors(self) -> Array:
        """The counts, or next to nobody, to divide by."""
        return at_least(self.counts, TINY)

    @lazy
    def _people(self) -> Array:
        """People of each event, shape (events, 1), or next to nobody."""
        return at_least(_row_sum(self.counts), TINY)

    @lazy
    def _product(self) -> Array:
        """Of the sizes of two groups, shape (events, 1)."""
        return self.counts[:, :1] * self.counts[:, 1:]

    @lazy
    def defined(self) -> Array:
        """Which rows of C have people to speak of, shape (events, rows)."""
        if self.counts.shape[-1] == 2:
            return self._product > 0
        present = self.counts > 0
        return present & (present.sum(-1) > 1)[:, None]

    @lazy
    def gap(self) -> Array:
        """D = C mu, shape (events, rows)."""
        if self.counts.shape[-1] == 2:  # without C, which a net would build at every step
            return (self.mu[:, :1] - self.mu[:, 1:]) * self.defined
        return (self.contrast @ self.mu[:, :, None])[:, :, 0]

    @property
    def max_gap(self) -> float:
        """Largest absolute entry of the gap."""
        return float(abs(self.gap).max())

    def pull(self, rows: Array) -> Array:
        """C' rows: from one number per row of C to one per cell."""
        if self.counts.shape[-1] == 2:
            rows = rows * self.defined
            return rows * PAIR if isinstance(rows, np.ndarray) else namespace(rows).concat([rows, -rows], axis=1)
        return (rows[:, None, :] @ self.contrast)[:, 0, :]

    @property
    def reach(self) -> Array:
        """|C|'1: the sum of the absolute entries of C in each cell, shape (events, groups)."""
        return (0.0 * self.mu + 1.0) * self.defined if self.counts.shape[-1] == 2 else abs(self.contrast).sum(-2)

    @property
    def event_mean(self) -> Array:
        """Mean over all people of an event, shape (events, 1); 0 where there are none."""
        return _row_sum(self.mu * self.counts) / self._people

    @lazy
    def row_share(self) -> Array:
        """Share of all people that a row of C speaks of, shape (events, rows); 0 where it is undefined.

        A multiplier of this size moves the weight of the row's people, against the others', by one plain weight,
        which makes steps comparable across data sets. Two groups: ``1 / (1/p0 + 1/p1)``; more: the cell's share.
        """
        if self.counts.shape[-1] > 2:
            return self.counts / self.total
        return self._product / (self._people * self.total)


def _row_sum(table: Array) -> Array:
    """Sums of the rows, shape (rows, 1); of two columns without a reduction, which takes longer."""
    return table[:, :1] + table[:, 1:] if table.shape[-1] == 2 else table.sum(-1)[:, None]


@dataclass(frozen=True)
class _EventArrays:
    """An event laid out for one data set: index is the group, or K for people outside."""

    index: IntArray
    numerator: tuple[FloatArray, FloatArray]  # sample weight × base, sample weight × sign
    denominator: tuple[FloatArray, FloatArray] | None


class Cells:
    """Who is in which cell of a data set: turns losses into moments and weights into sample weights.

    One pass over the people per event; no matrix of people × cells.

    Parameters
    ----------
    events : sequence of Event
        From :meth:`fairalm.Constraint.events`.
    group : int array of shape (n,)
        Group codes 0..K-1.
    n_groups : int
        K.
    sample_weight : array of shape (n,), optional
        Weights of the people, 1 if left out.
    """

    def __init__(
        self,
        events: Sequence[Event],
        group: IntArray,
        n_groups: int,
        sample_weight: FloatArray | None = None,
    ) -> None:
        n = len(group)
        self.n_groups = n_groups
        self.names = tuple(event.name for event in events)
        self.people = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.total = float(self.people.sum())
        self._events = [self._lay_out(event, group) for event in events]
        self.is_linear = all(event.denominator is None for event in self._events)
        self._sizes = np.stack([self._sum(event.index, self.people) for event in self._events])

    def _lay_out(self, event: Event, group: IntArray) -> _EventArrays:
        index = group if event.mask is None else np.where(event.mask, group, self.n_groups)
        over = None
        if event.over_sign is not None:
            over = (self.people * event.over_base, self.people * event.over_sign)
        return _EventArrays(index, (self.people * event.base, self.people * event.sign), over)

    def _sum(self, index: IntArray, values: FloatArray) -> FloatArray:
        return np.bincount(index, values, minlength=self.n_groups + 1)[: self.n_groups].astype(float, copy=False)

    def moments(self, loss: npt.ArrayLike) -> Moments:
        """Means of the cells under these losses, one per person."""
        loss = np.asarray(loss, dtype=float)
        mu = np.zeros((len(self._events), self.n_groups))
        counts = self._sizes.copy()
        for row, event in enumerate(self._events):
            base, sign = event.numerator
            if event.denominator is not None:
                over_base, over_sign = event.denominator
                counts[row] = self._sum(event.index, over_base + over_sign * loss)
            sums = self._sum(event.index, base + sign * loss)
            np.divide(sums, counts[row], out=mu[row], where=counts[row] > 0)
        return Moments(mu, counts, self.total)

    def sample_weight(self, weights: FloatArray, moments: Moments) -> FloatArray:
        """``w_i = 1/n + sum over i's cells of sign_i * weight / count``.

        A linear-fractional event is linearised at `moments`: there sign_i is ``sign - mu * over_sign``, the
        derivative of the cell's mean with respect to the loss of person i, times the count.
        """
        result = self.people / self.total
        per_person = np.zeros_like(moments.mu)
        np.divide(weights, moments.counts, out=per_person, where=moments.counts > 0)
        for row, event in enumerate(self._events):
            share = np.append(per_person[row], 0.0)[event.index]
            slope = event.numerator[1]
            if event.denominator is not None:
                slope = slope - np.append(moments.mu[row], 0.0)[event.index] * event.denominator[1]
            result = result + slope * share
        return result
