"""The constraints: each says which rows a group's mean is taken over, and of what.

Every fairness criterion of the paper is a statement about group means of per-row losses. A constraint names its events
(which rows) and the sign and base of a row's part in the mean (of what); the rest of the library is the same for all.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fairalm._validation import by_name, first_line, kebab
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.cells import Cells, Compared, CountedRows, Event, Rows
from fairalm.exceptions import InputError, SmallCellWarning

TOO_FEW = 5  # rows in a cell; with fewer, a single row moves its rate by over twenty points


@dataclass(frozen=True, kw_only=True, repr=False)
class Constraint(ABC):
    """Base of all constraints. Subclasses write :meth:`events` and nothing else.

    The words that tables, pages and messages need (`name`, `measure`, `title`, `rates`) come from the class's name and
    docstring where a subclass does not give them.

    Parameters
    ----------
    tol : float
        Largest difference that is allowed between any two groups: 0.01 lets rates differ by one point.
    target : label or list of labels, optional
        The label whose errors count, the paper's (+); by default the larger of the two (1 for 0/1). Of more than two
        labels, which only :class:`fairalm.FrontierClassifier` takes: the label or labels that are compared, each
        against the rest; by default all of them.
    ratio : float, optional
        Bound a ratio in place of a difference: the share predicted as the target in any group is at least `ratio` times
        that of any other, or of the `reference`. 0.8 is the four-fifths rule. For the frontier only:
        :class:`fairalm.FrontierClassifier`, or :func:`fairalm.nn.fit_frontier` for a net.
    reference : group, optional
        Compare each group with this one, not with every other; for the frontier only.
    one_sided : bool
        With a `reference`: only a group that is predicted the target *less* often than it can break the limit.
    """

    tol: float = 0.01
    target: Any = None
    ratio: float | None = None
    reference: Any = None
    one_sided: bool = False

    name: ClassVar[str] = ""  # on the command line
    measure: ClassVar[str] = ""  # key of the reported gap in metrics.json and in tables of figures
    title: ClassVar[str] = ""  # name of that gap in tables
    rates: ClassVar[str] = ""  # what is compared between the groups; {label} stands for "hired = yes"

    def __init_subclass__(cls) -> None:
        own = vars(cls)
        cls.name = own.get("name") or kebab(cls.__name__)
        cls.measure = own.get("measure") or cls.name.replace("-", "_")
        cls.title = own.get("title") or f"{cls.name.replace('-', ' ')} gap"
        cls.rates = own.get("rates") or f'each of the rates in "{first_line(cls)}"'

    def __post_init__(self) -> None:
        if isinstance(self.target, (list, np.ndarray)):
            object.__setattr__(self, "target", tuple(np.asarray(self.target).tolist()))
        if not 0 <= self.tol <= 1:
            raise InputError(
                f"The 'tol' of {type(self).__name__} must lie in [0, 1]: it bounds a difference of rates."
                f" Got {self.tol!r}."
            )
        if self.ratio is not None and not 0 < self.ratio <= 1:
            raise InputError(
                f"The 'ratio' of {type(self).__name__} must lie in (0, 1]: 0.8 is the four-fifths rule. Got"
                f" {self.ratio!r}."
            )
        if self.one_sided and self.reference is None:
            raise InputError("`one_sided` needs a `reference`: the group that the others are compared with.")

    def __repr__(self) -> str:
        shown = {field.name: getattr(self, field.name) for field in fields(self) if field.repr}
        defaults = {field.name: field.default for field in fields(self)}
        given = [f"{name}={value!r}" for name, value in shown.items() if name == "tol" or value != defaults[name]]
        return f"{type(self).__name__}({', '.join(given)})"

    @property
    def is_plain(self) -> bool:
        """Whether it bounds the difference between any two groups, which every method can do."""
        return self.ratio is None and self.reference is None

    @abstractmethod
    def events(self, y: BoolArray) -> tuple[Event, ...]:
        """The events, given the labels as booleans (True where the label is the target)."""

    def rows(
        self,
        y: npt.ArrayLike,
        group: IntArray,
        n_groups: int,
        sample_weight: FloatArray | None = None,
        compared: Compared | None = None,
    ) -> Rows:
        """The rows of a data set, by label and group."""
        return Rows(Cells.of(self, n_groups, compared), np.asarray(y, dtype=bool), group, sample_weight)


@dataclass(frozen=True, kw_only=True, repr=False)
class EqualOpportunity(Constraint):
    """Equal error among rows whose label is the target: equal FNR, the paper's EO for y=1.

    This is the constraint of all the paper's experiments; its reported measure is the DEO.

    Examples
    --------
    >>> EqualOpportunity(tol=0.02)
    EqualOpportunity(tol=0.02)
    """

    name: ClassVar[str] = "equal-opportunity"
    measure: ClassVar[str] = "deo"
    title: ClassVar[str] = "DEO (TPR gap)"
    rates: ClassVar[str] = "among people with {label}, the share the model misses"

    def events(self, y: BoolArray) -> tuple[Event, ...]:
        """Y = target."""
        return (Event("y=target", mask=y),)


@dataclass(frozen=True, kw_only=True, repr=False)
class PredictiveEquality(Constraint):
    """Equal error among rows whose label is not the target: equal FPR, the paper's EO for y=0."""

    name: ClassVar[str] = "predictive-equality"
    measure: ClassVar[str] = "fpr_gap"
    title: ClassVar[str] = "FPR gap"
    rates: ClassVar[str] = "among people without {label}, the share wrongly predicted to have it"

    def events(self, y: BoolArray) -> tuple[Event, ...]:
        """Y ≠ target."""
        return (Event("y≠target", mask=~y),)


@dataclass(frozen=True, kw_only=True, repr=False)
class EqualizedOdds(Constraint):
    """Equal FNR and equal FPR, each bounded on its own.

    The paper writes equality of odds as d⁰ + d¹ = 0, in which two opposite gaps cancel; here both are bounded.
    """

    name: ClassVar[str] = "equalized-odds"
    measure: ClassVar[str] = "equalized_odds"
    title: ClassVar[str] = "equalized odds gap"
    rates: ClassVar[str] = (
        "the share missed among people with {label}, and that wrongly predicted among the others, each"
    )

    def events(self, y: BoolArray) -> tuple[Event, ...]:
        """Y = target, and y ≠ target."""
        return (Event("y=target", mask=y), Event("y≠target", mask=~y))


@dataclass(frozen=True, kw_only=True, repr=False)
class ErrorParity(Constraint):
    """Equal error rates, which is what the paper's formulas call demographic parity (its mu is the error)."""

    name: ClassVar[str] = "error-parity"
    measure: ClassVar[str] = "error_parity"
    title: ClassVar[str] = "error gap"
    rates: ClassVar[str] = "the share of wrong predictions"

    def events(self, y: BoolArray) -> tuple[Event, ...]:
        """All rows."""
        return (Event("all"),)


@dataclass(frozen=True, kw_only=True, repr=False)
class DemographicParity(Constraint):
    """Equal selection rates: the share predicted as the target does not depend on the group.

    Through ``h = y + (1 - 2y) loss``, which is exact for 0/1 and for sigmoid losses.
    """

    name: ClassVar[str] = "demographic-parity"
    measure: ClassVar[str] = "ddp"
    title: ClassVar[str] = "selection gap (DDP)"
    rates: ClassVar[str] = "the share predicted {label}"

    def events(self, y: BoolArray) -> tuple[Event, ...]:
        """All rows, counted by their prediction."""
        positive = 1.0 * y
        return (Event("all", sign=1.0 - 2.0 * positive, base=positive),)


@dataclass(frozen=True, kw_only=True, repr=False)
class PredictiveParity(Constraint):
    """Equal false discovery rates: the share of errors among the rows predicted as the target.

    This rate is a ratio of two sums that both depend on the classifier, so each round works with its linearisation at
    the last classifier. It has no certificate, and the rate of a mixture is not the mean of its members' rates.
    """

    name: ClassVar[str] = "predictive-parity"
    measure: ClassVar[str] = "predictive_parity"
    title: ClassVar[str] = "FDR gap"
    rates: ClassVar[str] = "among people predicted {label}, the share for whom that is wrong"

    def events(self, y: BoolArray) -> tuple[Event, ...]:
        """Predicted target: both sums run over ``h = y + (1 - 2y) loss``."""
        positive = 1.0 * y
        return (
            Event(
                "predicted target",
                sign=1.0 - positive,
                over_sign=1.0 - 2.0 * positive,
                over_base=positive,
            ),
        )


def check_cells(
    constraint: Constraint,
    positive: BoolArray,
    group: IntArray,
    names: tuple[str, ...],
    classes: tuple[Any, Any],
    compared: Compared | None = None,
) -> None:
    """Refuse data with an empty cell, and warn of cells too small to judge.

    Parameters
    ----------
    constraint : Constraint
    positive : bool array of shape (n,)
        Which rows have the target label.
    group : int array of shape (n,)
        Group codes.
    names : tuple of str
        The groups that are compared.
    classes : (other, target)
        The labels.
    compared : Compared, optional
        How groups belong to them, with several protected attributes.
    """
    n_groups = len(names) if compared is None else len(compared.membership)
    check_sizes(constraint, constraint.rows(positive, group, n_groups, compared=compared), names, classes, stacklevel=5)


def check_sizes(
    constraint: Constraint,
    rows: CountedRows,
    names: tuple[str, ...],
    classes: tuple[Any, Any],
    *,
    merging: str = "{merge_below}",
    stacklevel: int = 4,
) -> None:
    """The check of :func:`check_cells` on rows that are counted already; `merging` says how groups are merged."""
    for event, sizes in zip(rows.cells.names, rows.sizes, strict=True):
        if (sizes == 0).any():
            where, name = event.replace("target", repr(classes[1])), type(constraint).__name__
            raise InputError(
                f"Group {names[int(np.argmin(sizes))]!r} has no rows with {where}, so {name} cannot be judged for it:"
                f" drop the group, merge small groups ({merging}), or choose another constraint.",
                merge_below=...,
            )
        few = np.flatnonzero(sizes < TOO_FEW)
        if len(few):
            shown = ", ".join(f"{names[i]!r} ({sizes[i]})" for i in few[:3]) + (", ..." if len(few) > 3 else "")
            message = (
                f"Fewer than {TOO_FEW} rows with {event} in {shown}: a gap of so few is chance. Merge small groups"
                f" ({merging}), or leave them out."
            )
            warnings.warn(SmallCellWarning(message, merge_below=...), stacklevel=stacklevel)


CONSTRAINTS: dict[str, type[Constraint]] = {
    constraint.name: constraint
    for constraint in (
        EqualOpportunity,
        PredictiveEquality,
        EqualizedOdds,
        ErrorParity,
        DemographicParity,
        PredictiveParity,
    )
}


def as_constraint(which: Constraint | str | None, *, plain: bool = True) -> Constraint:
    """A constraint: as given, by its name, or equal opportunity if left out.

    With `plain`, one with a ratio or a reference group is refused.

    >>> as_constraint("demographic-parity")
    DemographicParity(tol=0.01)
    """
    if which is None:
        return EqualOpportunity()
    constraint = by_name("constraint", which, CONSTRAINTS)() if isinstance(which, str) else which
    if not isinstance(constraint, Constraint):
        raise InputError(f"`constraint` must be a Constraint or the name of one; got {which!r}.")
    if plain and not constraint.is_plain:
        raise InputError(
            f"{constraint} has a ratio or a reference group, which only fairalm.FrontierClassifier (for a net,"
            " fairalm.nn.fit_frontier) can bound: use that, or give a `tol` alone."
        )
    return constraint
