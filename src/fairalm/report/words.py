"""Constraints, verdicts and kinds of models in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairalm.constraints import Constraint
from fairalm.measures import Measure, people_to_settle
from fairalm.measures.definitions import requirement
from fairalm.report.runs import FAIRALM_MODEL, OTHER_MODEL, PLAIN_MODEL

FORECAST_CELL = 30  # rows; with a smaller cell no forecast is made
FEW_TIMES = 1.1  # as many rows: not worth a number
MOST_TIMES = 10.0  # as many rows; a forecast of more is not worth having
MODEL_KINDS = {FAIRALM_MODEL: "fair models", PLAIN_MODEL: "plain model", OTHER_MODEL: "other methods"}
SHOWN_RATES = {
    "error": ("error", "share of wrong decisions (error)"),
    "selection": ("selection rate", "share predicted {label} (selection rate)"),
    "tpr": ("TPR", "among {rows} with {label}, the share found (true positive rate, TPR)"),
    "fpr": ("FPR", "among the others, the share wrongly predicted {label} (false positive rate, FPR)"),
    "ppv": ("PPV", "among {rows} predicted {label}, the share that has it (precision, PPV)"),
}


def constraint_sentence(constraint: Constraint, label: str, rows: str = "people") -> str:
    """A constraint with its name; `label` is for example "income = >50K"."""
    return f"{constraint.name}: {about_rows(requirement(constraint, label), label, rows)}"


def about_rows(sentence: str, label: str, rows: str) -> str:
    """A sentence of a constraint with the word for the rows; the label is the user's own and stays.

    >>> about_rows("Among people with people = 1, the share", "people = 1", "birds")
    'Among birds with people = 1, the share'
    """
    return label.join(part.replace("people", rows) for part in sentence.split(label))


def rate_words(label: str, rows: str = "people") -> dict[str, dict[str, str]]:
    """Name and meaning of the rates in tables; `label` is for example "income = >50K".

    >>> rate_words("hired = yes")["selection"]
    {'name': 'selection rate', 'meaning': 'share predicted hired = yes (selection rate)'}
    """
    return {
        rate: {"name": name, "meaning": meaning.replace("{rows}", rows).replace("{label}", label)}
        for rate, (name, meaning) in SHOWN_RATES.items()
    }


def about(number: float) -> str:
    """A forecast, to two digits.

    >>> about(12345)
    'about 12,000'
    """
    return f"about {float(f'{number:.1e}'):,.0f}"


def is_constant(entry: Mapping[str, Any]) -> bool:
    """Whether one label is predicted for everybody."""
    groups = entry["groups"].values()
    return any(sum(group[a] + group[b] for group in groups) == 0 for a, b in (("tp", "fp"), ("tn", "fn")))


def forecast(gap: Measure, tol: float, n_rows: int, rows: str) -> str:
    """How many more test rows would settle whether a gap is within `tol`, if it is the one measured.

    "" if that is no number worth having: with a small cell, or if it takes over ten times as many.
    """
    needed = people_to_settle(gap, tol) if gap.n_min >= FORECAST_CELL else None
    if needed is None or needed > MOST_TIMES * gap.n_min:
        return ""
    times = needed / gap.n_min
    if times < FEW_TIMES:
        return f"If that is the gap, a few more test {rows} would settle it."
    more = f"{about(n_rows * (times - 1))} more test {rows}"
    return f"If that is the gap, {more} would settle it ({times:.1f} times as many as now)."


def weight_sentence(column: str, rows: str = "people") -> str:
    """What the weights in a column change, and what they do not."""
    return f"Each row counts by its weight, {column}, in shares, rates, gaps and intervals; numbers of {rows} are rows."
