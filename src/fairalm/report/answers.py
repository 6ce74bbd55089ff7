"""The verdict on a model, and the answers to what a reader asks first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.measures import Measure
from fairalm.measures.text import percent
from fairalm.report.changes import group_changes
from fairalm.report.question import shown_rates
from fairalm.report.verdict import (
    REASONS,
    RateChange,
    direction,
    error_sentence,
    gap_sentence,
    is_ratio,
    levelling_sentence,
    limit_in_words,
    rates_sentence,
)
from fairalm.report.words import forecast, is_constant

Facts = Mapping[str, Any]
_WORST = {
    "tpr": "Found least often",
    "selection": "Selected least often",
    "fpr": "Wrongly selected most often",
    "error": "Wrong most often",
    "ppv": "Right least often when selected",
}
_LESS = {"selection": "selected less often", "tpr": "found less often"}


def verdict_facts(facts: Facts, entry: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """What changed and what is known of the model that the page is about, whether it is enough, and the five answers.

    `facts` are those of the report so far, `entry` is that of the model's test rows in metrics.json.
    """
    model, constraint, rows = facts["models"][facts["headline"]], facts["constraint"], facts["rows_are"]
    change, before = model["change"] or {}, None if model["plain"] is None else facts["models"][model["plain"]]
    figures = {part: (model[part], before and before[part], change.get(part)) for part in ("gap", "error")}
    lead = gap_sentence(_subject(facts), *figures["gap"], rows, is_ratio=is_ratio(constraint))
    cost = [error_sentence(*figures["error"]), *_levelling(facts, model)]
    rates = _rates(facts, model)
    judged = _judged(facts, model, entry)
    return {
        "outcome": model["verdict"],
        "name": model["name"],
        "lead": lead,
        "judged": judged,
        "text": " ".join([lead, cost[0], *rates, *cost[1:], judged]),
        "answers": [
            {
                "question": "Who is worse off?",
                "answer": " ".join(_worst(facts, model)) or "The groups are too small to say.",
            },
            {"question": "By how much?", "answer": judged},
            {"question": "Is it chance?", "answer": _chance(model, change.get("gap"))},
            {"question": "What does the fair model cost?", "answer": " ".join(cost)},
            {"question": "May I use it without the attribute?", "answer": attribute_sentence(config)},
        ],
        "warnings": model["warnings"],
        "gap": model["gap"],
        "tol": constraint["tol"],
    }


def verdict_lines(facts: Facts) -> list[str]:
    """The constraint, the verdict in a paragraph, then one for each warning of the training."""
    verdict = facts["verdict"]
    warnings = (f"Warning in training: {warning}" for warning in verdict["warnings"])
    return [facts["constraint"]["sentence"], verdict["text"], *warnings]


def attribute_sentence(config: Mapping[str, Any]) -> str:
    """Whether the model uses the protected columns."""
    columns = ", ".join(config["protected"])
    if config.get("with_protected"):
        return f"No: the model uses {columns}. You must know it of everyone, and be allowed to use it."
    if config.get("image_column"):
        return f"Yes: the model sees the images, not {columns}."
    if "with_protected" in config:
        return f"Yes: the model does not use {columns}; only its training did."
    return f"The run does not record whether the model uses {columns}."


def _subject(facts: Facts) -> str:
    """What the gap is between, in words."""
    constraint, groups = facts["constraint"], facts["groups"]
    name = "ratio" if is_ratio(constraint) else "gap"
    if constraint["reference"] is not None:
        return f"the worst {name} to {constraint['reference']}"
    if " and " in groups and not groups.startswith("the "):
        return f"the {name} between {groups}"
    return f"the worst {name} between {groups}"


def _rates(facts: Facts, model: Facts) -> list[str]:
    """The compared rates of each group, before and after."""
    shown = [rate for rate in shown_rates(facts["constraint"]["rates"]) if rate in facts["rates"]]
    texts = (rates_sentence(facts["rates"][rate]["name"], group_changes(facts, model, rate)) for rate in shown)
    return [text for text in texts if text]


def _levelling(facts: Facts, model: Facts) -> list[str]:
    texts = (levelling_sentence(words, group_changes(facts, model, rate)) for rate, words in _LESS.items())
    return [text for text in texts if text]


def _judged(facts: Facts, model: Facts, entry: Mapping[str, Any]) -> str:
    """What was asked for, met or not, and how many rows would settle it."""
    constraint, outcome, gap = facts["constraint"], model["verdict"], model["gap"]
    now = "" if is_ratio(constraint) else f"The gap is {gap['text'].replace(' %', ' points')}. "
    sentences = [
        f"{now}Asked for: {limit_in_words(constraint)}.",
        REASONS[outcome].replace("{rows}", facts["rows_are"]),
    ]
    if facts["rounded_to"] is None and is_constant(entry):
        sentences.append(f"But it predicts one label for all {facts['rows_are']}: such a model has no gap, and no use.")
    elif outcome == "cannot tell" and gap.get("digits"):  # rounded counts are too rough for a forecast
        measure = Measure(constraint["key"], **entry[constraint["key"]])
        sentences.append(forecast(measure, constraint["tol"], entry["error"]["n"], facts["rows_are"]))
    return " ".join(filter(None, sentences))


def _chance(model: Facts, change: Facts | None) -> str:
    """Whether the change, and what is left of the gap, may be chance."""
    sentences = []
    if change is not None:
        clear = direction(change) in ("rose", "fell")
        sentences.append(f"The change is {'more than chance' if clear else 'within what chance can do'}.")
    low = model["gap"]["low"]
    if low is not None:
        left = "What is left of the gap" if change is not None else "The gap"
        sentences.append(
            f"{left} may be chance: its interval reaches down to 0." if low <= 0 else f"{left} is more than chance."
        )
    return " ".join(sentences) or "Too few to say."


def _worst(facts: Facts, model: Facts) -> list[str]:
    """Which group has the worst rate under either model."""
    sentences = []
    for rate in shown_rates(facts["constraint"]["rates"]):
        changes = group_changes(facts, model, rate) if rate in facts["rates"] else []
        whens = [("before", "plain model"), ("after", "fair model")] if model["plain"] is not None else [("after", "")]
        ends = [(_ends(changes, when, rate), name) for when, name in whens]
        parts = [f"{text} ({name})" if name else text for text, name in ends if text]
        if parts:
            name = _WORST.get(rate, f"Lowest {facts['rates'][rate]['name']}")
            sentences.append(f"{name}: {'; '.join(parts)}.")
    return sentences


def _ends(changes: Sequence[RateChange], when: str, rate: str) -> str:
    """The group with the worst rate beside the one with the best."""
    known = [(getattr(each, when), each.group) for each in changes if getattr(each, when) is not None]
    worst, *_, best = sorted(known, reverse=rate in ("fpr", "error")) if len(known) > 1 else [None, None]
    if worst is None or best is None:
        return ""
    return f"{worst[1]} {percent(worst[0])} against {best[1]} {percent(best[0])}"
