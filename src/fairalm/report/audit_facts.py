"""What the page of an audit may say: words and figures, with small counts suppressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.measures import MEASURES
from fairalm.measures.text import interval, percent
from fairalm.report import audit_words as words
from fairalm.report.audit_cells import exact_groups, shown_count, shown_groups
from fairalm.report.models import figure
from fairalm.report.suppress import Band, is_small, rate_band
from fairalm.report.words import weight_sentence

Facts = dict[str, Any]
HIDDEN, NOT_SHOWN = "hidden", "Cannot be shown."
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
    """The facts of the page from the content of an audit.json; no count under `min_cell` is shown."""
    config, tables = audit["config"], []
    for what in ("selection", "scoring"):
        shown = shown_groups(audit[what], min_cell)
        tables += [
            table_facts(what, table, own, config, min_cell) for table, own in zip(audit[what], shown, strict=True)
        ]
    has_hidden = any(table["has_hidden"] for table in tables)
    return {
        "title": words.question(audit),
        "min_cell": min_cell,
        "about": _about(audit, has_hidden),
        "lead": _lead([table for table in tables if table["rate"] == tables[0]["rate"]]),
        "tables": tables,
        "outcomes": _outcomes(audit, min_cell),
        "thresholds": [_thresholds(table, min_cell) for table in audit["thresholds"]],
        "method": _method(audit),
        "limits": _limits(audit, has_hidden, min_cell),
        "done": _done(audit),
    }


def table_facts(
    what: str, table: Mapping[str, Any], shown: Mapping[str, Band | None], config: Mapping[str, Any], min_cell: int
) -> Facts:
    """One table: the answer in words, and each group's rate, ratio and test.

    `shown` has for each group the number that is chosen, as a band; None if the group is hidden.
    """
    reference = table["reference"]
    is_open = {name: band is not None and band[0] == band[1] for name, band in shown.items()}
    has_hidden = not all(is_open.values())
    own = {**table, "groups": {name: group for name, group in table["groups"].items() if is_open[name]}}
    can_compare = is_open[reference] and len(own["groups"]) > 1
    unknown = table["unknown"]
    parts = (unknown["n"], unknown["selected"], unknown["n"] - unknown["selected"])
    has_small = any(is_small(part, min_cell) for part in parts)
    line = " The dashed line is at four-fifths of its rate." if can_compare else ""
    rate = table["groups"][reference]["rate"]["value"]
    return {
        "attribute": table["attribute"],
        "heading": f"{words.RATES[what][1].capitalize()}, by {table['attribute']}",
        "rate": words.RATES[what][1],
        "lead": words.lead(own) if can_compare else NOT_SHOWN,
        "answer": words.answer(what, own) + _rest(table, own, min_cell) if can_compare else _cannot_show(min_cell),
        "reference": words.reference_sentence(table, min_cell) + line,
        "limit": table["ratio"]["limit"] * rate if can_compare else None,
        "unknown": "" if has_small else words.unknown_sentence(what, table, config["rows_are"]),
        "verdicts": _verdicts(table, has_hidden, min_cell),
        "has_hidden": has_hidden,
        "groups": [
            _group(name, group, shown[name], is_open[name] and is_open[reference], name == reference)
            for name, group in table["groups"].items()
        ],
    }


def _group(name: str, group: Mapping[str, Any], band: Band | None, is_open: bool, is_reference: bool) -> Facts:
    """The row of a group: counts, rate, ratio and test, as texts and as numbers to draw."""
    rate, against = group["rate"], group["against"]
    row: Facts = {
        "name": name,
        "counts": "",
        "rate": None,
        "rate_text": [HIDDEN, ""],
        "ratio": [HIDDEN, ""],
        "test": ["", ""],
    }
    if band is None:
        return row
    row["counts"] = f"{shown_count(band)} of {group['n']:,}"
    if band[0] == band[1]:
        row["rate"] = {end: rate[end] for end in ("value", "low", "high")}
        row["rate_text"] = _with_interval(rate) if rate["value"] is not None else ["nobody", ""]
    else:
        coarse = rate_band(
            {"tp": band, "fn": (group["n"] - band[1], group["n"] - band[0]), "tn": (0, 0), "fp": (0, 0)}, "tpr"
        )
        assert coarse
        row["rate"] = {"value": None, "low": coarse["low"], "high": coarse["high"]}
        row["rate_text"] = [f"{percent(coarse['least'], 0)} to {percent(coarse['most'], 0)}", ""]
    if is_reference:
        row["ratio"] = ["reference", ""]
    elif is_open and against and against["ratio"] is not None:
        ends = interval(against["ratio_low"], against["ratio_high"], 2, scale=1)
        row["ratio"], row["test"] = [f"{against['ratio']:.2f}", ends], words.test_words(against)
    elif is_open:
        row["ratio"] = ["none", ""]
    return row


def _with_interval(rate: Mapping[str, Any]) -> list[str]:
    return [percent(rate["value"]), interval(rate["low"], rate["high"])]


def _rest(table: Mapping[str, Any], own: Mapping[str, Any], min_cell: int) -> str:
    """What is said of groups that are judged and not shown."""
    if all(name in own["groups"] for name in table["judged"]):
        return ""
    return f" Groups with a count under {min_cell} are not compared here; audit.json has them."


def _cannot_show(min_cell: int) -> str:
    return f"{NOT_SHOWN} A group that is compared has a count under {min_cell}; audit.json has the figures."


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


def _verdicts(table: Mapping[str, Any], has_hidden: bool, min_cell: int) -> list[str]:
    """The smallest ratio and the largest difference of all groups, also of those that are not shown themselves."""
    lines = []
    for name, kind in (("ratio", "Smallest ratio"), ("difference", "Largest difference")):
        shown = figure(table[name], has_hidden, min_cell)
        own = {**table[name], **{end: shown[end] for end in ("value", "low", "high")}, "note": shown["text"]}
        lines.append(words.verdict_line(own, kind))
    return lines


def _outcomes(audit: Mapping[str, Any], min_cell: int) -> list[Facts]:
    """Rates of decisions whose outcomes are known; a group with a small count is hidden."""
    config = audit["config"]
    label = f"{config['target']} = {config['positive']}"
    head = [[name.replace("{label}", label), field] for name, field in OUTCOME_RATES.values()]
    found = []
    for table, names in zip(audit["outcomes"], exact_groups(audit["outcomes"], min_cell), strict=True):
        groups = table["groups"]
        is_coarse = len(names) < len(groups)
        rows = [
            [name, *([_rate(groups[name]["rates"][rate]) for rate in OUTCOME_RATES] if name in names else [HIDDEN] * 4)]
            for name in groups
        ]
        gaps = [
            [_gap_words(name, label), figure(table[name], is_coarse, min_cell)["text"], verdict]
            for name, verdict in table["verdicts"].items()
        ]
        found.append({"attribute": table["attribute"], "head": head, "rows": rows, "gaps": gaps})
    return found


def _gap_words(name: str, label: str) -> list[str]:
    return [GAPS.get(name, MEASURES[name].title).replace("{label}", label), MEASURES[name].title]


def _rate(rate: Mapping[str, Any]) -> Any:
    return "nobody" if rate["value"] is None else _with_interval(rate)


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


def _about(audit: Mapping[str, Any], has_hidden: bool) -> str:
    """How many rows, of which file, and what is counted."""
    config, rows = audit["config"], audit["data"]["rows"]
    number = f"About {float(f'{rows:.1e}'):,.0f}" if has_hidden else f"{rows:,}"
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
        words.FOUR_FIFTHS,
        "A ratio or a difference is met or not met if its whole interval is on one side of the limit; otherwise the"
        " data cannot tell. Verdicts are about groups of at least 2 % of the rows; smaller ones are in the tables. (The"
        " Uniform Guidelines, 29 CFR 1607.15(A)(2)(a), ask for determinations about groups of at least 2 % of the labor"
        " force.)",
        words.TOLERANCE,
        "Standard deviations are those of the difference of two shares, from the pooled share of both groups. Chance is"
        " the p-value of Fisher's exact test, or with weights that of the standard deviations, after Holm's correction"
        " for the number of groups of the table.",
    ]
    if config["score"]:
        sentences.append(
            "The median is that of all scores, also of those whose group is unknown; a score that equals it is not"
            " above it."
        )
    if config["weight"]:
        sentences.append(weight_sentence(config["weight"]))
    return sentences


def _limits(audit: Mapping[str, Any], has_hidden: bool, min_cell: int) -> list[str]:
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
    if has_hidden:
        sentences.append(
            f"Counts under {min_cell}, and others that would reveal them, are hidden or given as a range. audit.json"
            " and tables.csv have all counts: keep them to yourself."
        )
    return sentences


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
