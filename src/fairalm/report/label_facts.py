"""The tables of an audit of several labels, as the page shows them: one per attribute, a block per label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.report import audit_words as words
from fairalm.report import label_words
from fairalm.report.audit_rows import (
    NOT_SHOWN,
    cannot_show,
    group_row,
    not_compared,
    outcome_rate,
    range_text,
    share_with_interval,
    shown_measure,
)
from fairalm.report.models import figure

Facts = dict[str, Any]
Table = Mapping[str, Any]


def label_table(tables: Sequence[Table], worst: Table, config: Mapping[str, Any], unit: int, min_cell: int) -> Facts:
    """The table of one attribute: the answer in words, and for each label each group's rate, ratio and test."""
    first, decision = tables[0], config["decision"]
    reference, can_compare = first["reference"], bool(first["judged"])
    own = {**first, "groups": {name: group for name, group in first["groups"].items() if "range" not in group}}
    shown = {**worst, "difference": shown_measure(worst["difference"], unit)}
    answer = (
        label_words.label_answer(tables, shown, decision) + not_compared(first, own)
        if can_compare
        else cannot_show(min_cell)
    )
    return {
        "attribute": first["attribute"],
        "heading": f"{label_words.rate_name(decision).capitalize()}, by {first['attribute']}",
        "rate": label_words.rate_name(decision),
        "lead": label_words.label_lead(tables, worst) if can_compare else NOT_SHOWN,
        "answer": answer,
        "reference": words.reference_sentence(own, min_cell) if can_compare else "",
        "limit": None,
        "unknown": words.unknown_sentence("selection", first, config["rows_are"]),
        "groups": [
            group_row(name, group, name == reference, unit)
            for table in tables
            for name, group in table["groups"].items()
        ],
        "labels": [
            [
                f"{decision} = {table['label']}",
                words.verdict_line(shown_measure(table["difference"], unit), "Largest difference"),
            ]
            for table in tables
        ],
    }


def label_outcomes(audit: Mapping[str, Any], unit: int) -> list[Facts]:
    """For each attribute the wrong labels of each group, for each label the true positive rates, and differences."""
    target, found = audit["config"]["target"], []
    outcomes = {own[0]["attribute"]: own for own in label_words.by_attribute(audit["outcomes"])}
    for worst in audit["labels"]:
        tables = outcomes.get(worst["attribute"], [])
        if not tables:
            continue
        labels = [f"{target} = {table['label']}" for table in tables]
        gaps = [
            [["in the share of wrong labels", "error parity"], worst["gaps"]["error_parity"]],
            *(
                [[f"in the TPR of {label}", "equal opportunity"], _judged(table)]
                for label, table in zip(labels, tables, strict=True)
            ),
        ]
        found.append(
            {
                "attribute": worst["attribute"],
                "head": [["wrong label", "error"]],
                "rows": [[name, _error(own, unit)] for name, own in worst["errors"].items()],
                "labels": labels,
                "caption": "True positive rate, TPR: of those who should have a label, the share who have it.",
                "label_rows": [
                    [name, outcome_rate(group, "tpr", unit)]
                    for table in tables
                    for name, group in table["groups"].items()
                ],
                "gaps": [[text, figure(gap, unit)["text"], gap["verdict"]] for text, gap in gaps],
            }
        )
    return found


def _error(own: Mapping[str, Any], unit: int) -> str | list[str]:
    if "range" in own:
        return range_text(own["range"], unit)
    return "nobody" if own["value"] is None else share_with_interval(own)


def _judged(table: Table) -> Facts:
    return {**table["deo"], "verdict": table["verdicts"]["deo"]}
