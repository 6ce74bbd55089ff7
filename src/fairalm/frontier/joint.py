"""Who has which label and group: probabilities in place of the labels and groups that new rows do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.cells import Cells, Compared
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError

TINY = 1e-300  # floor for a probability that is divided by; avoids 0/0

#: Whom a rate is taken over: rows of one label, or everyone. Each has a membership model of its own.
POPULATIONS = ("other", "target", "everyone")


EVERYONE = "everyone"  # the population of all rows
Population = Any  # a str; with several labels, everyone or the int code of a label


def in_population(population: Population, label: BoolArray | IntArray) -> BoolArray:
    """Which rows belong to a population, given which have the target label or, with several, the labels' codes."""
    if population == EVERYONE:
        return np.ones(len(label), dtype=bool)
    return np.asarray(label == (population if isinstance(population, int) else population == "target"))


@dataclass(frozen=True, eq=False)
class Joint:
    """Probabilities of label and group for each row.

    Parameters
    ----------
    target : array of shape (n,), or (n, labels)
        P(target | x), or with several labels P(label | x).
    members : dict of arrays of shape (n, groups)
        For some of the populations, P(group | x, population).
    """

    target: FloatArray
    members: Mapping[Population, FloatArray]

    def take(self, rows: BoolArray) -> Joint:
        """Those of some rows."""
        return Joint(self.target[rows], {name: part[rows] for name, part in self.members.items()})

    def against_rest(self, label: int, populations: Sequence[str]) -> Joint:
        """Of several labels, one as the target and all others as the other, for these populations."""
        target, known = self.target[:, label], self.members
        members: dict[Population, FloatArray] = {}
        for population in populations:
            if population == "other":
                others = sum(
                    self.target[:, k, None] * own for k, own in known.items() if isinstance(k, int) and k != label
                )
                members[population] = np.asarray(others) / np.maximum(1 - target, TINY)[:, None]
            else:
                members[population] = known[label if population == "target" else population]
        return Joint(target, members)

    def part(self, population: str) -> FloatArray:
        """P(population, group | x), shape (n, groups)."""
        share = {"other": 1 - self.target, "target": self.target, "everyone": np.ones_like(self.target)}[population]
        return np.asarray(share[:, None] * self.members[population])

    def parts(self, populations: Sequence[str]) -> FloatArray:
        """Those of several populations, side by side."""
        return np.hstack([self.part(population) for population in populations])


class Share(NamedTuple):
    """What a population adds to an event's sum for each row: ``constant + slope * h``."""

    population: str
    constant: float
    slope: float


def shares_of(constraint: Constraint) -> list[list[Share]]:
    """For each event of a constraint, what each population adds.

    >>> from fairalm import DemographicParity, EqualOpportunity
    >>> shares_of(EqualOpportunity())
    [[Share(population='target', constant=1.0, slope=-1.0)]]
    >>> shares_of(DemographicParity())
    [[Share(population='everyone', constant=0.0, slope=1.0)]]
    """
    cells = Cells.of(constraint, n_groups=2)
    if not cells.is_linear:
        raise InputError(
            f"{type(constraint).__name__} is a ratio of two sums that both depend on the predictions, so it has no"
            " frontier: choose another constraint, or FairALMClassifier."
        )
    events = []
    for inside, numerator in zip(cells.inside, cells.numerator, strict=True):
        base, sign = numerator[:2], numerator[2:]
        # the loss is h for the other label and 1 - h for the target
        shares = [
            Share("other", float(base[0]), float(sign[0])),
            Share("target", float(base[1] + sign[1]), float(-sign[1])),
        ]
        if inside.all() and shares[0][1:] == shares[1][1:]:
            shares = [Share("everyone", *shares[0][1:])]
        else:
            shares = [share for share, has in zip(shares, inside, strict=True) if has]
        events.append(shares)
    return events


def slopes_of(constraint: Constraint) -> list[int]:
    """For each event, 1 if its rate is the share predicted as the target, -1 if it is one minus that, 0 if neither."""
    known = {frozenset({(0.0, 1.0)}): 1, frozenset({(1.0, -1.0)}): -1}
    return [known.get(frozenset(share[1:] for share in event), 0) for event in shares_of(constraint)]


def populations_of(constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """The populations that these constraints speak of."""
    named = {share.population for c in constraints for event in shares_of(c) for share in event}
    return tuple(population for population in POPULATIONS if population in named)


@dataclass(frozen=True, eq=False)
class Rates:
    """The rates that a constraint compares, as linear functions of the sums of the predicted rows' parts.

    Parameters
    ----------
    constants : array of shape (events, groups)
        The rates when no row is predicted as the target.
    table : array of shape (events, groups, sums)
        ``constants + table @ sums`` are the rates. A cell's rate is the share of its estimated mass, not of its
        observed one, so that predicting everyone gives exactly 0 or 1.
    slopes : array of shape (events,)
        See :func:`slopes_of`.
    """

    constants: FloatArray
    table: FloatArray
    slopes: IntArray

    @classmethod
    def of(
        cls, constraint: Constraint, populations: Sequence[str], mass: FloatArray, compared: Compared | None
    ) -> Rates:
        """The rates of a constraint, given the mass (populations, groups) of the rows."""
        n_groups = mass.shape[1]
        member = np.eye(n_groups) if compared is None else np.asarray(compared.membership)
        constants, tables = [], []
        for event in shares_of(constraint):
            own = [populations.index(share.population) for share in event]
            total = mass[own].sum(axis=0) @ member
            coefficients = np.zeros((len(populations), n_groups, member.shape[1]))
            constant = np.zeros(member.shape[1])
            for index, share in zip(own, event, strict=True):
                constant += share.constant * (mass[index] @ member)
                coefficients[index] = share.slope * member
            constants.append(constant / total)
            tables.append((coefficients.reshape(-1, member.shape[1]) / total).T)
        return cls(np.array(constants), np.array(tables), np.array(slopes_of(constraint)))

    def values(self, sums: FloatArray) -> FloatArray:
        """The rates, shape (events, groups)."""
        return np.asarray(self.constants + self.table @ sums)
