"""What ``fairalm audit`` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.console import print_table, say
from fairalm.measures import MEASURES
from fairalm.measures.text import percent, with_interval
from fairalm.report import audit_words as words
from fairalm.report import label_words
from fairalm.report import ll144_page as law
from fairalm.report.words import weight_sentence
from fairalm.runs.metrics import measures_in

OUTCOME_RATES = {"error": "error", "selection": "selected", "tpr": "TPR", "fpr": "FPR", "ppv": "PPV"}
SMALL = 30  # rows of a group with an outcome; fewer are marked
DECILES = (1, 3, 5, 7, 9)  # thresholds that fit into the width
TESTS = (
    "std. dev.: the difference to the reference in standard deviations. p: how often chance alone gives a difference as"
    " large, by Fisher's exact test with Holm's correction for the number of groups."
)
Facts = Mapping[str, Any]


def show_audit(facts: Facts) -> None:
    """Print the tables of an audit and what they say."""
    config, data = facts["config"], facts["data"]
    say(f"{data['rows']:,} {config['rows_are']} in {data['name']}.")
    if data["dropped"]:
        say(f"Left out: {data['dropped']:,} {config['rows_are']} without a protected value.")
    if config["decision"]:
        say(words.selected_sentence(config))
    if config["weight"]:
        say(weight_sentence(config["weight"]))
    for what in ("selection", "scoring"):
        for table in facts[what]:
            if "label" not in table:
                _show_comparison(what, table, config["rows_are"])
    for table in facts["outcomes"]:
        if "label" not in table:
            _show_outcomes(table, config)
    for worst in facts["labels"]:
        _show_labels(facts, worst)
    for table in facts["thresholds"]:
        _show_thresholds(table)
    say()
    if any("label" not in table for table in (*facts["selection"], *facts["scoring"])):
        say(TESTS)
        say(words.FOUR_FIFTHS)
    if facts["labels"]:
        say(label_words.TESTS)
        say(label_words.NO_RATIO)
    say()


def _show_comparison(what: str, table: Facts, rows_are: str) -> None:
    say()
    say(f"{words.RATES[what][1].capitalize()}, by {table['attribute']}:")
    print_table(
        [table["attribute"], rows_are, "rate, %", "ratio", "std. dev.", "p"],
        [(name, f"{group['n']:,}", *_figures(group)) for name, group in table["groups"].items()],
    )
    for line in (
        f"{words.reference_sentence(table)} {words.unknown_sentence(what, table, rows_are)}",
        words.answer(what, table),
        words.verdict_line(table["ratio"], "Smallest ratio"),
        words.verdict_line(table["difference"], "Largest difference"),
    ):
        say(line, indent=2)


def _figures(group: Facts) -> tuple[str, str, str, str]:
    rate, against = group["rate"], group["against"]
    own = "nobody" if rate["value"] is None else with_interval(rate["value"], rate["low"], rate["high"], unit="")
    if against is None:
        return own, "reference", "", ""
    ratio = "none"
    if against["ratio"] is not None:
        ratio = with_interval(against["ratio"], against["ratio_low"], against["ratio_high"], 2, unit="", scale=1)
    if against["p_holm"] is None:
        return own, ratio, "", ""
    p = against["p_holm"]
    return own, ratio, f"{against['z']:.1f}", "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _show_outcomes(table: Facts, config: Facts) -> None:
    groups, label = table["groups"], f"{config['target']} = {config['positive']}"
    say()
    say(f"Where the outcome is known, by {table['attribute']}:")
    sizes = {name: (own["tp"] + own["fn"], own["fp"] + own["tn"]) for name, own in groups.items()}
    print_table(
        [config["rows_are"], label, "others", "all"],
        [(name, _marked(a), _marked(b), f"{a + b:,}") for name, (a, b) in sizes.items()],
    )
    if any(min(pair) < SMALL for pair in sizes.values()):
        say(f"! under {SMALL} {config['rows_are']}: their rates are rough, as the intervals say.", indent=2)
    say()
    print_table(
        ["rates, %", *OUTCOME_RATES.values()],
        [(name, *(_rate(own["rates"][rate], config) for rate in OUTCOME_RATES)) for name, own in groups.items()],
    )
    say()
    entry = {name: own for name, own in table.items() if name in MEASURES}
    print_table(
        ["between groups", "95 % interval", f"within {100 * config['tol']:.3g} %?"],
        [
            (MEASURES[name].title, measured, table["verdicts"].get(name, ""))
            for name, measured in measures_in(entry).items()
            if name != "error"
        ],
    )


def _show_labels(facts: Facts, worst: Facts) -> None:
    config = facts["config"]
    attribute, decision, rows_are = worst["attribute"], config["decision"], config["rows_are"]
    tables, outcomes = (
        [table for table in facts[what] if "label" in table and table["attribute"] == attribute]
        for what in ("selection", "outcomes")
    )
    say()
    say(f"{label_words.rate_name(decision).capitalize()}, by {attribute}:")
    print_table(
        [decision, attribute, "rate, %", "ratio", "p"],
        [
            (table["label"] * (not place), name, rate, ratio, p)
            for table in tables
            for place, (name, group) in enumerate(table["groups"].items())
            for rate, ratio, _, p in [_figures(group)]
        ],
        left=2,
    )
    sizes = ", ".join(f"{name} {group['n']:,}" for name, group in tables[0]["groups"].items())
    say(f"{rows_are.capitalize()}: {sizes}.", indent=2)
    unknown = words.unknown_sentence("selection", tables[0], rows_are)
    say(f"{words.reference_sentence(tables[0])} {unknown}", indent=2)
    say(label_words.label_answer(tables, worst, decision), indent=2)
    if outcomes:
        _show_label_outcomes(outcomes, worst, config)
    _show_label_gaps(tables, outcomes, config)


def _show_label_outcomes(tables: Sequence[Facts], worst: Facts, config: Facts) -> None:
    attribute, rows_are = worst["attribute"], config["rows_are"]
    say()
    say(f"Where the outcome is known, by {attribute}:")
    print_table(
        [attribute, rows_are, "wrong label, %"],
        [(name, f"{rate['n']:,}", _rate(rate, config)) for name, rate in worst["errors"].items()],
    )
    say(
        f"In all: {_gap(worst['error'])}. {words.verdict_line(worst['gaps']['error_parity'], 'Largest difference')}",
        indent=2,
    )
    say()
    print_table(
        [config["target"], attribute, rows_are, "TPR, %", "PPV, %"],
        [
            (
                table["label"] * (not place),
                name,
                _marked(group["tp"] + group["fn"]),
                *(_rate(group["rates"][rate], config) for rate in ("tpr", "ppv")),
            )
            for table in tables
            for place, (name, group) in enumerate(table["groups"].items())
        ],
        left=2,
    )


def _show_label_gaps(tables: Sequence[Facts], outcomes: Sequence[Facts], config: Facts) -> None:
    """The largest difference between groups, of each label."""
    within = f"within {100 * config['tol']:.3g} %?"
    rows = [(table["label"], _gap(table["difference"]), table["difference"]["verdict"]) for table in tables]
    more: list[tuple[str, ...]] = [(_gap(table["deo"]), table["verdicts"]["deo"]) for table in outcomes]
    say()
    print_table(
        [config["decision"], "difference", within, *["difference of TPR", within] * bool(more)],
        [(*row, *own) for row, own in zip(rows, more or [()] * len(rows), strict=True)],
    )


def _gap(measure: Facts) -> str:
    return (
        "undefined" if measure["value"] is None else with_interval(*(measure[end] for end in ("value", "low", "high")))
    )


def _marked(number: int) -> str:
    return f"{'! ' if number < SMALL else ''}{number:,}"


def _rate(rate: Facts, config: Facts) -> str:
    if rate["value"] is None:
        return f"0 {config['rows_are']}"
    return f"{100 * rate['value']:.0f} [{100 * rate['low']:.0f},{100 * rate['high']:.0f}]"


def _show_thresholds(table: Facts) -> None:
    points = [point for point in table["points"] if point["decile"] in DECILES]
    say()
    say(f"Share above a threshold of the score, by {table['attribute']}; tables.csv has all nine deciles:")
    print_table(
        [table["attribute"], *(f"{point['threshold']:.4g}" for point in points)],
        [
            (name, *(_share(point["groups"][name]["selection"]) for point in points))
            for name in table["points"][0]["groups"]
        ],
    )


def _share(rate: Facts) -> str:
    return "nobody" if rate["value"] is None else percent(rate["value"])


def show_ll144(facts: Facts) -> None:
    """Print the tables of Local Law 144."""
    for name, text in law.summary(facts):
        say(f"{name}: {text}")
    for table in facts["tables"]:
        head, rows = law.table_rows(facts, table)
        say()
        say(law.TITLES[table["table"]])
        print_table(head, rows, left=head.index("Applicants"))
        for line in law.table_notes(facts, table):
            say(line, indent=2)
    say()
    for note in facts["notes"]:
        say(note)
    say("Counts are exact, also small ones: the law asks for them.")
    say()
