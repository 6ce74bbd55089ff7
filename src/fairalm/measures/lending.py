"""What lenders report of decisions: bad rate among the accepted, adverse impact ratios, and how both change.

Changes are between two models on the same rows. Their intervals are normal ones: the variance of an estimate is the
sum over rows of the square of what each row adds to it (the delta method, from the influence of each row), and of one
row more that the models decide differently: where they differ on a few rows only, the variance is too small without.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from fairalm.arrays import BoolArray, FloatArray
from fairalm.exceptions import InputError
from fairalm.measures.intervals import quotient_interval, rate_interval
from fairalm.measures.measure import Measure


def acceptance(accepted: Any, *, level: float = 0.95) -> Measure:
    """Share of the rows that are accepted.

    >>> print(acceptance([True, True, True, False]))
    75.0 % [28.4, 97.2]
    """
    (chosen,) = _checked(accepted=accepted)
    return _rate("acceptance", int(chosen.sum()), len(chosen), level)


def bad_rate(bad: Any, accepted: Any, *, level: float = 0.95) -> Measure:
    """Share of bad rows among the accepted ones: for loans, those that are not repaid.

    >>> print(bad_rate([0, 0, 1, 1], [True, True, True, False]).value)
    0.3333333333333333
    """
    wrong, chosen = _checked(bad=bad, accepted=accepted)
    return _rate("bad_rate", int((wrong & chosen).sum()), int(chosen.sum()), level)


def impact_ratio(accepted: Any, group: Any, reference: Any, *, level: float = 0.95) -> Measure:
    """Adverse impact ratio: the share accepted among the rows of a group, over that among the rows of the reference.

    Parameters
    ----------
    accepted : array-like of bool
        Which rows are accepted.
    group, reference : array-like of bool
        Which rows belong to the group, and to the one it is compared with.
    level : float
        Nominal coverage.

    Examples
    --------
    >>> black = np.array([True, True, True, True, False, False, False, False])
    >>> print(impact_ratio([1, 1, 0, 0, 1, 1, 1, 0], black, ~black).value)
    0.6666666666666666
    """
    chosen, own, other = _checked(accepted=accepted, group=group, reference=reference)
    k, n = [int((chosen & rows).sum()) for rows in (own, other)], [int(own.sum()), int(other.sum())]
    if n[0] == 0 or k[1] == 0:
        why = "0 rows in the group" if n[0] == 0 else "nobody of the reference is accepted"
        return Measure("impact_ratio", None, None, None, sum(n), min(n), note=f"undefined ({why})")
    low, high = quotient_interval(k[0], n[0], k[1], n[1], level)
    return Measure("impact_ratio", k[0] / n[0] / (k[1] / n[1]), float(low), float(high), sum(n), min(n))


def acceptance_change(before: Any, after: Any, *, level: float = 0.95) -> Measure:
    """The share of the rows accepted after, minus that accepted before.

    >>> acceptance_change([True, True, False, False], [True, True, True, False]).value
    0.25
    """
    old, new = _checked(before=before, after=after)
    if not len(old):
        return Measure("acceptance_change", None, None, None, 0, 0, note="undefined (0 rows)")
    everyone = np.ones(len(old), dtype=bool)
    adds = _adds(new, everyone) - _adds(old, everyone)
    return _change("acceptance_change", new.mean() - old.mean(), adds, 1 / len(old), old != new, level)


def bad_rate_change(bad: Any, before: Any, after: Any, *, level: float = 0.95) -> Measure:
    """The bad rate among those accepted after, minus that among those accepted before, on the same rows.

    Rows that both accept cancel, but for the sizes of the two sets.

    Parameters
    ----------
    bad : array-like of bool
        Which rows are bad.
    before, after : array-like of bool
        Which rows each of two models accepts.
    level : float
        Nominal coverage.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bad, before = rng.random(5000) < 0.1, rng.random(5000) < 0.8
    >>> after = before ^ (rng.random(5000) < 0.02)
    >>> change = bad_rate_change(bad, before, after)
    >>> print(f"{100 * change.value:+.2f} [{100 * change.low:+.2f}, {100 * change.high:+.2f}] points")
    +0.10 [-0.06, +0.25] points
    """
    wrong, old, new = _checked(bad=bad, before=before, after=after)
    if not old.any() or not new.any():
        return Measure("bad_rate_change", None, None, None, len(wrong), 0, note="undefined (nobody is accepted)")
    adds = _adds(wrong, new) - _adds(wrong, old)
    one_more = 1 / min(old.sum(), new.sum())
    return _change("bad_rate_change", wrong[new].mean() - wrong[old].mean(), adds, one_more, old != new, level)


def impact_ratio_change(before: Any, after: Any, group: Any, reference: Any, *, level: float = 0.95) -> Measure:
    """The adverse impact ratio after, minus that before, on the same rows; parameters as above."""
    old, new, own, other = _checked(before=before, after=after, group=group, reference=reference)
    if not own.any() or not (old & other).any() or not (new & other).any():
        return Measure("impact_ratio_change", None, None, None, len(old), 0, note="undefined (an empty group)")
    adds, ratios = np.zeros(len(old)), []
    for sign, chosen in ((1.0, new), (-1.0, old)):
        base = chosen[other].mean()
        ratio = chosen[own].mean() / base
        adds += sign / base * (_adds(chosen, own) - ratio * _adds(chosen, other))
        ratios.append(ratio)
    one_more = 1 / (own.sum() * min(old[other].mean(), new[other].mean()))
    compared = (own | other) & (old != new)
    return _change("impact_ratio_change", ratios[0] - ratios[1], adds, one_more, compared, level)


def _adds(values: BoolArray, rows: BoolArray) -> FloatArray:
    """What each row adds to the mean of some values over some rows, beyond that mean."""
    return np.asarray(np.where(rows, values - values[rows].mean(), 0.0) / rows.sum())


def _rate(name: str, k: int, n: int, level: float) -> Measure:
    if n == 0:
        return Measure(name, None, None, None, 0, 0, note="undefined (0 rows)")
    low, high = rate_interval(k, n, level)
    return Measure(name, k / n, float(low), float(high), n, n)


def _change(name: str, value: Any, adds: FloatArray, one_more: Any, differ: BoolArray, level: float) -> Measure:
    """A change with its interval; its smallest cell is the rows on which the two models differ."""
    half = float(-ndtri((1 - level) / 2) * np.sqrt((adds**2).sum() + one_more**2))
    return Measure(name, float(value), float(value) - half, float(value) + half, len(adds), int(differ.sum()))


def _checked(**columns: Any) -> list[BoolArray]:
    """Columns of yes and no, of the same length."""
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    first = next(iter(arrays))
    for name, array in arrays.items():
        if array.ndim != 1 or len(array) != len(arrays[first]):
            raise InputError(f"`{name}` has shape {array.shape}, `{first}` {arrays[first].shape}: pass one per row.")
        if not np.isin(array, (0, 1)).all():
            raise InputError(f"`{name}` must be True or False for each row.")
    return [array.astype(bool) for array in arrays.values()]
