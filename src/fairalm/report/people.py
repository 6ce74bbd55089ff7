"""Group × label counts of the data, as far as they may be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.report.runs import RunRecord
from fairalm.report.sums import revealing
from fairalm.report.suppress import is_small


def people_facts(run: RunRecord, min_cell: int) -> dict[str, Any]:
    """The counts of all the data; a small count is hidden with the sums from which it would follow."""
    data, positive = run.metrics["data"], str(run.metrics["config"]["positive"])
    labels = list(dict.fromkeys(label for counts in data["groups"].values() for label in counts))
    labels.sort(key=lambda label: label != positive)
    tested = run.models[0].splits["test"]["groups"]
    attributes = run.models[0].splits["test"].get("attributes", [])
    groups, has_hidden = [], False
    counted = {}
    for name, counts in data["groups"].items():
        cells = [counts.get(label, 0) for label in labels]
        test = tested.get(name, dict.fromkeys(("tp", "fn", "fp", "tn"), 0))
        train = [cells[0] - test["tp"] - test["fn"], sum(cells[1:]) - test["fp"] - test["tn"]]
        hidden = [any(is_small(n, min_cell) for n in pair) for pair in zip(cells, train, strict=False)]
        counted[name] = (cells, hidden)
    for place in range(len(labels)):
        sizes = {name: None if hidden[place] else cells[place] for name, (cells, hidden) in counted.items()}
        for name in revealing(sizes, attributes):
            counted[name][1][place] = True
    for name, (cells, hidden) in counted.items():
        has_hidden |= any(hidden)
        total = sum(cells)
        groups.append(
            {
                "name": name,
                "counts": [None if hide else count for hide, count in zip(hidden, cells, strict=True)],
                "total": None if any(hidden) else total,
                "base_rate": None if any(hidden) or not total else _base_rate(data, name, labels),
            }
        )
    sizes = {part: data[part] for part in ("rows", "train", "test", "dropped") if data.get(part)}
    if has_hidden:
        sizes = {part: float(f"{number:.1e}") for part, number in sizes.items()}
    return {
        "name": data["name"],
        "labels": labels,
        "groups": groups,
        "sizes": {part: f"{'about ' * has_hidden}{number:,.0f}" for part, number in sizes.items()},
        "has_hidden": has_hidden,
    }


def _base_rate(data: Mapping[str, Any], name: str, labels: Sequence[str]) -> float:
    """The share of a group with the first of the labels, by weight if rows have weights."""
    sums = data.get("weights", data["groups"])[name]
    return float(sums.get(labels[0], 0) / sum(sums.values()))
