"""Group × label counts of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.report.runs import RunRecord


def people_facts(run: RunRecord, *, is_rounded: bool, is_left_out: bool) -> dict[str, Any]:
    """The counts of all the data, of a run to be shown; None where they are left out."""
    data, positive = run.metrics["data"], str(run.metrics["config"]["positive"])
    labels = list(dict.fromkeys(label for counts in data["groups"].values() for label in counts))
    labels.sort(key=lambda label: label != positive)
    groups = [
        {
            "name": name,
            "counts": [None if is_left_out else counts.get(label, 0) for label in labels],
            "total": None if is_left_out else sum(counts.values()),
            "base_rate": _base_rate(data, name, labels) if sum(counts.values()) and not is_left_out else None,
        }
        for name, counts in data["groups"].items()
    ]
    sizes = {part: data[part] for part in ("rows", "train", "test", "dropped") if data.get(part)}
    return {
        "name": data["name"],
        "labels": labels,
        "groups": groups,
        "sizes": {part: f"{'about ' * is_rounded}{number:,.0f}" for part, number in sizes.items()},
    }


def _base_rate(data: Mapping[str, Any], name: str, labels: Sequence[str]) -> float:
    """The share of a group with the first of the labels, by weight if rows have weights."""
    sums = data.get("weights", data["groups"])[name]
    return float(sums.get(labels[0], 0) / sum(sums.values()))
