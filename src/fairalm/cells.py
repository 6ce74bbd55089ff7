"""From losses to the means of the cells, and from a table of weights back to one weight per row.

An *event* is the subset of rows that a constraint conditions on; a *cell* is event × group. What a row adds to a cell
depends on its label, its group and its loss only. So all that a constraint needs of any data set, batch or cluster is
one small table of sums per label and group, of shape (4, groups):

    rows with the other label · rows with the target label · summed loss of the first · summed loss of the second
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fairalm.arrays import Array, BoolArray, FloatArray, IntArray
from fairalm.exceptions import InputError
from fairalm.moments import Moments, divide

LABELS = np.array([False, True])  # the other label, the target


@dataclass(frozen=True)
class Event:
    """One event of a constraint, written for the individual row.

    A row adds ``base + sign * loss`` to the sum of its cell, and the mean is taken over the rows in `mask`. A ratio
    whose denominator depends on the predictions also says what a row adds to that: ``over_base + over_sign * loss``
    instead of 1.

    Parameters
    ----------
    name : str
        What the event conditions on, for tables and messages: "y=1", "all".
    mask : bool array, optional
        The rows that belong to the event; all if left out.
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


class HasEvents(Protocol):
    """Anything with events: a :class:`fairalm.Constraint`."""

    def events(self, y: BoolArray) -> tuple[Event, ...]:
        """The events, given which rows have the target label."""


class Compared(NamedTuple):
    """Several protected attributes, each on its own: people of one sex are compared, people of one race are."""

    membership: Array  # 1 where a group, such as "Female × Black", belongs to a compared one, such as "race = Black"
    blocks: tuple[int, ...]  # compared groups of each attribute


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a constraint as linear functions of the sums per label and group.

    Parameters
    ----------
    names : tuple of str
        The events.
    inside : array of shape (events, 2)
        1 where the event includes a label, else 0.
    numerator, denominator : arrays of shape (events, 4)
        Their product with the sums gives both parts of every cell's mean.
    n_groups : int
        Groups that the sums are taken over.
    compared : Compared, optional
        Which groups are compared; all with each other if left out.
    """

    names: tuple[str, ...]
    inside: Array
    numerator: Array
    denominator: Array
    n_groups: int
    compared: Compared | None = None

    @classmethod
    def of(cls, constraint: HasEvents, n_groups: int, compared: Compared | None = None) -> Cells:
        """Ask a constraint for its events, once for each label."""
        table = _coefficients(constraint, LABELS)
        again = _coefficients(constraint, np.array([True, True, False]))
        if not np.array_equal(again, table[..., [1, 1, 0]]):
            raise InputError(
                f"The events of {type(constraint).__name__} depend on more than a row's own label: write mask, sign and"
                " base so that each row's value follows from its own label."
            )
        inside, base, sign, over_base, over_sign = table
        names = tuple(event.name for event in constraint.events(LABELS))
        return cls(names, inside, np.hstack([base, sign]), np.hstack([over_base, over_sign]), n_groups, compared)

    @property
    def is_linear(self) -> bool:
        """Whether the cells' means are linear in the losses; otherwise they are ratios of two linear functions."""
        return not self.denominator[:, 2:].any()

    def map(self, function: Callable[[Array], Array]) -> Cells:
        """The same cells in other arrays, such as tensors on a device."""
        compared = self.compared
        if compared is not None:
            compared = compared._replace(membership=function(compared.membership))
        numerator, denominator = function(self.numerator), function(self.denominator)
        return replace(self, numerator=numerator, denominator=denominator, compared=compared)

    def means(self, sums: Array) -> tuple[Array, Array]:
        """Means and sizes of the cells, from the sums per label and group: shape (..., events, compared groups)."""
        above, below = self.numerator @ sums, self.denominator @ sums
        if self.compared is not None:
            above, below = above @ self.compared.membership, below @ self.compared.membership
        return divide(above, below), below

    def moments(self, sums: Array) -> Moments:
        """Means and sizes of the cells, from the sums per label and group."""
        mu, counts = self.means(sums)
        return Moments(mu, counts, sums[:2].sum(), () if self.compared is None else self.compared.blocks)

    def loss_weights(self, weights: Array, moments: Moments) -> Array:
        """The derivative of the weighted means by the loss of one row, for each label and group: shape (2, groups).

        A ratio is linearised at `moments`: its derivative by a loss is ``(sign - mu * over_sign) / count``.
        """
        share = divide(weights, moments.counts)
        slope = self.numerator[:, 2:, None] - moments.mu[:, None, :] * self.denominator[:, 2:, None]
        table = (slope * share[:, None, :]).sum(0)
        return table if self.compared is None else table @ self.compared.membership.T


class CountedRows:
    """The rows of a data set, counted by label and group: what a game needs to know about the rows it measures on.

    Parameters
    ----------
    cells : Cells
        The cells to sum over.
    counts : array of shape (2, groups)
        Sums of the rows' weights by label and group, the target label second.
    n_rows : int array of shape (2, groups)
        Numbers of rows by label and group.

    Attributes
    ----------
    total : float
        Sum of all weights.
    """

    def __init__(self, cells: Cells, counts: FloatArray, n_rows: IntArray) -> None:
        self.cells, self.counts, self.n_rows = cells, counts, n_rows
        self.total = float(counts.sum())

    @property
    def sizes(self) -> IntArray:
        """Number of rows in each cell, shape (events, groups)."""
        sizes, compared = self.cells.inside.astype(int) @ self.n_rows, self.cells.compared
        return np.asarray(sizes if compared is None else sizes @ compared.membership.astype(int))

    def row_weights(self, weights: FloatArray, moments: Moments) -> FloatArray:
        """``1/n + sum over the row's cells of sign * weight / count`` of a row of weight 1, shape (2, groups)."""
        return np.asarray(1.0 / self.total + self.cells.loss_weights(weights, moments))


class Rows(CountedRows):
    """The rows of a data set by label and group.

    Parameters
    ----------
    cells : Cells
        The cells to sum over.
    positive : bool array of shape (n,)
        Which rows have the target label.
    group : int array of shape (n,)
        Group codes 0..n_groups-1.
    sample_weight : array of shape (n,), optional
        Weights of the rows, 1 if left out.

    Attributes
    ----------
    counts : array of shape (2, groups)
        Sums of the weights by label and group.

    Examples
    --------
    >>> from fairalm import EqualOpportunity
    >>> rows = EqualOpportunity().rows([1, 1, 0, 1], np.array([0, 0, 1, 1]), n_groups=2)
    >>> rows.moments([1, 0, 0, 0]).mu
    array([[0.5, 0. ]])
    """

    def __init__(
        self, cells: Cells, positive: BoolArray, group: IntArray, sample_weight: FloatArray | None = None
    ) -> None:
        self.positive, self.n_codes = positive, 2 * cells.n_groups
        self.code = group + cells.n_groups * positive
        self.weight = np.ones(len(group)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        n_rows = np.bincount(self.code, minlength=self.n_codes).reshape(2, -1)
        super().__init__(cells, self.sums(self.weight), n_rows)

    def moments(self, loss: npt.ArrayLike) -> Moments:
        """Means of the cells, given one loss per row."""
        return self.cells.moments(np.vstack([self.counts, self.sums(self.weight * np.asarray(loss, dtype=float))]))

    def sample_weight(self, weights: FloatArray, moments: Moments) -> FloatArray:
        """``w_i = 1/n + sum over i's cells of sign_i * weight / count``, for a row of weight 1."""
        return np.asarray(self.weight * self.row_weights(weights, moments).ravel()[self.code])

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums by label and group, shape (2, groups)."""
        sums = np.bincount(self.code, values, minlength=self.n_codes)
        return sums.astype(float, copy=False).reshape(2, -1)


def _coefficients(constraint: HasEvents, y: BoolArray) -> npt.NDArray[np.float64]:
    """Mask, base, sign, over_base and over_sign, 0 outside the event: shape (5, events, len(y))."""
    table: list[list[Any]] = []
    for event in constraint.events(y):
        inside = np.ones(len(y)) if event.mask is None else np.asarray(event.mask, dtype=float)
        over = (1.0, 0.0) if event.over_sign is None else (event.over_base, event.over_sign)
        table.append([inside, *(inside * part for part in (event.base, event.sign, *over))])
    return np.array(table).swapaxes(0, 1)
