"""The figures of lending decisions on some rows: acceptance, bad rate, adverse impact ratios, and how they rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._validation import Groups
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.measures import Measure, quotient_interval
from fairalm.measures.lending import (
    acceptance,
    acceptance_change,
    bad_rate,
    bad_rate_change,
    impact_ratio,
    impact_ratio_change,
)
from fairalm.measures.ranking import auc, ks
from fairalm.runs.fits import scores_of

LEVEL = 0.95  # nominal coverage of the intervals


@dataclass(frozen=True, eq=False)
class LoanDecisions:
    """Which rows a model accepts, and the scores it ranks them by; decisions that came without scores have none."""

    accepted: BoolArray
    scores: FloatArray | None = None

    @classmethod
    def of(cls, model: Any, X: pd.DataFrame, favourable: Any) -> LoanDecisions:
        """Those of a fitted classifier, which accepts where it predicts the favourable label."""
        return cls(np.asarray(model.predict(X) == favourable), scores_of(model, X, favourable))


@dataclass(frozen=True)
class Figures:
    """The figures of one model on some rows; `ratio` is the lowest of the groups' `ratios`."""

    acceptance: Measure
    bad_rate: Measure
    ratio: Measure
    ratios: Mapping[str, Measure]
    auc: Measure | None = None
    ks: Measure | None = None

    @property
    def named(self) -> dict[str, Measure]:
        """Those that there are, by name; the ratio of a group is "ratio of GROUP"."""
        single = {name: getattr(self, name) for name in ("acceptance", "bad_rate", "ratio", "auc", "ks")}
        single |= {f"ratio of {group}": ratio for group, ratio in self.ratios.items()}
        return {name: measure for name, measure in single.items() if measure is not None}

    @property
    def worst(self) -> str:
        """The group with the lowest ratio."""
        return min(self.ratios, key=lambda group: _or_infinite(self.ratios[group].value))


@dataclass(frozen=True)
class LoanChanges:
    """How a model differs from the baseline on the same rows: its figure minus the baseline's."""

    acceptance: Measure
    bad_rate: Measure
    ratios: Mapping[str, Measure] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, Measure]:
        """All of them, by name."""
        changes = {f"ratio of {group}": ratio for group, ratio in self.ratios.items()}
        return {"acceptance": self.acceptance, "bad_rate": self.bad_rate, **changes}


@dataclass(frozen=True, eq=False)
class LoanRows:
    """Rows whose outcome is known: which are bad, and their groups, -1 where the group is unknown."""

    bad: BoolArray
    codes: IntArray
    names: tuple[str, ...]
    reference: str

    @classmethod
    def of(cls, good: npt.NDArray[Any], groups: Groups, reference: str) -> LoanRows:
        """From labels of 0 and 1, 1 being the favourable one."""
        return cls(np.asarray(good) == 0, groups.codes, groups.names, reference)

    def take(self, rows: IntArray) -> LoanRows:
        """Some of the rows."""
        return LoanRows(self.bad[rows], self.codes[rows], self.names, self.reference)

    @property
    def place(self) -> int:
        """Place of the reference among the groups."""
        return self.names.index(self.reference)

    @property
    def group_names(self) -> npt.NDArray[Any]:
        """The name of each row's group, None where it is unknown."""
        return np.array([*self.names, None], dtype=object)[self.codes]

    @property
    def compared(self) -> tuple[str, ...]:
        """The groups that are compared with the reference."""
        return tuple(name for name in self.names if name != self.reference)

    def of_group(self, name: str) -> BoolArray:
        """Which rows belong to a group."""
        return np.asarray(self.codes == self.names.index(name))

    def figures(self, decisions: LoanDecisions) -> Figures:
        """The figures of a model's decisions on these rows."""
        accepted, scores = decisions.accepted, decisions.scores
        reference = self.of_group(self.reference)
        ratios = {name: impact_ratio(accepted, self.of_group(name), reference) for name in self.compared}
        ranks = [] if scores is None else [measure(~self.bad, scores) for measure in (auc, ks)]
        return Figures(
            acceptance(accepted),
            bad_rate(self.bad, accepted),
            lowest_ratio(self.accepted_in(accepted), self.sizes, self.place),
            ratios,
            *ranks,
        )

    def changes(self, before: LoanDecisions, after: LoanDecisions) -> LoanChanges:
        """What changes from one model's decisions to another's."""
        old, new = before.accepted, after.accepted
        reference = self.of_group(self.reference)
        return LoanChanges(
            acceptance_change(old, new),
            bad_rate_change(self.bad, old, new),
            {name: impact_ratio_change(old, new, self.of_group(name), reference) for name in self.compared},
        )

    @property
    def sizes(self) -> FloatArray:
        """How many rows each group has."""
        return self.accepted_in(np.ones(len(self.codes), dtype=bool))

    def accepted_in(self, accepted: BoolArray) -> FloatArray:
        """How many rows of each group are accepted."""
        return np.bincount(self.codes[(self.codes >= 0) & accepted], minlength=len(self.names)).astype(float)


def lowest_ratio(k: FloatArray, n: FloatArray, reference: int) -> Measure:
    """The lowest ratio of a group's share `k / n` to the reference group's.

    Any group could be the lowest by chance, so the upper end is Šidák's for all of them.

    >>> print(lowest_ratio(np.array([30.0, 80, 60]), np.array([50.0, 100, 100]), reference=1).value)
    0.7499999999999999
    """
    others = (np.arange(len(n)) != reference) & (n > 0)
    if not others.any() or k[reference] == 0:
        return Measure("ratio", None, None, None, int(n.sum()), 0, note="undefined (no group can be compared)")
    pairs = k[others], n[others], k[reference], n[reference]
    low, _ = quotient_interval(*pairs, LEVEL)
    _, high = quotient_interval(*pairs, LEVEL ** (1 / others.sum()))
    value = float((k[others] / n[others]).min() / (k[reference] / n[reference]))
    return Measure("ratio", value, float(low.min()), float(high.min()), int(n.sum()), int(n[n > 0].min()))


def _or_infinite(value: float | None) -> float:
    return np.inf if value is None else value
