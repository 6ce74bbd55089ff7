"""Counts that would give a hidden one away: with several attributes, the groups of each add up to all people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairalm.report.suppress import ROWS, Band


def revealing(counts: Mapping[str, int | None], attributes: Sequence[Sequence[str]]) -> list[str]:
    """Groups whose counts must be hidden too; a count that is hidden already is None.

    `attributes` has the groups of each attribute. Where one has a hidden count, that of the smallest other group is
    hidden with it; else the sum over another attribute minus what is shown would be the hidden count.

    >>> revealing({"F": 60, "M": 43, "old": 100, "young": None}, [["F", "M"], ["old", "young"]])
    ['old']
    """
    names = []
    for groups in attributes if len(attributes) > 1 else ():
        shown = {name: number for name in groups if (number := counts.get(name)) is not None}
        if shown and any(counts.get(name, 0) is None for name in groups):
            names.append(min(shown, key=lambda name: shown[name]))
    return names


def hide_revealing(
    shown: Mapping[str, Mapping[str, Band | None]], attributes: Sequence[Sequence[str]]
) -> dict[str, dict[str, Band | None]]:
    """The bands of all groups, with the rows hidden that would give another count away; a band counts as hidden."""
    kept = {name: dict(counts) for name, counts in shown.items()}
    for row in ROWS:
        sizes = {name: _exact_size([counts[part] for part in row]) for name, counts in shown.items()}
        for name in revealing(sizes, attributes):
            kept[name] |= dict.fromkeys(row)
    return kept


def _exact_size(row: Sequence[Band | None]) -> int | None:
    """People in a row; None if a count of it is hidden or a band."""
    counts = [band[0] for band in row if band is not None and band[0] == band[1]]
    return sum(counts) if len(counts) == len(row) else None
