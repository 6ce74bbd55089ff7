"""Mended probabilities as column expressions: what the driver's sample teaches about all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.frontier.joint import Joint
from fairalm.frontier.mending import SMALLEST, member_columns, mended, mended_members, target_columns


@dataclass(frozen=True, eq=False)
class Mending:
    """The coefficients of the small logistic regressions of :mod:`fairalm.frontier.mending`.

    Parameters
    ----------
    target : float
        What the log-odds of the target are multiplied by; 1 leaves them as they are.
    members : dict of arrays of shape (groups, groups + 2)
        For some of the populations, the coefficients of each group's score, the intercept last.
    """

    target: float = 1.0
    members: Mapping[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def found(cls, joint: Joint, positive: BoolArray, group: IntArray, weight: FloatArray) -> Mending:
        """What lowers the log loss of out-of-fold probabilities."""
        both = np.column_stack([1 - joint.target, joint.target])
        model = mended(target_columns(joint.target), both, positive, weight, intercept=False)
        own = cls() if model is None else cls(float(model.coef_.item()))
        members = mended_members(joint, own.joint(joint).target, positive, group, weight)
        return cls(own.target, {name: _scores(model) for name, model in members.items()})

    def joint(self, joint: Joint) -> Joint:
        """Probabilities, mended."""
        target = joint.target
        if self.target != 1:
            target = 1 / (1 + np.exp(-self.target * target_columns(target)[:, 0]))
        members = dict(joint.members)
        for name, table in self.members.items():
            scores = member_columns(members[name], target) @ table[:, :-1].T + table[:, -1]
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            members[name] = shares / shares.sum(axis=1, keepdims=True)
        return Joint(target, members)

    def target_share(self, share: Column) -> Column:
        """P(target | x), mended."""
        return share if self.target == 1 else 1 / (1 + F.exp(-self.target * _log_odds(share)))

    def member_shares(self, population: str, shares: Column, target: Column, n_groups: int) -> Column:
        """P(group | x, population) as an array, mended; `target` is mended already."""
        if population not in self.members:
            return shares
        logs = [F.log(F.least(F.greatest(shares[k], F.lit(SMALLEST)), F.lit(1.0))) for k in range(n_groups)]
        mean = _sum(logs) / n_groups
        columns = [*(log - mean for log in logs), _log_odds(target), F.lit(1.0)]
        scores = [
            _sum([float(coefficient) * column for coefficient, column in zip(row, columns, strict=True)])
            for row in self.members[population]
        ]
        # the share of each group as one over a sum of ratios, which no score can make overflow to NaN
        return F.array(*(1 / _sum([F.exp(other - own) for other in scores]) for own in scores))

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"target": self.target, "members": {name: table.tolist() for name, table in self.members.items()}}

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> Mending:
        """What :meth:`to_plain` gave."""
        return cls(value["target"], {name: np.array(table) for name, table in value["members"].items()})


def _scores(model: Any) -> FloatArray:
    """Coefficients and intercept of each class; those of two classes are half the single ones, with either sign."""
    table = np.column_stack([model.coef_, model.intercept_])
    return np.asarray(np.vstack([-table / 2, table / 2]) if len(table) == 1 else table)


def _log_odds(share: Column) -> Column:
    kept = F.least(F.greatest(share, F.lit(SMALLEST)), F.lit(1 - SMALLEST))
    return F.log(kept / (1 - kept))


def _sum(columns: list[Column]) -> Column:
    return reduce(lambda a, b: a + b, columns)
