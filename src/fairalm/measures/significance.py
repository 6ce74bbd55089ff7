"""Tests of each group's rate against that of a reference group, as employment and lending practice reports them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from scipy.stats import fisher_exact

from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError
from fairalm.measures.intervals import difference_interval, quotient_interval

FISHER, NORMAL = "Fisher's exact test", "z test with effective sizes"


@dataclass(frozen=True)
class Against:
    """A group's rate against the reference group's; what cannot be computed is None.

    Attributes
    ----------
    difference, difference_low, difference_high : float or None
        Its rate minus the reference's, with the interval of :func:`difference_interval`.
    ratio, ratio_low, ratio_high : float or None
        Its rate over the reference's, with the interval of :func:`quotient_interval`; None if the reference's is 0.
    z : float or None
        The difference in standard deviations, from the pooled rate of the two groups.
    p : float or None
        Two-sided p-value of `test`.
    p_holm : float or None
        The same after Holm's correction for the number of groups.
    test : str
        Where `p` comes from: Fisher's exact test or, if the counts are not whole numbers, the normal tail at `z`.
    """

    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    z: float | None = None
    p: float | None = None
    p_holm: float | None = None
    test: str = FISHER

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return asdict(self)


def compare_to_reference(
    k: npt.ArrayLike, n: npt.ArrayLike, reference: int | None = None, *, level: float = 0.95
) -> tuple[int, list[Against | None]]:
    """Test each group's rate, `k` out of `n`, against the reference group's.

    Parameters
    ----------
    k, n : array-like of shape (groups,)
        Counts of rows. Rows with weights have the effective counts of :meth:`GroupRates.effective`, which need not be
        whole numbers: then the p-value is that of `z`, as Fisher's test is one of whole counts.
    reference : int, optional
        Place of the reference group; by default the group with the highest rate, of several the largest. As that
        choice is made by looking at the rates, Holm's correction is then for all pairs of groups and not only for those
        with the reference.
    level : float
        Nominal coverage of each interval; the intervals are not corrected for the number of groups.

    Returns
    -------
    reference : int
        Place of the reference group.
    groups : list of Against or None
        One entry per group; None for the reference itself. An empty group has only None in its entry.

    Examples
    --------
    >>> reference, (women, men) = compare_to_reference([48, 80], [120, 140])
    >>> print(f"{women.ratio:.2f} [{women.ratio_low:.2f}, {women.ratio_high:.2f}], z {women.z:.2f}, p {women.p:.4f}")
    0.70 [0.53, 0.90], z -2.76, p 0.0064
    """
    k, n = _checked(k, n)
    rate = np.divide(k, n, out=np.full(len(k), -1.0), where=n > 0)
    n_groups = int((n > 0).sum())
    n_tests = n_groups - 1
    if reference is None:
        reference = int(np.lexsort((n, rate))[-1])
        n_tests = n_groups * (n_groups - 1) // 2
    elif not 0 <= reference < len(k):
        raise InputError(f"`reference` must be a group's place from 0 to {len(k) - 1}; got {reference}.")
    if n[reference] == 0:
        raise InputError("The reference group has no rows, so nothing can be compared with it: choose another.")
    others = np.flatnonzero((n > 0) & (np.arange(len(k)) != reference))
    is_whole = bool((k == np.round(k)).all() and (n == np.round(n)).all())
    p_values = _p_values(k, n, others, reference, is_whole=is_whole)
    columns = {
        **_named("difference", rate[others] - rate[reference], difference_interval, k, n, others, reference, level),
        "z": _z(k, n, others, reference),
        "p": p_values,
        "p_holm": holm(p_values, n_tests),
    }
    if k[reference] > 0:
        ratio = rate[others] / rate[reference]
        columns |= _named("ratio", ratio, quotient_interval, k, n, others, reference, level)
    test = FISHER if is_whole else NORMAL
    entries: list[Against | None] = [Against(test=test) for _ in k]
    entries[reference] = None
    for place, other in enumerate(others):
        entries[other] = Against(**{name: float(column[place]) for name, column in columns.items()}, test=test)
    return reference, entries


def holm(p: npt.ArrayLike, n_tests: int | None = None) -> FloatArray:
    """P-values after Holm's correction; they are 1 at most.

    With `n_tests`, the p-values given are some of so many: the result is then at most too large.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, float)
    n_tests = len(p) if n_tests is None else n_tests
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * (n_tests - np.arange(len(p)))), 1.0)
    return corrected


def _checked(k: npt.ArrayLike, n: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    k, n = np.asarray(k, float), np.asarray(n, float)
    if k.ndim != 1 or k.shape != n.shape or len(k) == 0:
        raise InputError(f"`k` and `n` must have one count per group; got shapes {k.shape} and {n.shape}.")
    if not (np.isfinite(n).all() and (k >= 0).all() and (k <= n).all()):
        raise InputError(f"Every count must satisfy 0 <= k <= n; got k {k.tolist()} and n {n.tolist()}.")
    return k, n


def _named(
    name: str, value: FloatArray, interval: Any, k: FloatArray, n: FloatArray, others: Any, reference: int, level: float
) -> dict[str, FloatArray]:
    low, high = interval(k[others], n[others], k[reference], n[reference], level)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _z(k: FloatArray, n: FloatArray, others: Any, reference: int) -> FloatArray:
    """Difference of two rates over its standard deviation if both were the pooled rate; 0 where that is 0 or 1."""
    pooled = (k[others] + k[reference]) / (n[others] + n[reference])
    deviation = np.sqrt(pooled * (1 - pooled) * (1 / n[others] + 1 / n[reference]))
    difference = k[others] / n[others] - k[reference] / n[reference]
    return np.asarray(np.divide(difference, deviation, out=np.zeros(len(difference)), where=deviation > 0))


def _p_values(k: FloatArray, n: FloatArray, others: Any, reference: int, *, is_whole: bool) -> FloatArray:
    if not is_whole:
        return np.asarray(2 * ndtr(-abs(_z(k, n, others, reference))))
    counts = np.stack([k, n - k], axis=1).astype(np.int64)
    return np.array([fisher_exact(counts[[other, reference]]).pvalue for other in others], dtype=float)
