"""What an audit counts of each group, and the counts that may be shown.

The people of an audit are counted in cells that do not overlap: the groups of the crossed table, and for each value of
a column those who are in no crossed group, because another value of theirs is unknown. These counts are rounded, and
all others are their sums; so a crossed table and the tables of its columns say no more together
than the rounded cells do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairalm.report.rounding import is_small, rounded
from fairalm.report.slack import ENOUGH, are_loose, n_balanced

Audit = Mapping[str, Any]
Table = Mapping[str, Any]
Counts = dict[
    str, int
]  # of a group: people "n", selected "k", above the median "s", above a decile "d1" to "d9"; where
# outcomes are known, also those with the outcome "n1" and without it "n0", and wrong decisions among them "w1", "w0".
# Of several labels, "k:A" have label A, "n1:A" should have it, "w1:A" of them have another, "w0:A" have it wrongly.
Groups = dict[str, Counts]
PARTS = (("n", "k"), ("n", "s"), ("n1", "w1"), ("n0", "w0"))
JOIN = " × "


def attribute_tables(audit: Audit) -> Sequence[Table]:
    """A table for each attribute, with its groups and columns."""
    tables: Sequence[Table] = audit["selection"] or audit["scoring"]
    return tables


def counted(audit: Audit, name: str) -> Groups:
    """All that is counted of each group of an attribute."""
    found: Groups = {}
    for what, part in (("selection", "k"), ("scoring", "s")):
        for table, group, own in _groups(audit[what], name):
            found.setdefault(group, {}).update({"n": own["n"], key(part, table): own["selected"]})
    for table, group, own in _groups(audit["outcomes"], name):
        counts = {"n1": own["tp"] + own["fn"], "w1": own["fn"], "w0": own["fp"]}
        counts |= {} if "label" in table else {"n0": own["fp"] + own["tn"]}
        found[group] |= {key(what, table): count for what, count in counts.items()}
    for table in (table for table in audit["thresholds"] if table["attribute"] == name):
        for point in table["points"]:
            for group, own in point["groups"].items():
                found[group][f"d{point['decile']}"] = own["selection"]["k"]
    return found


def key(what: str, table: Table) -> str:
    """The name of a count of a table, which may be about one of several labels."""
    return f"{what}:{table['label']}" if "label" in table else what


def label_keys(own: Counts, what: str) -> list[str]:
    """The names of a count for each of several labels."""
    return [name for name in own if name.startswith(f"{what}:")]


def unknown_counts(audit: Audit, name: str) -> Counts:
    """Those whose value of an attribute is unknown."""
    found: Counts = {}
    for table in attribute_tables(audit):
        if table["attribute"] == name:
            found |= {"n": table["unknown"]["n"], key("k", table): table["unknown"]["selected"]}
    return found


def has_small(own: Counts, min_cell: int) -> bool:
    """Whether a group has a small count: people, selected, not selected, or the same of an outcome."""
    return any(
        is_small(count, min_cell)
        for size, part in _parts(own)
        if size in own
        for count in (own[size], own.get(part, 0), own[size] - own.get(part, 0))
    )


def can_match(crossed: Table, alone: Mapping[str, Groups]) -> bool:
    """Whether each crossed group belongs to one group of each column; `alone` has the groups of each column."""
    return all(
        (values := _values(crossed, group)) and all(values[column] in groups for column, groups in alone.items())
        for group in crossed["groups"]
    )


def not_crossed(crossed: Table, groups: Groups, alone: Mapping[str, Groups]) -> dict[str, Groups]:
    """For each group of each column, the counts of those who are in no crossed group."""
    found = {column: {name: dict(own) for name, own in each.items()} for column, each in alone.items()}
    for group, own in groups.items():
        for column, value in _values(crossed, group).items():
            rest = found.get(column, {}).get(value, {})
            rest.update({what: count - own[what] for what, count in rest.items()})
    return found


def rounded_group(own: Counts, unit: int) -> Counts:
    """Each count rounded on its own; where outcomes are known, people and selected are sums."""
    return _derived({what: rounded(max(count, 0), unit) for what, count in own.items()})


def sums(crossed: Table, shown: Groups, rests: Mapping[str, Groups], unit: int) -> dict[str, Groups]:
    """The groups of each column as sums of the rounded counts of the crossed groups and of the rest."""
    found = {column: {name: rounded_group(own, unit) for name, own in rest.items()} for column, rest in rests.items()}
    for group, own in shown.items():
        for column, value in _values(crossed, group).items():
            if column in found:
                total = found[column][value]
                total.update({what: count + own[what] for what, count in total.items()})
    return found


def is_loose(groups: Sequence[Counts], unit: int, min_cell: int) -> bool:
    """Whether rounding hides the small counts of one column from the sums over the groups of another."""
    return all(
        are_loose([own[size] for own in groups], [[own[part] for own in groups]], unit, min_cell)
        for size, part in _parts(groups[0])
        if all(size in own and part in own for own in groups)
    )


def are_wrongs_loose(own: Counts, unit: int, min_cell: int) -> bool:
    """Whether rounding hides the small numbers of wrong labels of a group, though they have one sum.

    Those who should have one label and have another are also those who have one and should have another.
    """
    missed, others = ([own[name] for name in label_keys(own, what)] for what in ("w1", "w0"))
    values = n_balanced(missed, others, unit)
    return all(n >= ENOUGH for n, count in zip(values, (*missed, *others), strict=True) if is_small(count, min_cell))


def _parts(own: Counts) -> list[tuple[str, str]]:
    """Sizes and the parts of them that are counted."""
    wrong = [(name.replace("w1", "n1", 1), name) for name in label_keys(own, "w1")]
    return [*PARTS, *(("n", name) for what in ("k", "w0") for name in label_keys(own, what)), *wrong]


def _groups(tables: Sequence[Table], name: str) -> Iterator[tuple[Table, str, Mapping[str, Any]]]:
    for table in tables:
        if table["attribute"] == name:
            yield from ((table, group, own) for group, own in table["groups"].items())


def _values(crossed: Table, group: str) -> dict[str, str]:
    """The value of each column in a crossed group; empty if its name does not say."""
    parts = group.split(JOIN)
    return dict(zip(crossed["columns"], parts, strict=True)) if len(parts) == len(crossed["columns"]) else {}


def _derived(own: Counts) -> Counts:
    if "n1" in own:
        own |= {"n": own["n1"] + own["n0"], "k": own["n1"] - own["w1"] + own["w0"]}
    elif with_outcome := label_keys(own, "n1"):
        own["n"] = sum(own[name] for name in with_outcome)
        for name in label_keys(own, "k"):
            n1, w1, w0 = (own[name.replace("k", what, 1)] for what in ("n1", "w1", "w0"))
            own[name] = min(n1 - w1 + w0, own["n"])
    elif labels := label_keys(own, "k"):
        own["n"] = sum(own[name] for name in labels)
    return {what: min(count, own["n"]) if what[0] in "sd" else count for what, count in own.items()}
