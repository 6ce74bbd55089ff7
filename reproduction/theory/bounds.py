"""The bounds as the papers print them: the lemma's, the theorem's two cases', and exponentiated gradient's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reproduction.types import FloatArray


class Bound(NamedTuple):
    """A step size and the nu it is claimed to reach, one pair per T."""

    eta: FloatArray
    nu: FloatArray


def log_term(rounds: npt.ArrayLike) -> FloatArray:
    """The sum log T + 1, which is at least 1 + 1/2 + ... + 1/T."""
    return np.asarray(np.log(rounds) + 1.0)


def first_case(rounds: npt.ArrayLike, largest: float, bound: float = 1.0) -> Bound:
    """|lambda| <= B: eta = sqrt(B² T / (L² (log T + 1))), nu = 2 sqrt(B² L² (log T + 1) / T). Appendix, step 3.

    >>> first_case([1, 100], largest=0.5).nu.round(3)
    array([1.   , 0.237])
    """
    root = np.sqrt(log_term(rounds) / np.asarray(rounds))
    return Bound(bound / largest / root, 2.0 * bound * largest * root)


def second_case(rounds: npt.ArrayLike, largest: float, eta: npt.ArrayLike | None = None) -> Bound:
    """The step eta = 1/T, or another: nu = eta L² ((log T + 1)² + (log T + 1) + (log T + 1) / T). Appendix, step 4.

    >>> second_case([1, 100], largest=0.5).nu.round(3)
    array([0.75 , 0.093])
    """
    T, log = np.asarray(rounds, dtype=float), log_term(rounds)
    step = 1.0 / T if eta is None else np.asarray(eta, dtype=float)
    return Bound(step, step * largest**2 * (log**2 + log + log / T))


def exponentiated_gradient(rounds: npt.ArrayLike, largest: float, bound: float = 1.0) -> Bound:
    """The step eta = sqrt(log 3 / T) / L, nu = 2 B L sqrt(log 3 / T). Agarwal et al. 2018, theorem 1.

    >>> exponentiated_gradient([1, 100], largest=0.5).nu.round(3)
    array([1.048, 0.105])
    """
    root = np.sqrt(np.log(3.0) / np.asarray(rounds))
    return Bound(root / largest, 2.0 * bound * largest * root)
