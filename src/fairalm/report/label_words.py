"""What an audit of several labels says in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from fairalm.measures.text import percent
from fairalm.report.audit_words import NO, is_significant, lead, verdict_line

Table = Mapping[str, Any]
TESTS = (
    "p: how often chance alone gives a difference to the reference as large, by Fisher's exact test with Holm's"
    " correction for the number of groups and labels of the table."
)
NO_RATIO = (
    "No ratio is judged against four-fifths: that rule is about a favourable decision, and which label is favourable"
    " is not known here. --positive names one."
)


def by_attribute(tables: Sequence[Any]) -> list[list[Any]]:
    """The tables of the labels, those of one attribute together."""
    return [list(own) for _, own in groupby(tables, key=lambda table: table["attribute"])]


def rate_name(decision: str) -> str:
    """What is compared."""
    return f"share with each label of {decision}"


def label_lead(tables: Sequence[Table], worst: Table) -> str:
    """The first words of the answer about one attribute."""
    if any(is_significant(group) for table in tables for group in table["groups"].values()):
        return NO
    return lead({"groups": {}, "difference": worst["difference"]})


def label_answer(tables: Sequence[Table], worst: Table, decision: str) -> str:
    """Whether each label is as frequent in all groups, and the label with the largest difference."""
    difference = worst["difference"]
    if difference["value"] is None:
        return f"Cannot tell: {difference['note']}."
    table = next(table for table in tables if table["label"] == difference["label"])
    high, low = _farthest(table)
    shares = " and ".join(f"{percent(table['groups'][name]['rate']['value'])} of {name}" for name in (high, low))
    which = f"The label with the largest difference is {decision} = {table['label']}, which {shares} have."
    return f"{label_lead(tables, worst)} {which} {verdict_line(difference, 'Largest difference')}"


def _farthest(table: Table) -> tuple[str, str]:
    """The two groups with the largest difference, of those that are judged; one is the reference if it was named."""
    rates = {name: table["groups"][name]["rate"]["value"] for name in table["judged"]}
    known = {name: rate for name, rate in rates.items() if rate is not None}
    if table["reference_is"] != "given":
        return max(known, key=lambda name: known[name]), min(known, key=lambda name: known[name])
    own = known[table["reference"]]
    other = max(known, key=lambda name: abs(known[name] - own))
    return (other, table["reference"]) if known[other] > own else (table["reference"], other)
