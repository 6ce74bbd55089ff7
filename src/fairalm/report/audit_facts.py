"""What the page of an audit may say: words and figures, with small counts suppressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.measures import MEASURES
from fairalm.report import audit_words as words
from fairalm.report.audit_release import AuditRelease, release_audit
from fairalm.report.audit_rows import NOT_SHOWN, cannot_show, group_row, not_compared, outcome_rate, shown_measure
from fairalm.report.label_facts import label_outcomes, label_table
from fairalm.report.label_words import NO_RATIO, by_attribute
from fairalm.report.models import figure
from fairalm.report.rounding import EXACT
from fairalm.report.words import weight_sentence

Facts = dict[str, Any]
FINE = 10  # times the smallest count that is shown: of a smaller group, shares at thresholds are too rough to show
OUTCOME_RATES = {  # of decisions whose outcomes are known, in words
    "tpr": ("selected, of those with {label}", "true positive rate, TPR"),
    "fpr": ("selected, of the others", "false positive rate, FPR"),
    "ppv": ("with {label}, of those selected", "precision, PPV"),
    "error": ("wrong decisions", "error"),
}
GAPS = {  # differences of these between groups, in words
    "ddp": "in the share selected",
    "deo": "in the share selected of those with {label}",
    "fpr_gap": "in the share selected of the others",
    "equalized_odds": "the larger of these two",
    "error_parity": "in the share of wrong decisions",
    "predictive_parity": "in the share with {label} of those selected",
}


def audit_facts(audit: Mapping[str, Any], min_cell: int) -> Facts:
    """The facts of the page from the content of an audit.json; no count under `min_cell` can be computed from them."""
    shown = release_audit(audit, min_cell)
    audit, unit = shown.audit, shown.unit
    config, tables = audit["config"], []
    if audit["labels"]:
        several = zip(by_attribute(audit["selection"]), audit["labels"], strict=True)
        tables += [label_table(own, worst, config, unit, min_cell) for own, worst in several]
    for what in ("scoring",) if audit["labels"] else ("selection", "scoring"):
        tables += [table_facts(what, table, config, unit, min_cell) for table in audit[what]]
    return {
        "title": words.question(audit),
        "min_cell": min_cell,
        "rounded_to": unit if shown.is_rounded else None,
        "about": _about(audit, is_rounded=shown.is_rounded),
        "lead": _lead([table for table in tables if table["rate"] == tables[0]["rate"]]),
        "tables": tables,
        "outcomes": label_outcomes(audit, unit) if audit["labels"] else _outcomes(audit, unit),
        "thresholds": [_thresholds(table, min_cell) for table in audit["thresholds"]],
        "method": _method(audit),
        "limits": _limits(audit),
        "privacy": _privacy(shown, config["rows_are"], min_cell),
        "done": _done(audit),
    }


def table_facts(
    what: str, table: Mapping[str, Any], config: Mapping[str, Any], unit: int = EXACT, min_cell: int = 1
) -> Facts:
    """One table: the answer in words, and each group's rate, ratio and test; its counts are rounded to `unit`."""
    reference = table["reference"]
    own = {**table, "groups": {name: group for name, group in table["groups"].items() if "range" not in group}}
    can_compare = len(own["groups"]) > 1
    line = " The dashed line is at four-fifths of its rate." if can_compare else ""
    said = words.reference_sentence(own if can_compare else table, min_cell) + line if reference is not None else ""
    return {
        "attribute": table["attribute"],
        "heading": f"{words.RATES[what][1].capitalize()}, by {table['attribute']}",
        "rate": words.RATES[what][1],
        "lead": words.lead(own) if can_compare else NOT_SHOWN,
        "answer": words.answer(what, own) + not_compared(table, own) if can_compare else cannot_show(min_cell),
        "reference": said,
        "limit": table["ratio"]["limit"] * table["groups"][reference]["rate"]["value"] if can_compare else None,
        "unknown": words.unknown_sentence(what, table, config["rows_are"]),
        "verdicts": _verdicts(table, unit),
        "groups": [group_row(name, group, name == reference, unit) for name, group in table["groups"].items()],
    }


def _lead(tables: Sequence[Facts]) -> str:
    """The answer in one sentence, or in one for each kind of answer if there are several tables."""
    if len(tables) == 1:
        return str(tables[0]["answer"])
    by_lead: dict[str, list[str]] = {}
    for table in tables:
        by_lead.setdefault(table["lead"], []).append(table["attribute"])
    return " ".join(f"{first.rstrip('.')} by {words.listed(by_lead[first])}." for first in sorted(by_lead, key=_weight))


def _weight(first: str) -> int:
    return 0 if first == words.NO else 1


def _verdicts(table: Mapping[str, Any], unit: int) -> list[str]:
    """The smallest ratio and the largest difference of all groups that are compared."""
    kinds = (("ratio", "Smallest ratio"), ("difference", "Largest difference"))
    return [words.verdict_line(shown_measure(table[name], unit), kind) for name, kind in kinds]


def _outcomes(audit: Mapping[str, Any], unit: int) -> list[Facts]:
    """Rates of decisions whose outcomes are known."""
    config = audit["config"]
    label = f"{config['target']} = {config['positive']}"
    head = [[name.replace("{label}", label), field] for name, field in OUTCOME_RATES.values()]
    found = []
    for table in audit["outcomes"]:
        rows = [
            [name, *(outcome_rate(group, rate, unit) for rate in OUTCOME_RATES)]
            for name, group in table["groups"].items()
        ]
        gaps = [
            [_gap_words(name, label), figure(table[name], unit)["text"], verdict]
            for name, verdict in table["verdicts"].items()
        ]
        found.append({"attribute": table["attribute"], "head": head, "rows": rows, "gaps": gaps})
    return found


def _gap_words(name: str, label: str) -> list[str]:
    return [GAPS.get(name, MEASURES[name].title).replace("{label}", label), MEASURES[name].title]


def _thresholds(table: Mapping[str, Any], min_cell: int) -> Facts:
    """Each group's share above each decile, so rounded that it does not tell fewer than `min_cell` people apart."""
    names = list(table["points"][0]["groups"])

    def coarse(rate: Mapping[str, Any]) -> float | None:
        unit = max(0.01, min_cell / rate["n"]) if rate["n"] else 1.0
        return None if rate["n"] < FINE * min_cell else min(1.0, unit * round(rate["value"] / unit))

    return {
        "attribute": table["attribute"],
        "groups": names,
        "points": [
            {
                "decile": point["decile"],
                "threshold": f"{point['threshold']:.4g}",
                "shares": [coarse(point["groups"][name]["selection"]) for name in names],
            }
            for point in table["points"]
        ],
    }


def _about(audit: Mapping[str, Any], *, is_rounded: bool) -> str:
    """How many rows, of which file, and what is counted."""
    config, rows = audit["config"], audit["data"]["rows"]
    number = f"{'About ' * is_rounded}{rows:,}"
    sentences = [f"{number} {config['rows_are']} in {audit['data']['name']}."]
    if config["decision"]:
        sentences.append(words.selected_sentence(config))
    if config["score"]:
        sentences.append(f"The score is {config['score']}.")
    return " ".join(sentences)


def _method(audit: Mapping[str, Any]) -> list[str]:
    config = audit["config"]
    sentences = [
        "Each rate has a 95 % interval: 95 of 100 such intervals contain the rate of everybody that these"
        f" {config['rows_are']} were drawn from.",
        NO_RATIO if audit["labels"] else words.FOUR_FIFTHS,
        "A ratio or a difference is met or not met if its whole interval is on one side of the limit; otherwise the"
        " data cannot tell. Verdicts are about groups of at least 2 % of the rows; smaller ones are in the tables. (The"
        " Uniform Guidelines, 29 CFR 1607.15(A)(2)(a), ask for determinations about groups of at least 2 % of the labor"
        " force.)",
        words.TOLERANCE,
        "Standard deviations are those of the difference of two shares, from the pooled share of both groups. Chance is"
        " the p-value of Fisher's exact test, or with weights that of the standard deviations, after Holm's correction"
        f" for the number of groups {'and labels ' * bool(audit['labels'])}of the table.",
    ]
    if config["score"]:
        sentences.append(
            "The median is that of all scores, also of those whose group is unknown; a score that equals it is not"
            " above it."
        )
    if config["weight"]:
        sentences.append(weight_sentence(config["weight"]))
    return sentences


def _limits(audit: Mapping[str, Any]) -> list[str]:
    sentences = [
        "Rates are compared as they are: whether groups differ in what the decision may rest on is not looked at.",
        "A difference is not yet discrimination, and no difference does not show that there is none.",
    ]
    if not audit["outcomes"]:
        sentences.append("The true outcomes are not known here, so nothing is said about mistakes.")
    if any(table["reference_is"] == "highest rate" for what in ("selection", "scoring") for table in audit[what]):
        sentences.append(
            "The reference is the group with the highest rate of those with at least 2 % of the rows, chosen by these"
            " data; the correction of the tests is for every pair of groups for that reason."
        )
    return sentences


def _privacy(shown: AuditRelease, rows: str, min_cell: int) -> list[str]:
    """What was done so that no small count can be computed from the page; nothing if no count is small."""
    if not shown.is_rounded:
        return []
    has_outcomes, whom = bool(shown.audit["outcomes"]), f"of {rows} in each group"
    if shown.audit["labels"]:
        each = ", by the label they should have, and of wrong labels" if has_outcomes else " with each label"
        whom += f"{each} is rounded to the nearest {shown.unit}, the size of a group is their sum,"
    else:
        each = ", of each outcome and of wrong decisions among them," if has_outcomes else " and of those selected"
        whom += f"{each} is rounded to the nearest {shown.unit},"
    return [
        f"Some counts of these {rows} are under {min_cell}. So that they cannot be computed from this page, the number"
        f" {whom} and every figure here is computed from the rounded numbers. Where attributes are crossed, the crossed"
        " groups are rounded, and those of each attribute are their sums. A 0 may stand for up to"
        f" {shown.unit // 2 - 1}. Intervals allow for the rounding.",
        "Left out: the fingerprint of the data. audit.json and tables.csv have the exact figures: keep them to"
        " yourself.",
        *shown.left_out,
    ]


def _done(audit: Mapping[str, Any]) -> list[list[str]]:
    config, versions = audit["config"], audit["versions"]
    shown = {
        "command": audit["command"],
        "protected": ", ".join(config["protected"]),
        "data": audit["data"]["fingerprint"],
        "made with": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
    return [[name, text] for name, text in shown.items() if text]


def noscript(facts: Mapping[str, Any]) -> str:
    """The answers as text."""
    return " ".join([facts["about"], *(table["answer"] for table in facts["tables"])])


def drawn(facts: Mapping[str, Any], most_lines: int) -> Sequence[Mapping[str, Any]]:
    """The tables of thresholds whose lines can be told apart in a chart."""
    return [table for table in facts["thresholds"] if len(table["groups"]) <= most_lines]
