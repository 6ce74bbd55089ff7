"""The frontier: every constraint, tolerance, cost and acceptance rate answered from one set of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairalm._validation import Groups
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.cells import Cells, Compared
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.frontier.joint import Joint, Rates, populations_of
from fairalm.frontier.limits import Asked, Limits, check_comparable, floor_of
from fairalm.frontier.program import Program, Solution
from fairalm.frontier.rule import TIE, Rule
from fairalm.frontier.solver import solve

ROUNDS, SETTLED = 10, 3e-4  # of the correction by observed rates; it has settled when no rate moves by more


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows with known labels and groups, and what models that have not seen them say of them.

    Parameters
    ----------
    joint : Joint
        Out-of-fold probabilities.
    plain : bool array of shape (n,)
        Which rows the plain model predicts as the target, out of fold.
    positive : bool array of shape (n,)
        Which rows have the target label.
    group : int array of shape (n,), or array of shape (n, groups)
        Group codes, or the probability of each group.
    groups : Groups
        The names of the groups.
    weight : array of shape (n,)
        How many people each row stands for.
    unknown, unknown_weight : Joint, array, optional
        The same of further rows whose group is not known: they count for a share of acceptances only.
    """

    joint: Joint
    plain: BoolArray
    positive: BoolArray
    group: IntArray | FloatArray
    groups: Groups
    weight: FloatArray
    unknown: Joint | None = None
    unknown_weight: FloatArray | None = None

    @property
    def n_groups(self) -> int:
        """Groups that have probabilities; those that are compared can be others."""
        return self.groups.n_groups

    @property
    def compared(self) -> Compared | None:
        """With several protected attributes: which groups belong to which compared one."""
        return Compared(self.groups.membership, self.groups.blocks) if self.groups.attributes else None

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many of the compared groups each attribute has; () for one attribute."""
        return self.groups.blocks if self.groups.attributes else ()

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums by label and group, shape (2, groups)."""
        if self.group.ndim == 2:
            return np.stack([(values * (self.positive == label)) @ self.group for label in (False, True)])
        code = self.group + self.n_groups * self.positive
        return np.asarray(np.bincount(code, values, minlength=2 * self.n_groups), dtype=float).reshape(2, -1)

    @cached_property
    def counts(self) -> FloatArray:
        """Sums of the weights by label and group."""
        return self.sums(self.weight)

    def observed(self, constraint: Constraint, chosen: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Observed rates of the predictions, and their sampling variances: shapes (events, groups)."""
        cells = Cells.of(constraint, self.n_groups, self.compared)
        losses = self.sums(self.weight * abs(self.positive - chosen))
        rates, sizes = cells.means(np.vstack([self.counts, losses]))
        squares = cells.means(np.vstack([self.sums(self.weight**2), losses]))[1]
        n = sizes**2 / squares  # Kish's effective size
        smooth = (n * rates + 1) / (n + 2)  # none out of three is not certainty
        return rates, smooth * (1 - smooth) / n


@dataclass(frozen=True, eq=False)
class Point:
    """One point of the frontier.

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
    multipliers, offsets : array, tuple of arrays
        The program's multipliers, and by how much observed rates corrected its own: a start for its neighbours.
    """

    asked: Asked
    rule: Rule
    cost: float
    bound: float
    certificate: float
    ties: float
    excess: float
    multipliers: FloatArray
    offsets: tuple[FloatArray, ...]


class Frontier:
    """Answers what is asked, from the probabilities of one sample.

    Parameters
    ----------
    sample : Sample
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._parts: dict[tuple[str, ...], tuple[FloatArray, FloatArray]] = {}

    def point(self, asked: Asked, near: Point | None = None) -> Point:
        """Solve for one point; `near` is a point that was asked for nearly the same."""
        constraints, sample = asked.constraints, self.sample
        populations = populations_of(constraints)
        self._check(populations)
        for constraint in constraints:
            check_comparable(constraint, sample.groups.compared)
        parts, mass = self._weighted_parts(populations)
        rates = [Rates.of(constraint, populations, mass, sample.compared) for constraint in constraints]
        total = sample.weight.sum()
        target = sample.joint.target
        costs = sample.weight / total * (asked.cost_fp * (1 - target) - asked.cost_fn * target)
        if asked.acceptance is not None:
            parts = np.column_stack([parts, sample.weight / total])
        plain = sample.plain.astype(float)
        floors = [
            floor_of(asked, constraint, own, self._corrected(constraint, own, plain, plain @ parts)[0])
            for constraint, own in zip(constraints, rates, strict=True)
        ]
        offsets = [np.zeros_like(own.constants) for own in rates] if near is None else list(near.offsets)
        start, aim = None if near is None else near.multipliers, asked
        found: tuple[Program, Solution, tuple[FloatArray, ...]] | None = None
        for number in range(ROUNDS):
            program = self._program(aim, rates, offsets, floors, costs, parts)
            solution = solve(program, start)
            start = solution.multipliers
            if not solution.is_feasible:
                if not any(offset.any() for offset in offsets):
                    raise self._infeasible(asked, program)
                offsets = [offset / 2 for offset in offsets]
                continue
            found = program, solution, tuple(offsets)
            sums = solution.chosen @ parts
            wanted = [
                self._corrected(constraint, own, solution.chosen, sums)[1]
                for constraint, own in zip(constraints, rates, strict=True)
            ]
            change = max(abs(new - old).max() for new, old in zip(wanted, offsets, strict=True))
            moved = self._acceptance_of_known(asked, self._rule(asked, populations, program, solution))
            if change < SETTLED and (moved is None or abs(moved - (aim.acceptance or 0.0)) < SETTLED):
                break
            share = 1.0 if number == 0 and near is None else 0.5
            aim = replace(asked, acceptance=moved)
            offsets = [old + share * (new - old) for new, old in zip(wanted, offsets, strict=True)]
        if found is None:
            raise self._infeasible(asked, program)
        return self._point(asked, populations, *found, total)

    def _weighted_parts(self, populations: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
        """What each row adds to the sums, and the sums over all rows, shape (populations, groups)."""
        if populations not in self._parts:
            share = self.sample.weight / self.sample.weight.sum()
            parts = self.sample.joint.parts(populations) * share[:, None]
            self._parts = {populations: (parts, parts.sum(axis=0).reshape(len(populations), -1))}  # keep the last only
        return self._parts[populations]

    def _check(self, populations: Sequence[str]) -> None:
        for population in populations:
            if population not in self.sample.joint.members:
                raise InputError(
                    f"This constraint needs to know who belongs to which group among {_WHO[population]}, and no model"
                    " was fitted for that: name the constraint when you fit, in `constraint` (a list can hold several)."
                )

    def _corrected(
        self, constraint: Constraint, rates: Rates, chosen: FloatArray, sums: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The rates of the predictions, corrected by the observed ones as far as chance allows, and by how much.

        A difference that could be chance is shrunk: by half if it is as large as one standard error.
        """
        estimated = rates.values(sums[: rates.table.shape[2]])
        observed, variance = self.sample.observed(constraint, chosen)
        offset = (observed - estimated) ** 3 / ((observed - estimated) ** 2 + variance)
        return estimated + offset, offset

    def _program(
        self,
        asked: Asked,
        rates: Sequence[Rates],
        offsets: Sequence[FloatArray],
        floors: Sequence[FloatArray],
        costs: FloatArray,
        parts: FloatArray,
    ) -> Program:
        n_sums = rates[0].table.shape[2]
        limits = Limits(n_sums)
        for constraint, own, offset, floor in zip(asked.constraints, rates, offsets, floors, strict=True):
            corrected = replace(own, constants=own.constants + offset)
            limits.compare(constraint, corrected, self.sample.groups.compared, self.sample.blocks)
            limits.raise_to(corrected, floor)
        matrix, bounds = limits.arrays()
        if asked.acceptance is not None:
            both = np.zeros((2, n_sums + 1))
            both[:, -1] = 1, -1
            matrix = np.vstack([np.column_stack([matrix, np.zeros(len(matrix))]), both])
            bounds = np.append(bounds, [asked.acceptance, -asked.acceptance])
        return Program(costs, parts, matrix, bounds)

    def _point(
        self,
        asked: Asked,
        populations: tuple[str, ...],
        program: Program,
        solution: Solution,
        offsets: tuple[FloatArray, ...],
        total: float,
    ) -> Point:
        rule = self._rule(asked, populations, program, solution)
        margins = rule.margins(self.sample.joint)
        ties = float(self.sample.weight[abs(margins) < TIE].sum() / total)
        none_chosen = asked.cost_fn * float(self.sample.weight @ self.sample.joint.target) / total
        best: tuple[tuple[float, float, float], Rule, FloatArray] | None = None
        for threshold in (0.0,) if ties == 0 else (-TIE, TIE):
            chosen = (margins < threshold).astype(float)
            unlike_plain = float(abs(chosen - self.sample.plain).sum())  # decides ties that cost the same either way
            rank = (max(program.excess(chosen), 0.0), float(program.costs @ chosen), unlike_plain)
            if best is None or rank < best[0]:
                best = rank, replace(rule, threshold=threshold), chosen
        assert best is not None
        rank, rule, chosen = best
        left = np.clip(program.limits @ (chosen @ program.parts) - program.bounds, 0.0, None)
        certificate = max(0.0, rank[1] - solution.bound + float(solution.multipliers @ left))
        bound = solution.bound + none_chosen
        cost = rank[1] + none_chosen
        return Point(asked, rule, cost, bound, certificate, ties, rank[0], solution.multipliers, offsets)

    def _rule(self, asked: Asked, populations: tuple[str, ...], program: Program, solution: Solution) -> Rule:
        prices = solution.multipliers @ program.limits
        bias = 0.0 if asked.acceptance is None else float(prices[-1])
        weights = prices[: len(populations) * self.sample.n_groups].reshape(len(populations), -1)
        return Rule(populations, weights, asked.cost_fp, asked.cost_fn, bias)

    def _acceptance_of_known(self, asked: Asked, rule: Rule) -> float | None:
        """The share of rows with a known group to accept, so that with the others it is the one asked for."""
        unknown, weight = self.sample.unknown, self.sample.unknown_weight
        if asked.acceptance is None or unknown is None or weight is None:
            return asked.acceptance
        known = self.sample.weight.sum()
        accepted = asked.acceptance * (known + weight.sum()) - float(weight @ rule.predict(unknown))
        return float(np.clip(accepted / known, 0.0, 1.0))

    def _infeasible(self, asked: Asked, program: Program) -> InputError:
        """The error for limits that contradict each other, with the nearest acceptance rate at which they do not."""
        wanted = asked.acceptance
        if wanted is None:
            return InputError("These limits contradict each other: loosen one of them.")
        limits, bounds = program.limits[:-2], program.bounds[:-2]
        found = []
        for sign in (1.0, -1.0):
            loose = solve(Program(sign * program.parts[:, -1], program.parts, limits, bounds))
            if loose.is_feasible:
                found.append(float(loose.chosen @ program.parts[:, -1]))
        if not found:
            return InputError("These limits contradict each other, whatever the acceptance rate: loosen one of them.")
        nearest = min(found, key=lambda rate: abs(rate - wanted))
        inside = np.ceil(1000 * nearest) if nearest > wanted else np.floor(1000 * nearest)  # rounded, still feasible
        return InputError(
            f"No classifier meets these limits and accepts {100 * wanted:.1f} % of the rows: the nearest"
            f" share at which they can be met is {inside / 10:.1f} %. Pass {{acceptance}}, or loosen a limit.",
            acceptance=float(inside / 1000),
        )


_WHO = {"target": "rows with the target label", "other": "rows without the target label", "everyone": "all rows"}
