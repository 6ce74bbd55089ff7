"""Criteria, measures and verdicts in plain words."""

from __future__ import annotations

from fairalm.constraints import Constraint
from fairalm.measures import Measure, people_to_settle

MEASURES: dict[str, str] = {
    "error": "error",
    "deo": "DEO (TPR gap)",
    "fpr_gap": "FPR gap",
    "equalized_odds": "equalized odds gap",
    "ddp": "selection gap (DDP)",
    "error_parity": "error gap",
    "predictive_parity": "FDR gap",
    "dp_ratio": "selection ratio",
    "deo_ratio": "TPR ratio",
    "equalized_odds_ratio": "TPR, FPR ratio",
}

ROUGH = 30  # people in a cell; with fewer no forecast is made


_MAY_DIFFER = " may differ between groups by at most {tol}."
_CRITERIA: dict[str, str] = {
    "equal-opportunity": "among people with {label}, the share the model misses",
    "predictive-equality": "among people without {label}, the share wrongly predicted to have it",
    "equalized-odds": "the share missed among people with {label}, and that wrongly predicted among the others, each",
    "error-parity": "the share of wrong predictions",
    "demographic-parity": "the share predicted {label}",
    "predictive-parity": "among people predicted {label}, the share for whom that is wrong",
}


def points(tol: float) -> str:
    """Tolerance as text.

    >>> points(0.01)
    '1 point'
    """
    number = f"{100 * tol:.3g}"
    return f"{number} point{'' if number == '1' else 's'}"


def demand(name: str, label: str, tol: float) -> str:
    """State what a criterion asks for.

    >>> demand("error-parity", "hired = yes", 0.01)
    'the share of wrong predictions may differ between groups by at most 1 point.'
    """
    return f"{_CRITERIA[name]}{_MAY_DIFFER}".replace("{tol}", points(tol)).replace("{label}", label)


def criterion(constraint: Constraint, label: str, n_groups: int) -> str:
    """State a criterion in one sentence; `label` is for example "income = >50K"."""
    sentence = f"{constraint.name}: {demand(constraint.name, label, constraint.tol)}"
    if n_groups > 2:
        sentence += (
            " In training that bounds each group against the mean of all; the figures below are largest minus smallest,"
            " which can be twice as much."
        )
    return sentence


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


def verdict_sentence(measure: Measure, tol: float) -> str:
    """Say whether the criterion is met on people the model was not fitted on, and what would settle it."""
    outcome = verdict(measure, tol)
    name = MEASURES[measure.name]
    if outcome == "undefined":
        return f"Criterion on the test people: {measure.note}."
    sentence = f"Criterion on the test people: {outcome}. {name} {measure} against {100 * tol:.3g} %."
    needed = people_to_settle(measure, tol)
    if outcome == "cannot tell" and needed is not None and measure.n_min >= ROUGH:
        sentence += (
            f" If that is the gap, it takes {about(needed)} people in the smallest cell to tell;"
            f" there are {measure.n_min:,}."
        )
    return sentence
