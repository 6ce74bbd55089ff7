"""Which groups of an audit may be shown: small counts are hidden, and so are those from which they would follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.report.sums import revealing
from fairalm.report.suppress import Band, bands, is_exact

Table = Mapping[str, Any]


def shown_groups(tables: Sequence[Table], min_cell: int) -> list[dict[str, Band | None]]:
    """For each table, the number chosen in each group, as a band; None where the group is hidden.

    A group of few people is hidden. One with few chosen, or few not chosen, has a band.

    >>> groups = {"a": {"n": 100, "selected": 40}, "b": {"n": 100, "selected": 3}, "c": {"n": 8, "selected": 8}}
    >>> shown_groups([{"columns": ["race"], "groups": groups}], 10)
    [{'a': (40, 40), 'b': (1, 9), 'c': None}]
    """
    found = []
    for table in tables:
        own: dict[str, Band | None] = {}
        for name, group in table["groups"].items():
            own[name] = bands(_row(group["selected"], group["n"] - group["selected"]), min_cell)["tp"]
        sizes = {name: group["n"] for name, group in table["groups"].items()}
        exact = {name for name, band in own.items() if band is not None and band[0] == band[1]}
        own |= dict.fromkeys(_revealing(table, sizes, exact, is_alone=len(tables) == 1))
        found.append(own)
    return found


def exact_groups(tables: Sequence[Table], min_cell: int) -> list[set[str]]:
    """For each table of outcomes, the groups whose confusion counts may all be shown."""
    found = []
    for table in tables:
        exact = {name for name, group in table["groups"].items() if is_exact(bands(group, min_cell))}
        sizes = {name: sum(group[part] for part in ("tp", "fp", "tn", "fn")) for name, group in table["groups"].items()}
        found.append(exact - _revealing(table, sizes, exact, is_alone=len(tables) == 1))
    return found


def shown_count(band: Band) -> str:
    """A count as text: "40" or "1 to 9"."""
    return f"{band[0]:,}" if band[0] == band[1] else f"{band[0]:,} to {band[1]:,}"


def _revealing(table: Table, sizes: Mapping[str, int], exact: set[str], *, is_alone: bool) -> set[str]:
    """Groups to hide as well, so that no line of groups whose sum another table gives has a single hidden one."""
    hidden: set[str] = set()
    if is_alone:
        return hidden  # no other table gives a sum
    while True:
        counts = {name: size if name in exact - hidden else None for name, size in sizes.items()}
        more = {name for line in _lines(table) if _is_single(counts, line) for name in revealing(counts, [line, []])}
        if not more:
            return hidden
        hidden |= more


def _is_single(counts: Mapping[str, int | None], line: Sequence[str]) -> bool:
    return sum(counts[name] is None for name in line) == 1


def _lines(table: Table) -> list[list[str]]:
    """The groups that add up to a sum of another table: all of an attribute, or those of one value of a crossed one."""
    names = list(table["groups"])
    n_columns = len(table.get("columns", ())) or max(name.count(" × ") for name in names) + 1
    lines = [names]
    for place in range(n_columns) if n_columns > 1 else ():
        by_value: dict[str, list[str]] = {}
        for name in names:
            parts = name.split(" × ")
            by_value.setdefault(parts[place] if len(parts) == n_columns else "", []).append(name)
        lines += by_value.values()
    return lines


def _row(chosen: int, others: int) -> dict[str, int]:
    return {"tp": chosen, "fn": others, "tn": 0, "fp": 0}
