"""One point of the frontier."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairalm.arrays import FloatArray
from fairalm.frontier.joint import populations_of
from fairalm.frontier.limits import Asked
from fairalm.frontier.rows import Totals
from fairalm.frontier.rule import Rule


@dataclass(frozen=True, eq=False)
class Point:
    """What was asked for, the rule that answers it, and what the estimated probabilities prove of it.

    Parameters
    ----------
    asked : Asked
        What it was asked for.
    rule : Rule
        Predicts new rows, given their probabilities.
    cost : float
        Mean cost of the rule's mistakes under the estimated probabilities: the error, if both costs are 1.
    bound : float
        No classifier whatever, random or not, within the limits costs less under these probabilities.
    certificate : float
        How much more the rule may cost than the best classifier, ties and limits not quite reached included.
    ties : float
        Share of the rows that are ties, all of which the rule decides one way.
    excess : float
        By how much the rule exceeds a limit because of that, under the estimated probabilities.
    accepted : array of shape (2, groups)
        Weights of the rows that the rule predicts as the target, by label and group.
    multipliers, offsets : array, tuple of arrays
        The program's multipliers, and by how much observed rates corrected its own: a start for its neighbours.
    totals : Totals
        Of the rows that are surely chosen at these multipliers, for neighbours too.
    """

    asked: Asked
    rule: Rule
    cost: float
    bound: float
    certificate: float
    ties: float
    excess: float
    accepted: FloatArray
    multipliers: FloatArray
    offsets: tuple[FloatArray, ...]
    totals: Totals

    def between(self, other: Point, share: float) -> Point:
        """A guess of a point that lies between this and another, which is asked for the same limits."""

        def blend(one: FloatArray, two: FloatArray) -> FloatArray:
            return one + share * (two - one)

        rule = replace(self.rule, weights=blend(self.rule.weights, other.rule.weights))
        multipliers = blend(self.multipliers, other.multipliers)
        offsets = tuple(blend(*pair) for pair in zip(self.offsets, other.offsets, strict=True))
        return replace(self, rule=rule, multipliers=multipliers, offsets=offsets)

    def is_like(self, asked: Asked) -> bool:
        """Whether rows cost and add the same as in what is asked: only the limits differ."""
        own = self.asked
        same = populations_of(own.constraints) == populations_of(asked.constraints)
        costs = (own.cost_fp, own.cost_fn) == (asked.cost_fp, asked.cost_fn)
        return same and costs and own.acceptance is None and asked.acceptance is None
