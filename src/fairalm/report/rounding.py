"""Counts that are rounded so that no small one can be computed from what is shown.

A *row* is the people of one group and label; a model is right about some and wrong about the others. If any count of a
page is small, 1 to ``min_cell - 1``, the size of every row and the number of wrong predictions in it are rounded to the
nearest ten (with a larger `min_cell`, to the next multiple of ten that is not below it), and every figure is computed
from these numbers. Whatever is computed from the page, then, only says which ten a number is nearest to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from fairalm.measures import rate_interval
from fairalm.measures.rates import Share, share_of

EXACT = 1  # the unit of counts that are shown as they are
ROWS = (("tp", "fn"), ("tn", "fp"))  # right and wrong predictions where the label is the target, and where it is not
ROUGH = 0.1  # a rate that rounding leaves open by more is given as a range


def is_small(count: int, min_cell: int) -> bool:
    """Whether a count is too small to be shown; 0 may be shown."""
    return 0 < count < min_cell


def has_small(counts: Mapping[str, int], min_cell: int) -> bool:
    """Whether a group has a small count: of a label, or of right or wrong predictions among them."""
    return any(
        is_small(count, min_cell)
        for right, wrong in ROWS
        for count in (counts[right], counts[wrong], counts[right] + counts[wrong])
    )


def unit_for(min_cell: int) -> int:
    """What counts are rounded to.

    >>> unit_for(5), unit_for(10), unit_for(25)
    (10, 10, 30)
    """
    return 10 * -(-min_cell // 10)


def rounded(count: int, unit: int) -> int:
    """The nearest multiple of the unit; half a unit is rounded up.

    >>> rounded(4, 10), rounded(5, 10), rounded(14, 10), rounded(14, 1)
    (0, 10, 10, 14)
    """
    return (count + unit // 2) // unit * unit


def rounded_counts(counts: Mapping[str, int], unit: int) -> dict[str, int]:
    """The confusion counts of a group: rows and wrong predictions are rounded, the right ones are what remains.

    >>> rounded_counts({"tp": 54, "fn": 4, "tn": 5, "fp": 3}, 10)
    {'tp': 60, 'fn': 0, 'tn': 10, 'fp': 0}
    """
    found: dict[str, int] = {}
    for right, wrong in ROWS:
        size, wrongs = rounded(counts[right] + counts[wrong], unit), rounded(counts[wrong], unit)
        found |= {right: size - wrongs, wrong: wrongs}
    return found


def rate_range(counts: Mapping[str, int], rate: str | Share, unit: int) -> dict[str, float]:
    """A rate of rounded counts, the ``least`` and ``most`` that it was before, and the ends of the interval then.

    Empty if nobody is left to have it.

    >>> {name: round(end, 3) for name, end in rate_range({"tp": 40, "fn": 10, "tn": 0, "fp": 0}, "tpr", 10).items()}
    {'value': 0.8, 'least': 0.689, 'most': 0.907, 'low': 0.543, 'high': 0.964}
    """
    above, below = share_of(rate)
    n = sum(counts[name] for name in below)
    if not n:
        return {}
    corners = []
    for first, second in product(*(_extremes(counts, *row, unit) for row in ROWS)):
        table = {**first, **second}
        k, size = (sum(table[name] for name in names) for names in (above, below))
        if size:
            corners.append((k / size, *(float(end) for end in rate_interval(k, size))))
    values, lows, highs = zip(*corners, strict=True)
    value = sum(counts[name] for name in above) / n
    return {"value": value, "least": min(values), "most": max(values), "low": min(lows), "high": max(highs)}


def sum_range(k: int, rest: int, terms: tuple[int, int], unit: int) -> dict[str, float]:
    """The same for a share k / (k + rest) where both are sums of rounded counts; `terms` says of how many.

    >>> {name: round(end, 3) for name, end in sum_range(100, 300, (1, 4), 10).items()}
    {'value': 0.25, 'least': 0.231, 'most': 0.271, 'low': 0.192, 'high': 0.317}
    """
    if k + rest <= 0:
        return {}
    (fewest, most), (least_rest, most_rest) = (
        (max(count - n * (unit // 2), 0), count + n * ((unit - 1) // 2))
        for count, n in zip((k, rest), terms, strict=True)
    )
    corners = [(fewest, fewest + most_rest), (most, max(most + least_rest, 1))]
    (least, low, _), (largest, _, high) = ((own / n, *map(float, rate_interval(own, n))) for own, n in corners)
    return {"value": k / (k + rest), "least": least, "most": largest, "low": low, "high": high}


def is_rough(found: Mapping[str, float]) -> bool:
    """Whether rounding leaves so much of a rate open that only its range is worth showing."""
    return not found or found["most"] - found["least"] > ROUGH


def rounding_moves(counts: Sequence[Mapping[str, int]], rate: str | Share, unit: int, kind: str) -> float:
    """How far rounding can move the largest difference between the groups' rates, or with another kind their ratio."""
    return moves_of([found for own in counts if (found := rate_range(own, rate, unit))], kind)


def moves_of(ranges: Sequence[Mapping[str, float]], kind: str) -> float:
    """The same from the ranges of the groups' rates."""
    far = sorted(max(found["value"] - found["least"], found["most"] - found["value"]) for found in ranges)
    largest = 1.0 if kind == "difference" else max((found["value"] for found in ranges), default=0.0)
    return sum(far[-2:]) / largest if largest else 1.0


def _extremes(counts: Mapping[str, Any], right: str, wrong: str, unit: int) -> list[dict[str, int]]:
    """The rows with the fewest and the most people, and the fewest and the most wrong predictions."""
    (fewest, most), (fewest_wrong, most_wrong) = (
        _before(count, unit) for count in (counts[right] + counts[wrong], counts[wrong])
    )
    return [
        {right: size - wrongs, wrong: wrongs}
        for size in {fewest, most}
        for wrongs in {min(fewest_wrong, size), min(most_wrong, size)}
    ]


def _before(count: int, unit: int) -> tuple[int, int]:
    """The smallest and the largest count that is rounded to this one."""
    return max(count - unit // 2, 0), count + (unit - 1) // 2
