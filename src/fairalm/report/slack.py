"""Whether rounding hides enough where several attributes are compared each on its own.

The groups of each attribute add up to the same people, so the rounded numbers of one attribute say something about
those of another. In rare cases, when nearly all numbers were rounded in the same direction, they would say too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.report.rounding import ROWS, is_small, rounded
from fairalm.report.runs import RunRecord

ENOUGH = 3  # values that a small count may still have


def is_loose(run: RunRecord, unit: int, min_cell: int) -> bool:
    """Whether each small count could have at least three values with the same rounded numbers and the same sums.

    Only moves of people from one group of an attribute to another are considered, so it may have more.
    """
    by_people: dict[Any, list[Mapping[str, Any]]] = {}  # models of other seeds are tested on others
    for model in run.models:
        for split, entry in model.splits.items():
            sizes = tuple(sum(own[part] for part in row) for own in entry["groups"].values() for row in ROWS)
            by_people.setdefault((split, sizes), []).append(entry)
    return all(
        _is_loose([[entry["groups"][name] for name in groups] for entry in entries], row, unit, min_cell)
        for entries in by_people.values()
        for groups in entries[0].get("attributes", [])
        for row in ROWS
    )


def _is_loose(models: Sequence[Sequence[Mapping[str, Any]]], row: tuple[str, str], unit: int, min_cell: int) -> bool:
    """The same for the groups of one attribute and one label; `models` has each model's counts of the groups."""
    right, wrong = row
    sizes = [counts[right] + counts[wrong] for counts in models[0]]
    return are_loose(sizes, [[counts[wrong] for counts in groups] for groups in models], unit, min_cell)


def are_loose(sizes: Sequence[int], parts: Sequence[Sequence[int]], unit: int, min_cell: int) -> bool:
    """The same for the sizes of an attribute's groups, and for parts of them such as the wrong predictions.

    >>> are_loose([300, 40, 7], [[150, 20, 3]], 10, 10)
    True
    >>> are_loose([304, 4], [[150, 2]], 10, 10)  # who leaves the 4 must join the 304, which are at most 304
    False
    """
    of_sizes = _n_values(sizes, [max(own) for own in zip(*parts, strict=True)], None, unit)
    for part in parts:
        of_part = _n_values(part, [0] * len(part), sizes, unit)
        for n, size, count in zip(of_part, sizes, part, strict=True):
            if (is_small(count, min_cell) or is_small(size - count, min_cell)) and n < ENOUGH:
                return False
    return all(n >= ENOUGH for n, size in zip(of_sizes, sizes, strict=True) if is_small(size, min_cell))


def _n_values(counts: Sequence[int], least: Sequence[int], most: Sequence[int] | None, unit: int) -> list[int]:
    """How many values each count can have if people move between groups, and no rounded number changes."""
    ranges = [(rounded(count, unit) - unit // 2, rounded(count, unit) + (unit - 1) // 2) for count in counts]
    fewer = [count - max(low, bound) for count, (low, _), bound in zip(counts, ranges, least, strict=True)]
    tops = (
        [high for _, high in ranges] if most is None else [min(r[1], own) for r, own in zip(ranges, most, strict=True)]
    )
    more = [top - count for count, top in zip(counts, tops, strict=True)]
    return [
        1 + min(more[place], sum(fewer) - fewer[place]) + min(fewer[place], sum(more) - more[place])
        for place in range(len(counts))
    ]


def n_balanced(first: Sequence[int], second: Sequence[int], unit: int) -> list[int]:
    """How many values each count can have if no rounded number changes, and the sums of both lists stay the same.

    A count grows as another one of its list falls, or one of the other list grows; not the one at its own place.

    >>> n_balanced([3, 0, 0], [0, 2, 1], 10), n_balanced([1, 5], [4, 2], 10)
    ([5, 5, 5, 5, 5, 5], [4, 2, 3, 4])
    """
    plus, minus = [], []  # room of each count to change the first sum less the second
    for counts, is_first in ((first, True), (second, False)):
        for count in counts:
            low, high = max(rounded(count, unit) - unit // 2, 0), rounded(count, unit) + (unit - 1) // 2
            plus.append(high - count if is_first else count - low)
            minus.append(count - low if is_first else high - count)
    found, k = [], len(first)
    for place in range(2 * k):
        others = [other for other in range(2 * k) if other % k != place % k]
        down, up = sum(minus[other] for other in others), sum(plus[other] for other in others)
        found.append(1 + min(plus[place], down) + min(minus[place], up))
    return found
