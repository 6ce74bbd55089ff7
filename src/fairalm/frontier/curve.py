"""The frontier: every constraint, tolerance, cost and acceptance rate answered from one set of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fairalm.arrays import FloatArray
from fairalm.cells import Cells
from fairalm.constraints import TOO_FEW
from fairalm.exceptions import InputError
from fairalm.frontier.joint import Rates, populations_of
from fairalm.frontier.limits import Asked, Limits, check_comparable, floor_of
from fairalm.frontier.point import Point
from fairalm.frontier.program import Program, Solution
from fairalm.frontier.rows import Doubtful, Rows, Totals
from fairalm.frontier.rule import TIE, Rule
from fairalm.frontier.sample import Sample
from fairalm.frontier.secant import Secant
from fairalm.frontier.solver import solve

ROUNDS, SETTLED = 12, 2e-4  # of the correction by observed rates; it has settled when no rate moves by more
ROWS_WITHIN, WIDTHS = 15, (1e-3, 0.1)  # rows of the smallest cell that predictions turn over, about; least, largest
REACH = 0.05  # margins move by less from one point to the next, as a rule


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is asked, over all rows."""

    asked: Asked
    populations: tuple[str, ...]
    cells: list[Cells]
    rates: list[Rates]
    floors: list[FloatArray]
    rows: Rows
    width: float  # margins over which predictions turn from 1 to 0 while the rates are corrected


class _Found(NamedTuple):
    """The solution of a program that was aimed at, with the rows that it is about and the correction of its rates."""

    aim: Asked
    rows: Rows
    program: Program
    solution: Solution
    offsets: tuple[FloatArray, ...]


class Frontier:
    """Answers what is asked, from the probabilities of one sample.

    Parameters
    ----------
    sample : Sample
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._names, self._blocks = sample.groups.compared, sample.blocks
        self._total = float(sample.weight.sum())
        share = sample.weight / self._total
        self._share = share if np.ptp(sample.weight) else float(share[0])
        self._parts: dict[tuple[str, ...], FloatArray] = {}
        self._costs: dict[tuple[float, float], FloatArray] = {}
        self._last: tuple[Asked, _Problem] | None = None
        self._halves: dict[tuple[tuple[str, ...], float, float], FloatArray] = {}

    def point(self, asked: Asked, near: Point | None = None, guess: Point | None = None, reach: float = REACH) -> Point:
        """Solve for one point.

        `near` is a point that was asked for nearly the same, `guess` what is guessed from several such points, and
        `reach` how far the margins of the rows move from there, about: rows further from a tie are settled as they
        were.
        """
        problem = self._problem(asked)
        if near is None or not near.is_like(asked):
            return self._solved(problem, None, near)
        reach = max(reach, 2 * problem.width)
        doubtful = Doubtful(problem.rows, self._rough(problem), near.rule.weights.ravel(), near.totals, reach)
        if guess is not None:
            doubtful.grow(guess.rule.weights.ravel())
        return self._solved(problem, doubtful, guess or near)

    def _problem(self, asked: Asked) -> _Problem:
        """What is asked, over all rows; kept for the next point, which often differs by its tolerance only."""
        alike = tuple(replace(one, tol=0.0, ratio=one.ratio and 1.0) for one in asked.constraints)
        key = replace(asked, constraints=alike)
        if self._last is None or self._last[0] != key:
            self._last = key, self._new_problem(asked)
        return replace(self._last[1], asked=asked)

    def _new_problem(self, asked: Asked) -> _Problem:
        constraints, sample = asked.constraints, self.sample
        populations = populations_of(constraints)
        for population in populations:
            if population not in sample.joint.members:
                raise InputError(
                    f"This constraint needs to know who belongs to which group among {_WHO[population]}, and no model"
                    " was fitted for that: name the constraint when you fit, in `constraint` (a list can hold several)."
                )
        for constraint in constraints:
            check_comparable(constraint, self._names)
        rows = self._rows(asked, populations)
        mass = self._mass.reshape(len(populations), -1)
        cells = [Cells.of(constraint, sample.n_groups, sample.compared) for constraint in constraints]
        rates = [Rates.of(constraint, populations, mass, sample.compared) for constraint in constraints]
        floors = []
        plain = None if asked.floor is None else rows.totals(sample.plain)
        for constraint, own, its in zip(constraints, rates, cells, strict=True):
            known = own.constants if plain is None else self._corrected(its, own, plain)[0]
            floors.append(floor_of(asked, constraint, own, known))
        return _Problem(asked, populations, cells, rates, floors, rows, self._width(asked, cells))

    def _width(self, asked: Asked, cells: list[Cells]) -> float:
        """So wide that some rows of the smallest cell turn: the rates that are observed then change smoothly."""
        smallest = min(float(self.sample.sizes(own).min()) for own in cells)
        return width_of(smallest) * (asked.cost_fp + asked.cost_fn) / 2

    def _rows(self, asked: Asked, populations: tuple[str, ...]) -> Rows:
        """What each row costs and adds to the sums; kept for the next point."""
        joint, share = self.sample.joint, np.asarray(self._share)
        if populations not in self._parts:
            parts = joint.parts(populations)
            parts *= share if share.ndim == 0 else share[:, None]
            self._parts, self._mass = {populations: parts}, parts.sum(axis=0)
        both = asked.cost_fp, asked.cost_fn
        if both not in self._costs:
            self._costs = {both: share * (asked.cost_fp * (1 - joint.target) - asked.cost_fn * joint.target)}
        parts = self._parts[populations]
        if asked.acceptance is not None:
            parts = np.column_stack([parts, np.broadcast_to(share, len(parts))])
        return Rows.all_of(self.sample, self._costs[both], parts, self._share)

    def _rough(self, problem: _Problem) -> FloatArray:
        """The rows of a problem, in units of their shares and in half the precision."""
        key = problem.populations, problem.asked.cost_fp, problem.asked.cost_fn
        if key not in self._halves:
            both = np.column_stack([problem.rows.costs, problem.rows.parts])
            both /= np.where(self._share, self._share, 1.0)[..., None]
            self._halves = {key: both.astype(np.float32)}
        return self._halves[key]

    def _solved(self, problem: _Problem, doubtful: Doubtful | None, near: Point | None) -> Point:
        asked, rates = problem.asked, problem.rates
        offsets = [np.zeros_like(own.constants) for own in rates] if near is None else list(near.offsets)
        start, aim = None if near is None else near.multipliers, asked
        found: _Found | None = None
        steps = [Secant() for _ in rates]
        for _ in range(ROUNDS):
            now = self._best(problem, doubtful, aim, offsets, start, problem.width)
            start = now.solution.multipliers
            if not now.solution.is_feasible:
                if not any(offset.any() for offset in offsets):
                    raise self._infeasible(asked, now.program)
                offsets = [offset / 2 for offset in offsets]
                continue
            found = now
            totals = now.rows.totals(now.solution.chosen)
            wanted = [self._corrected(*pair, totals)[1] for pair in zip(problem.cells, rates, strict=True)]
            changes = [new - old for new, old in zip(wanted, offsets, strict=True)]
            change = max(abs(own).max() for own in changes)
            moved = self._acceptance_of_known(asked, self._rule(problem, now))
            if change < SETTLED and (moved is None or abs(moved - (aim.acceptance or 0.0)) < SETTLED):
                break
            aim = replace(asked, acceptance=moved)
            offsets = [step.after(*pair) for step, pair in zip(steps, zip(offsets, changes, strict=True), strict=True)]
        if found is None:
            raise self._infeasible(asked, now.program)
        exact = self._best(problem, doubtful, found.aim, found.offsets, found.solution.multipliers)
        return self._point(problem, exact)

    def _best(
        self,
        problem: _Problem,
        doubtful: Doubtful | None,
        aim: Asked,
        offsets: Sequence[FloatArray],
        start: FloatArray | None,
        width: float | None = None,
    ) -> _Found:
        """The solution of the program, over the rows in doubt and whichever else it needs; exact without a width."""
        limits, bounds = self._limits(aim, problem, offsets)
        while True:
            rows = problem.rows if doubtful is None else doubtful.rows
            program = rows.program(limits, bounds)
            solution = solve(program, start, width=width)
            if doubtful is None or rows is problem.rows:
                break
            if not solution.is_feasible:
                doubtful.take_all()
            elif not doubtful.grow(solution.multipliers @ limits, surely=width is None):
                break
        return _Found(aim, rows, program, solution, tuple(offsets))

    def _corrected(self, cells: Cells, rates: Rates, totals: Totals) -> tuple[FloatArray, FloatArray]:
        """The rates of the predictions, corrected by the observed ones, and by how much."""
        estimated = rates.values(totals.sums[: rates.table.shape[2]])
        offset = self.sample.correction(cells, estimated, totals.accepted)
        return estimated + offset, offset

    def _limits(self, asked: Asked, problem: _Problem, offsets: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """The matrix and the bounds of the program."""
        n_sums = problem.rates[0].table.shape[2]
        limits = Limits(n_sums)
        for constraint, own, offset, floor in zip(
            asked.constraints, problem.rates, offsets, problem.floors, strict=True
        ):
            corrected = replace(own, constants=own.constants + offset)
            limits.compare(constraint, corrected, self._names, self._blocks)
            limits.raise_to(corrected, floor)
        matrix, bounds = limits.arrays()
        if asked.acceptance is not None:
            both = np.zeros((2, n_sums + 1))
            both[:, -1] = 1, -1
            matrix = np.vstack([np.column_stack([matrix, np.zeros(len(matrix))]), both])
            bounds = np.append(bounds, [asked.acceptance, -asked.acceptance])
        return matrix, bounds

    def _point(self, problem: _Problem, found: _Found) -> Point:
        asked, rule = problem.asked, self._rule(problem, found)
        _, rows, program, solution, offsets = found
        margins, plain = program.margins(solution.multipliers), self.sample.plain[rows.index]
        ties = float(rows.weight[abs(margins) < TIE * rows.share].sum() / self._total)
        best: tuple[tuple[float, float, float], Rule, FloatArray] | None = None
        for threshold in (0.0,) if ties == 0 else (-TIE, TIE):
            chosen = (margins < threshold * rows.share).astype(float)
            unlike_plain = float(abs(chosen - plain).sum())  # decides ties that cost the same either way
            rank = (max(program.excess(chosen), 0.0), float(program.costs @ chosen), unlike_plain)
            if best is None or rank < best[0]:
                best = rank, replace(rule, threshold=threshold), chosen
        assert best is not None
        rank, rule, chosen = best
        left = np.clip(program.limits @ (chosen @ program.parts) - program.bounds, 0.0, None)
        # what it costs to predict no row as the target is not in the program, and settled rows are not
        beside = rows.settled.cost + asked.cost_fn * float(self.sample.weight @ self.sample.joint.target) / self._total
        return Point(
            asked=asked,
            rule=rule,
            cost=rank[1] + beside,
            bound=solution.bound + beside,
            certificate=max(0.0, rank[1] - solution.bound + float(solution.multipliers @ left)),
            ties=ties,
            excess=rank[0],
            accepted=rows.totals(chosen).accepted,
            multipliers=solution.multipliers,
            offsets=offsets,
            totals=rows.totals(rows.surely_chosen(margins)),
        )

    def _rule(self, problem: _Problem, found: _Found) -> Rule:
        asked, n_populations = problem.asked, len(problem.populations)
        prices = found.solution.multipliers @ found.program.limits
        bias = 0.0 if asked.acceptance is None else float(prices[-1])
        weights = prices[: n_populations * self.sample.n_groups].reshape(n_populations, -1)
        return Rule(problem.populations, weights, asked.cost_fp, asked.cost_fn, bias)

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
            loose = solve(replace(program, costs=sign * program.parts[:, -1], limits=limits, bounds=bounds))
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


def width_of(smallest: float) -> float:
    """Margins over which predictions turn, in costs of a mistake, given the rows of the smallest cell."""
    return float(np.clip(ROWS_WITHIN / max(smallest, TOO_FEW), *WIDTHS))


_WHO = {"target": "rows with the target label", "other": "rows without the target label", "everyone": "all rows"}
