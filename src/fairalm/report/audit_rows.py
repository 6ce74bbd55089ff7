"""The rows of an audit's tables: counts, rates, ratios and tests of a group, as texts and as numbers to draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairalm.measures.text import interval, percent
from fairalm.report import audit_words as words
from fairalm.report.models import figure
from fairalm.report.release import LEFT_OUT
from fairalm.report.rounding import EXACT, is_rough, rate_range

Facts = dict[str, Any]
NOT_SHOWN = "Cannot be shown."


def group_row(name: str, group: Mapping[str, Any], is_reference: bool, unit: int) -> Facts:
    """The row of a group: counts, rate, ratio and test, as texts and as numbers to draw."""
    rate, against, digits = group["rate"], group["against"], 1 if unit == EXACT else 0
    about = "" if unit == EXACT else "about "
    row: Facts = {"name": name, "counts": f"{about}{group['selected']:,} of {group['n']:,}", "ratio": ["", ""]}
    row |= {"rate": {end: rate[end] for end in ("value", "low", "high")}, "test": ["", ""]}
    if "range" in group:
        found = group["range"]
        row["rate"] = {"value": None, "low": found["low"], "high": found["high"]} if found else None
        text = f"{percent(found['least'], 0)} to {percent(found['most'], 0)}" if found else LEFT_OUT
        return {**row, "rate_text": [text, ""], "ratio": ["reference" if is_reference else LEFT_OUT, ""]}
    row["rate_text"] = share_with_interval(rate, digits) if rate["value"] is not None else ["nobody", ""]
    if is_reference:
        row["ratio"] = ["reference", ""]
    elif against and against["ratio"] is not None:
        ends = interval(against["ratio_low"], against["ratio_high"], 2, scale=1)
        row["ratio"], row["test"] = [f"{against['ratio']:.2f}", ends], words.test_words(against)
    else:
        row["ratio"] = ["none", ""]
    return row


def share_with_interval(rate: Mapping[str, Any], digits: int = 1) -> list[str]:
    """A share and its interval as texts."""
    return [percent(rate["value"], digits), interval(rate["low"], rate["high"], digits)]


def not_compared(table: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """What is said of groups that are not compared."""
    if len(own["groups"]) == len(table["groups"]):
        return ""
    return " Groups of whose share rounding leaves over ten points open are not compared here; audit.json has them."


def cannot_show(min_cell: int) -> str:
    """The answer where groups cannot be compared."""
    return f"{NOT_SHOWN} Counts are rounded, because one is under {min_cell}, and the groups are too small to compare."


def shown_measure(measure: Mapping[str, Any], unit: int) -> Facts:
    """A measure as it is shown: of rounded counts in whole points."""
    shown = figure(measure, unit)
    return {**measure, **{end: shown[end] for end in ("value", "low", "high")}, "note": shown["text"]}


def outcome_rate(group: Mapping[str, Any], rate: str, unit: int) -> str | list[str]:
    """A rate with its interval; of rounded counts, the range in which it lies if that is wide."""
    if unit == EXACT:
        own = group["rates"][rate]
        return "nobody" if own["value"] is None else share_with_interval(own)
    return range_text(rate_range(group, rate, unit), unit)


def range_text(found: Mapping[str, float], unit: int) -> str | list[str]:
    """The share of rounded counts with its interval, or if it is rough its range."""
    if not found:
        return f"under {unit // 2}"
    if is_rough(found):
        return f"{percent(found['least'], 0)} to {percent(found['most'], 0)}"
    return share_with_interval(found, 0)
