"""Constraints, verdicts and kinds of models in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairalm.constraints import Constraint
from fairalm.measures import Measure, definition_of, limit_of, people_to_settle
from fairalm.measures.definitions import requirement
from fairalm.measures.text import points
from fairalm.report.runs import FAIRALM_MODEL, OTHER_MODEL, PLAIN_MODEL
from fairalm.runs.metrics import verdict

FORECAST_CELL = 30  # people; with a smaller cell no forecast is made
MOST_TIMES = 100.0  # as many people; a larger ratio is not printed
MODEL_KINDS = {FAIRALM_MODEL: "fairalm's methods", PLAIN_MODEL: "plain model", OTHER_MODEL: "other methods"}
SHOWN_RATES = {
    "error": ("error", "share of wrong predictions"),
    "selection": ("selection", "share predicted {label}"),
    "tpr": ("TPR", "among people with {label}, the share predicted so"),
    "fpr": ("FPR", "among the others, the share wrongly predicted {label}"),
    "ppv": ("PPV", "among people predicted {label}, the share that has it"),
}
REASONS = {
    "met": "The whole interval is within the tolerance.",
    "not met": "The whole interval is above the tolerance.",
    "cannot tell": "The interval reaches from within the tolerance to beyond it.",
    "undefined": "There are too few people to measure it.",
}


def constraint_sentence(constraint: Constraint, label: str) -> str:
    """A constraint with its name; `label` is for example "income = >50K"."""
    return f"{constraint.name}: {requirement(constraint, label)}"


def rate_words(label: str) -> dict[str, dict[str, str]]:
    """Name and meaning of the rates in tables; `label` is for example "income = >50K".

    >>> rate_words("hired = yes")["selection"]
    {'name': 'selection', 'meaning': 'share predicted hired = yes'}
    """
    return {
        rate: {"name": name, "meaning": meaning.replace("{label}", label)}
        for rate, (name, meaning) in SHOWN_RATES.items()
    }


def about(number: float) -> str:
    """A forecast, to two digits.

    >>> about(12345)
    'about 12,000'
    """
    return f"about {float(f'{number:.1e}'):,.0f}" if number < 1e6 else "over a million"


def verdict_sentence(measure: Measure, constraint: Constraint) -> str:
    """Say whether a constraint is met on people the model was not fitted on, and how many people would settle it."""
    tol, title = limit_of(constraint), definition_of(constraint).title
    outcome = verdict(measure, tol)
    if outcome == "undefined":
        return f"Constraint on the test people: {measure.note}."
    sentence = f"Constraint on the test people: {outcome}. {title} {measure} against {100 * tol:.3g} %."
    needed = people_to_settle(measure, tol)
    if outcome == "cannot tell" and needed is not None and measure.n_min >= FORECAST_CELL:
        sentence += (
            f" If that is the gap, it takes {about(needed)} people in the smallest cell to tell;"
            f" there are {measure.n_min:,}."
        )
    return sentence


def verdict_facts(
    name: str, entry: Mapping[str, Any], model: Mapping[str, Any], constraint: Mapping[str, Any]
) -> dict[str, Any]:
    """Met, not met or cannot tell; the gap; how many people would settle it; and the warnings of the training.

    `entry` is that of the test people in metrics.json; `model` and `constraint` are what the report says about them.
    """
    tol, outcome, gap, key = constraint["tol"], model["verdict"], model["gap"], constraint["key"]
    sentences = [f"{constraint['title']} {gap['text']} against a tolerance of {points(tol)}.", REASONS[outcome]]
    if is_constant(entry):
        sentences.append("But it predicts one label for everybody: such a model has no gap, and no use.")
    elif outcome == "cannot tell":
        sentences.append(_forecast(Measure(key, **entry[key]), tol, entry["error"]["n"]))
    text, warnings = " ".join(sentences), model["warnings"]
    return {"outcome": outcome, "name": name, "text": text, "warnings": warnings, "gap": gap, "tol": tol}


def verdict_lines(facts: Mapping[str, Any]) -> list[str]:
    """The constraint and the verdict in a paragraph, then one for each warning of the training."""
    verdict, sentence = facts["verdict"], facts["constraint"]["sentence"]
    first = f"{sentence} {verdict['outcome'].capitalize()}. {verdict['text']}"
    return [first, *(f"Warning in training: {warning}" for warning in verdict["warnings"])]


def is_constant(entry: Mapping[str, Any]) -> bool:
    """Whether one label is predicted for everybody."""
    groups = entry["groups"].values()
    return any(sum(group[a] + group[b] for group in groups) == 0 for a, b in (("tp", "fp"), ("tn", "fn")))


def _forecast(gap: Measure, tol: float, n_people: int) -> str:
    """How many more test people would settle it, if the gap is the one measured."""
    if gap.n_min < FORECAST_CELL:
        return (
            f"With under {FORECAST_CELL} people in its smallest cell, no forecast is made of how many would settle it."
        )
    needed = people_to_settle(gap, tol)
    if needed is None:
        return "The gap equals the tolerance: no number of people would settle it."
    times = needed / gap.n_min
    ratio = f" ({times:,.1f} times as many as now)" if times < MOST_TIMES else ", since it is so near the tolerance"
    return f"If that is the gap, {about(n_people * (times - 1))} more test people would settle it{ratio}."


def weight_sentence(column: str) -> str:
    """What the weights in a column change, and what they do not."""
    return f"Each row counts by its weight, {column}, in shares, rates, gaps and intervals; numbers of people are rows."
