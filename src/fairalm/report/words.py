"""Constraints, verdicts and kinds of models in plain words."""

from __future__ import annotations

from fairalm.constraints import Constraint
from fairalm.measures import Measure, people_to_settle
from fairalm.measures.definitions import requirement
from fairalm.report.runs import FAIRALM_MODEL, OTHER_MODEL, PLAIN_MODEL

FORECAST_CELL = 30  # people; with a smaller cell no forecast is made
MODEL_KINDS = {FAIRALM_MODEL: "fairalm's methods", PLAIN_MODEL: "plain model", OTHER_MODEL: "other methods"}
MORE_THAN_TWO_GROUPS = (
    "With more than two groups, training bounds each group against the mean of all; the gap reported is largest minus"
    " smallest, which can be twice as much."
)


def constraint_sentence(constraint: Constraint, label: str, n_groups: int) -> str:
    """A constraint with its name; `label` is for example "income = >50K"."""
    sentence = f"{constraint.name}: {requirement(constraint, label)}"
    return f"{sentence} {MORE_THAN_TWO_GROUPS}" if n_groups > 2 else sentence


def verdict(measure: Measure, tol: float) -> str:
    """Judge a gap by its interval: "met", "not met", "cannot tell" or "undefined"."""
    if measure.low is None or measure.high is None:
        return "undefined"
    if measure.high <= tol:
        return "met"
    return "not met" if measure.low > tol else "cannot tell"


def about(number: float) -> str:
    """A forecast, to two digits.

    >>> about(12345)
    'about 12,000'
    """
    return f"about {float(f'{number:.1e}'):,.0f}" if number < 1e6 else "over a million"


def verdict_sentence(measure: Measure, constraint: Constraint) -> str:
    """Say whether a constraint is met on people the model was not fitted on, and how many people would settle it."""
    tol = constraint.tol
    outcome = verdict(measure, tol)
    if outcome == "undefined":
        return f"Constraint on the test people: {measure.note}."
    sentence = f"Constraint on the test people: {outcome}. {constraint.title} {measure} against {100 * tol:.3g} %."
    needed = people_to_settle(measure, tol)
    if outcome == "cannot tell" and needed is not None and measure.n_min >= FORECAST_CELL:
        sentence += (
            f" If that is the gap, it takes {about(needed)} people in the smallest cell to tell;"
            f" there are {measure.n_min:,}."
        )
    return sentence
