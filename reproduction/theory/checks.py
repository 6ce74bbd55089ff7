"""What a check of an inequality says: whether it held, how close it came, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from reproduction.types import FloatArray, IntArray

ROUNDING = 1e-11  # what sums of thousands of terms may be off by


class Case(NamedTuple):
    """Measured values and their bounds on one family, one pair per T; a T of 0 is not shown."""

    where: str
    rounds: IntArray
    measured: FloatArray
    bound: FloatArray


@dataclass(frozen=True)
class Check:
    """A claim, and the place where it came closest to failing, or failed most."""

    name: str
    formula: str
    holds: bool  # everywhere
    measured: float  # at the worst place, as the next two
    bound: float
    where: str
    tried: int  # pairs compared

    @property
    def ratio(self) -> float:
        """Measured over bound: above 1 the claim fails."""
        return self.measured / self.bound if self.bound > 0 else np.inf * self.measured

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "ratio": self.ratio, "slack": self.bound - self.measured}


def check(name: str, formula: str, cases: Iterable[Case]) -> Check:
    """Compare measured values with their bounds and keep the worst pair.

    >>> case = Case("a game", np.array([1, 2]), np.array([0.1, 0.3]), np.array([0.2, 0.2]))
    >>> result = check("small", "x <= 0.2", [case])
    >>> result.holds, round(result.ratio, 3), result.where
    (False, 1.5, 'a game, T = 2')
    """
    holds, tried, worst, largest = True, 0, (0.0, 0.0, ""), -np.inf
    for case in cases:
        ratio = np.where(case.measured > 0, np.inf, 0.0)  # for a bound of 0
        np.divide(case.measured, case.bound, out=ratio, where=case.bound > 0)
        holds &= bool((case.measured <= case.bound + ROUNDING).all())
        tried += len(ratio)
        i = int(ratio.argmax())
        if ratio[i] > largest:
            place = f"{case.where}, T = {case.rounds[i]}" if case.rounds[i] else case.where
            largest, worst = float(ratio[i]), (float(case.measured[i]), float(case.bound[i]), place)
    return Check(name, formula, holds, *worst, tried)


def same(name: str, formula: str, pairs: Iterable[tuple[str, Any, Any]], *, within: float = 1e-9) -> Check:
    """Check that pairs of values, or of arrays, are equal up to `within`.

    >>> same("equal", "x = y", [("here", 1.0, 1.0)]).holds
    True
    """
    none, limit = np.zeros(1, dtype=np.int64), np.array([within])
    differences = ((where, np.array([abs(np.asarray(a) - np.asarray(b)).max()])) for where, a, b in pairs)
    return check(name, formula, (Case(where, none, difference, limit) for where, difference in differences))
