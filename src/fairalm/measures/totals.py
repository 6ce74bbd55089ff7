"""Sums of weights that are exact, so that neither batches nor the order of the rows change a figure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm.arrays import FloatArray, IntArray

EXPONENTS, LEAST_EXPONENT = 4096, -2048  # of floats, with room
HALF = 2.0**27  # a mantissa of 54 bits in two halves, so that sums of 2^26 halves are exact


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums of positive weights and of their squares (each rounded as a float), one entry per code, as fractions."""

    sums: npt.NDArray[np.object_]
    squares: npt.NDArray[np.object_]
    unit: float  # the largest weight; 1 if there is none

    @classmethod
    def of(cls, weight: FloatArray, codes: IntArray, n_codes: int) -> Totals:
        """Sum the weights of each code 0, 1, ....

        >>> totals = Totals.of(np.array([0.1, 0.2, 1e200]), np.array([0, 0, 1]), 2)
        >>> totals.sums[0] == Fraction(0.1) + Fraction(0.2), float(totals.sums[1])
        (True, 1e+200)
        """
        mantissa, exponent = np.frexp(weight)
        place, of_place = pd.factorize(codes * EXPONENTS + exponent - LEAST_EXPONENT)  # sums of one exponent each
        code, power = np.divmod(of_place, EXPONENTS)
        n_places = len(of_place)

        def by_code(values: FloatArray, times: int) -> npt.NDArray[np.object_]:
            scaled = values * 2.0**54  # whole numbers: the values lie in [1/4, 1)
            high = np.floor(scaled / HALF)
            parts = [np.bincount(place, part, n_places).tolist() for part in (high, scaled - high * HALF)]
            total = np.full(n_codes, Fraction(0), dtype=object)
            for at, exponents, *halves in zip(code.tolist(), (power + LEAST_EXPONENT).tolist(), *parts, strict=True):
                whole = int(halves[0]) * int(HALF) + int(halves[1])
                total[at] += whole * Fraction(2) ** (times * exponents - 54)
            return total

        return cls(by_code(mantissa, 1), by_code(mantissa**2, 2), float(weight.max(initial=0.0)) or 1.0)

    def take(self, entries: Any) -> Totals:
        """Some of the entries."""
        return Totals(self.sums[entries], self.squares[entries], self.unit)

    def by(self, codes: IntArray, n_codes: int) -> Totals:
        """Add up the entries that have the same code."""
        added = np.full((2, n_codes), Fraction(0), dtype=object)
        for total, parts in zip(added, (self.sums, self.squares), strict=True):
            np.add.at(total, codes, parts)
        return Totals(added[0], added[1], self.unit)
