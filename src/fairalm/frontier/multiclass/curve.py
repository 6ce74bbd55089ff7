"""The frontier of several labels: every constraint, tolerance and table of costs from one set of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.cells import Cells
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.frontier.curve import ROUNDS, SETTLED, width_of
from fairalm.frontier.joint import Rates, populations_of
from fairalm.frontier.limits import Limits, check_comparable
from fairalm.frontier.multiclass.asked import LabelsAsked, check_compares_predictions, label_populations
from fairalm.frontier.multiclass.program import LabelProgram, one_hot
from fairalm.frontier.multiclass.rule import LabelRule
from fairalm.frontier.multiclass.sample import LabelSample
from fairalm.frontier.multiclass.solver import solve
from fairalm.frontier.program import Solution
from fairalm.frontier.rule import TIE
from fairalm.frontier.sample import Sample
from fairalm.frontier.secant import Secant


@dataclass(frozen=True, eq=False)
class LabelPoint:
    """What was asked for, the rule that answers it, and what the estimated probabilities prove of it.

    Attributes as in :class:`fairalm.frontier.point.Point`.
    """

    asked: LabelsAsked
    rule: LabelRule
    cost: float
    bound: float
    certificate: float
    ties: float
    excess: float
    multipliers: FloatArray
    offsets: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class _Limited:
    """The rates of one constraint for one label against the rest."""

    constraint: int  # its place among those asked for
    label: int
    rows: Sample
    cells: Cells
    rates: Rates  # as functions of the sums of all labels


class LabelFrontier:
    """Answers what is asked, from the probabilities of one sample.

    Parameters
    ----------
    sample : LabelSample
    targets : sequence of int
        Codes of the labels that the constraints are about, each against the rest.
    """

    def __init__(self, sample: LabelSample, targets: Sequence[int]) -> None:
        self.sample, self.targets = sample, list(targets)
        self._share = sample.weight / sample.weight.sum()
        self._parts: dict[tuple[str, ...], list[FloatArray]] = {}

    def point(self, asked: LabelsAsked, near: LabelPoint | None = None) -> LabelPoint:
        """Solve for one point; `near` is one that was asked for the same constraints with other tolerances."""
        limited, parts = self._limited(asked.constraints), self._parts_of(populations_of(asked.constraints))
        costs = self._share[:, None] * (self.sample.joint.target @ asked.cost_table)
        smallest = min(float(own.rows.sizes(own.cells).min()) for own in limited)
        width = width_of(smallest) * float(asked.cost_table.sum(axis=1).mean()) / (len(asked.costs) - 1)
        offsets = [np.zeros_like(own.rates.constants) for own in limited] if near is None else list(near.offsets)
        start, steps = None if near is None else near.multipliers, [Secant() for _ in limited]
        found: tuple[LabelProgram, Solution, tuple[FloatArray, ...]] | None = None
        for _ in range(ROUNDS):
            program = LabelProgram(costs, parts, *self._limits(asked, limited, offsets))
            now = solve(program, start, width=width)
            if not now.is_feasible:
                if not any(offset.any() for offset in offsets):
                    raise InputError("These limits contradict each other: loosen one of them.")
                offsets = [offset / 2 for offset in offsets]
                continue
            start, found = now.multipliers, (program, now, tuple(offsets))
            wanted = self._corrections(limited, program.sums(now.chosen), now.chosen)
            changes = [new - old for new, old in zip(wanted, offsets, strict=True)]
            if max(abs(own).max() for own in changes) < SETTLED:
                break
            moved = [step.after(*pair) for step, pair in zip(steps, zip(offsets, changes, strict=True), strict=True)]
            offsets = self._balanced(limited, moved)
        if found is None:
            raise InputError("These limits contradict each other: loosen one of them.")
        program, now, used = found
        exact = solve(program, now.multipliers)
        return self._point(asked, program, exact if exact.is_feasible else now, used)

    def _parts_of(self, populations: tuple[str, ...]) -> list[FloatArray]:
        """What predicting each row as each label adds to the sums; kept for the next point."""
        if populations not in self._parts:
            joint, empty = self.sample.joint, np.empty((len(self._share), 0))
            parts = [empty] * len(self.sample.labels)
            for k in self.targets:
                parts[k] = self._share[:, None] * joint.against_rest(k, populations).parts(populations)
            self._parts = {populations: parts}
        return self._parts[populations]

    def _limited(self, constraints: tuple[Constraint, ...]) -> list[_Limited]:
        sample, populations = self.sample, populations_of(constraints)
        for constraint in constraints:
            check_compares_predictions(constraint)
            check_comparable(constraint, sample.groups.compared)
        for population in label_populations(constraints, self.targets, len(sample.labels)):
            if population not in sample.joint.members:
                raise InputError(
                    "This constraint needs to know who belongs to which group among other people than those that the"
                    " frontier was fitted for: name the constraint when you fit, in `constraint` (a list can hold"
                    " several)."
                )
        parts, limited = self._parts_of(populations), []
        for block, k in enumerate(self.targets):
            rows = sample.against_rest[k]
            mass = parts[k].sum(axis=0).reshape(len(populations), -1)
            for place, constraint in enumerate(constraints):
                rates = Rates.of(constraint, populations, mass, rows.compared)
                size = rates.table.shape[2]
                table = np.zeros((*rates.table.shape[:2], size * len(self.targets)))
                table[:, :, block * size : (block + 1) * size] = rates.table
                cells = Cells.of(constraint, rows.n_groups, rows.compared)
                limited.append(_Limited(place, k, rows, cells, replace(rates, table=table)))
        return limited

    def _limits(
        self, asked: LabelsAsked, limited: list[_Limited], offsets: Sequence[FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        limits = Limits(limited[0].rates.table.shape[2])
        for own, offset in zip(limited, offsets, strict=True):
            corrected = replace(own.rates, constants=own.rates.constants + offset)
            limits.compare(asked.constraints[own.constraint], corrected, own.rows.groups.compared, own.rows.blocks)
        return limits.arrays()

    def _corrections(self, limited: list[_Limited], sums: FloatArray, chosen: FloatArray) -> list[FloatArray]:
        """By how much observed rates correct those of the program."""
        accepted = {own.label: own.rows.sums(own.rows.weight * chosen[:, own.label]) for own in limited}
        return self._balanced(
            limited, [own.rows.correction(own.cells, own.rates.values(sums), accepted[own.label]) for own in limited]
        )

    def _balanced(self, limited: list[_Limited], offsets: list[FloatArray]) -> list[FloatArray]:
        """The same corrections, so that they change no group's sum over the labels.

        The shares of a group that are predicted as each label sum to one, observed or not. So must they when corrected:
        otherwise they could not be equal in all groups.
        """
        if len(self.targets) < len(self.sample.labels):
            return offsets
        n_constraints = len(limited) // len(self.targets)
        for place in range(n_constraints):
            own = offsets[place::n_constraints]
            shares = limited[place].cells.inside.all(axis=1)  # events of everyone
            too_much = np.mean([offset[shares] for offset in own], axis=0)
            for offset in own:
                offset[shares] -= too_much
        return offsets

    def _point(
        self, asked: LabelsAsked, program: LabelProgram, solution: Solution, offsets: tuple[FloatArray, ...]
    ) -> LabelPoint:
        """The point of a solution, with its ties all decided one way: the one that misses the limits least."""
        margins, n_labels = program.margins(solution.multipliers), len(self.sample.labels)
        two, share = np.partition(margins, 1, axis=1), self._share
        ties = float(share[two[:, 1] - two[:, 0] < TIE * share].sum())
        best: tuple[tuple[float, float, float], FloatArray, FloatArray] | None = None
        favoured = [np.zeros(n_labels)] if ties == 0 else TIE * np.vstack([-np.eye(n_labels), np.eye(n_labels)])
        for bias in favoured:
            codes = (margins + share[:, None] * bias).argmin(axis=1)
            chosen = one_hot(codes, n_labels)
            unlike_plain = float((codes != self.sample.plain).sum())  # decides ties that cost the same either way
            rank = (max(program.excess(chosen), 0.0), float((program.costs * chosen).sum()), unlike_plain)
            if best is None or rank < best[0]:
                best = rank, bias, chosen
        assert best is not None
        rank, bias, chosen = best
        left = np.clip(program.limits @ program.sums(chosen) - program.bounds, 0.0, None)
        return LabelPoint(
            asked=asked,
            rule=self._rule(asked, solution.multipliers @ program.limits, bias),
            cost=rank[1],
            bound=solution.bound,
            certificate=max(0.0, rank[1] - solution.bound + float(solution.multipliers @ left)),
            ties=ties,
            excess=rank[0],
            multipliers=solution.multipliers,
            offsets=offsets,
        )

    def _rule(self, asked: LabelsAsked, prices: FloatArray, bias: FloatArray) -> LabelRule:
        populations = populations_of(asked.constraints)
        weights = np.zeros((len(self.sample.labels), len(populations), self.sample.groups.n_groups))
        weights[self.targets] = prices.reshape(len(self.targets), len(populations), -1)
        return LabelRule(populations, weights, asked.cost_table, bias)
