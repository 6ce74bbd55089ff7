"""What a check of an inequality says: whether it held, how close it came, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from fairalm._validation import FloatArray, IntArray

ROUNDING = 1e-11  # what sums of thousands of terms may be off by


class Case(NamedTuple):
    """Measured values and their bounds on one family, one pair per T."""

    where: str
    rounds: IntArray
    measured: FloatArray
    bound: FloatArray


@dataclass(frozen=True)
class Check:
    """A claim, and the place where it came closest to failing, or failed most.

    Attributes
    ----------
    name : str
        The claim in a few words.
    formula : str
        What was compared.
    holds : bool
        Whether it held everywhere.
    measured, bound : float
        The two sides at the worst place.
    where : str
        The worst place.
    tried : int
        How many pairs were compared.
    """

    name: str
    formula: str
    holds: bool
    measured: float
    bound: float
    where: str
    tried: int

    @property
    def ratio(self) -> float:
        """Measured over bound: above 1 the claim fails."""
        return self.measured / self.bound if self.bound > 0 else np.inf * self.measured

    @property
    def slack(self) -> float:
        """Bound less measured."""
        return self.bound - self.measured

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "ratio": self.ratio, "slack": self.slack}


def check(name: str, formula: str, cases: Iterable[Case]) -> Check:
    """Compare measured values with their bounds and keep the worst pair.

    Examples
    --------
    >>> case = Case("a game", np.array([1, 2]), np.array([0.1, 0.3]), np.array([0.2, 0.2]))
    >>> found = check("small", "x <= 0.2", [case])
    >>> found.holds, round(found.ratio, 3), found.where
    (False, 1.5, 'a game, T = 2')
    """
    holds, tried, worst = True, 0, None
    for case in cases:
        ratio = np.where(case.measured > 0, np.inf, 0.0)  # of a bound of 0
        np.divide(case.measured, case.bound, out=ratio, where=case.bound > 0)
        holds &= bool((case.measured <= case.bound + ROUNDING).all())
        tried += len(ratio)
        i = int(ratio.argmax())
        if worst is None or ratio[i] > worst[0]:
            worst = (float(ratio[i]), float(case.measured[i]), float(case.bound[i]), _place(case, i))
    if worst is None:
        raise ValueError(f"There was no case to check {name!r} on.")
    return Check(name, formula, holds, *worst[1:], tried)


def same(name: str, formula: str, pairs: Iterable[tuple[str, Any, Any]], *, within: float = 1e-9) -> Check:
    """Check that pairs of values, or of arrays, are equal up to `within`.

    >>> same("equal", "x = y", [("here", 1.0, 1.0)]).holds
    True
    """
    cases = []
    for where, left, right in pairs:
        difference = np.array([abs(np.asarray(left) - np.asarray(right)).max()])
        cases.append(Case(where, np.zeros(1, dtype=np.int64), difference, np.array([within])))
    return check(name, formula, cases)


def _place(case: Case, i: int) -> str:
    return f"{case.where}, T = {case.rounds[i]}" if case.rounds[i] else case.where
