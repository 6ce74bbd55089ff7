"""Which counts may be shown, and how exactly.

A *row* is the people of one group and label; some are predicted right, the others wrong. A row of 1 to ``min_cell - 1``
people is hidden, with everything that needs it. In other rows, a part of 1 to ``min_cell - 1`` people is given as a
band, "1 to 9", and so is the other part, so that neither follows by subtraction. Every rate is then computed from these
bands alone, so it reveals no more than they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from fairalm.measures import rate_interval
from fairalm.measures.rates import Share, share_of

Band = tuple[int, int]  # a count: at least, at most
ROWS = (("tp", "fn"), ("tn", "fp"))  # label is the target; it is not


def is_small(count: int, min_cell: int) -> bool:
    """Whether a count is too small to be shown; 0 may be shown."""
    return 0 < count < min_cell


def bands(counts: Mapping[str, int], min_cell: int) -> dict[str, Band | None]:
    """A group's confusion counts as bands; None for those of a row with too few people.

    >>> bands({"tp": 50, "fn": 3, "tn": 5, "fp": 0}, 10)
    {'tp': (44, 52), 'fn': (1, 9), 'tn': None, 'fp': None}
    """
    shown: dict[str, Band | None] = {}
    for right, wrong in ROWS:
        a, b = counts[right], counts[wrong]
        n = a + b
        if is_small(n, min_cell):
            shown |= {right: None, wrong: None}
        elif not is_small(a, min_cell) and not is_small(b, min_cell):
            shown |= {right: (a, a), wrong: (b, b)}
        elif n < 2 * min_cell:  # naming the smaller part would almost give its size
            shown |= {right: (1, n - 1), wrong: (1, n - 1)}
        else:
            few, many = (1, min_cell - 1), (n - min_cell + 1, n - 1)
            shown |= {right: few, wrong: many} if a < b else {right: many, wrong: few}
    return shown


def is_exact(shown: Mapping[str, Band | None]) -> bool:
    """Whether every count is shown as it is."""
    return all(band is not None and band[0] == band[1] for band in shown.values())


def rate_band(shown: Mapping[str, Band | None], rate: str | Share) -> dict[str, Any] | None:
    """The ``least`` and ``most`` that a rate can be within the bands, and the ends of the interval around them.

    None where a row it needs is hidden; empty where nobody is in the cell.

    >>> band = rate_band({"tp": (44, 52), "fn": (1, 9), "tn": None, "fp": None}, "tpr")
    >>> round(band["least"], 3), round(band["most"], 3)
    (0.83, 0.981)
    """
    above, below = share_of(rate)
    if any(shown[name] is None for name in below):
        return None
    corners = []
    for first, second in product(*(_extremes(shown, *row) for row in ROWS)):
        table = {**first, **second}
        k, n = (sum(table[name] for name in names) for names in (above, below))
        if n:
            low, high = rate_interval(k, n)
            corners.append((k / n, float(low), float(high)))
    if not corners:
        return {}
    values, lows, highs = zip(*corners, strict=True)
    return {"least": min(values), "most": max(values), "low": min(lows), "high": max(highs)}


def _extremes(shown: Mapping[str, Band | None], right: str, wrong: str) -> list[dict[str, int]]:
    """The two extremes of a row, whose sum is fixed; zeros if it is hidden, because it is not used then."""
    a, b = shown[right], shown[wrong]
    if a is None or b is None:
        return [{right: 0, wrong: 0}]
    return [{right: a[0], wrong: b[1]}, {right: a[1], wrong: b[0]}]


def shown_warnings(
    warnings: Sequence[str], models: Iterable[Mapping[str, Mapping[str, int]]], min_cell: int
) -> list[str]:
    """The warnings of a training that reveal no small count, and a sentence about the others.

    `models` has for each model that a warning may speak of the confusion counts per group. If a group has too few
    people of a label, no warning is shown, because one may give their number; if a count is shown as a band, none that
    names its group.

    >>> groups = {"F": {"tp": 50, "fn": 3, "tn": 40, "fp": 20}, "M": {"tp": 50, "fn": 30, "tn": 40, "fp": 20}}
    >>> for text in shown_warnings(["The gap is 3 points.", "The TPR of F is 94.3 %."], [groups], 10):
    ...     print(text)
    The gap is 3 points.
    Not shown: 1 warning of the training that may reveal a count of fewer than 10.
    """
    shown = [(name, bands(counts, min_cell)) for groups in models for name, counts in groups.items()]
    is_hidden = any(None in counts.values() for _, counts in shown)
    coarse = {name for name, counts in shown if not is_exact(counts)}
    kept = [text for text in warnings if not is_hidden and not any(name in text for name in coarse)]
    if n_left := len(warnings) - len(kept):
        which = f"{n_left} warning{'s' * (n_left > 1)} of the training"
        kept.append(f"Not shown: {which} that may reveal a count of fewer than {min_cell}.")
    return kept
