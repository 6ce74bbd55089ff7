"""Rows whose labels are known, and whose groups are known, uncertain or unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from sklearn.utils import _safe_indexing

from fairalm._validation import Attributes, Groups, check_parameter, encode_groups
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.cells import Compared
from fairalm.constraints import Constraint, check_cells
from fairalm.exceptions import InputError
from fairalm.frontier.joint import EVERYONE, Population, in_population
from fairalm.frontier.limits import check_comparable

UnknownGroups = Literal["error", "unknown", "drop", "group"]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows to learn label and group from.

    `group` holds codes, -1 where the group is unknown, or probabilities, one column per group.
    """

    X: Any
    label_code: BoolArray | IntArray  # whether the label is the target or, with several labels, its place among them
    labels: Any  # as the estimator is given them
    group: IntArray | FloatArray
    n_groups: int
    weight: FloatArray | None

    def part(self, index: IntArray) -> LabelledRows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        X, group = _safe_indexing(self.X, index), self.group[index]
        return LabelledRows(X, self.label_code[index], self.labels[index], group, self.n_groups, weight)

    @property
    def known(self) -> BoolArray:
        """Which rows have a group."""
        return np.asarray(self.group >= 0 if self.group.ndim == 1 else np.isfinite(self.group).all(axis=1))

    def of(self, population: Population) -> IntArray:
        """Rows with a group that belong to a population."""
        return np.flatnonzero(self.known & in_population(population, self.label_code))

    def check(self, constraints: Sequence[Constraint], groups: Groups, classes: tuple[Any, Any], target: Any) -> None:
        """Refuse groups that cannot be compared: no such reference, empty cells; warn of small cells.

        `target` is the code of the target among all labels' codes.
        """
        compared = Compared(groups.membership, groups.blocks) if groups.attributes else None
        row, code, weight = self.by_group()
        if weight is not None:
            row, code = row[weight > 0], code[weight > 0]
        for constraint in constraints:
            check_comparable(constraint, groups.compared)
            check_cells(constraint, self.label_code[row] == target, code, groups.compared, classes, compared)

    def by_group(self, population: Population = EVERYONE) -> tuple[IntArray, IntArray, FloatArray | None]:
        """Rows of a population, their groups and weights; one of uncertain group counts for each by its probability."""
        known = self.of(population)
        if self.group.ndim == 1:
            return known, self.group[known].astype(np.int64), None if self.weight is None else self.weight[known]
        place, code = np.nonzero(self.group[known])
        row, share = known[place], np.asarray(self.group[known][place, code], dtype=float)
        return row, code, share if self.weight is None else share * self.weight[row]


def read_groups(
    sensitive_features: Any,
    probabilities: Any,
    n: int,
    *,
    missing: UnknownGroups,
    merge_below: int | None,
    attributes: Attributes,
) -> tuple[Groups, IntArray | FloatArray]:
    """The groups, and for each row its group's code, -1 if it is unknown, or the probability of each group."""
    check_parameter("missing", missing, get_args(UnknownGroups))
    if probabilities is None:
        settings: Any = {"missing": "drop" if missing == "unknown" else missing, "merge_below": merge_below}
        groups = encode_groups(sensitive_features, n_rows=n, attributes=attributes, **settings)
        return groups, groups.codes
    if sensitive_features is not None:
        raise InputError("Pass `sensitive_features` or `group_probabilities`, not both.")
    table = np.asarray(probabilities, dtype=float)
    if table.ndim != 2 or len(table) != n or table.shape[1] < 2:
        raise InputError(
            f"`group_probabilities` must have {n} rows and a column for each of at least two groups; got shape"
            f" {table.shape}."
        )
    unknown = np.isnan(table).all(axis=1)
    if missing not in ("unknown", "drop") and unknown.any():
        raise InputError(
            f"{int(unknown.sum())} of {n} rows of `group_probabilities` are missing: fill them, or pass {{missing}} to"
            " learn their labels only.",
            missing="unknown",
        )
    off = ~unknown & ~((table >= 0).all(axis=1) & np.isclose(table.sum(axis=1), 1.0, atol=1e-3))
    if off.any():
        raise InputError(
            f"{int(off.sum())} rows of `group_probabilities` are not probabilities that sum to one; the first is row"
            f" {int(off.argmax())}: {table[off.argmax()].tolist()}."
        )
    names = getattr(probabilities, "columns", range(table.shape[1]))
    return Groups(table.argmax(axis=1), tuple(names)), table
