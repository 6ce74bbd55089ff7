"""Criteria, rules, measures and verdicts in plain words."""

from __future__ import annotations

from typing import Any

from fairalm.constraints import Constraint
from fairalm.measures import Measure, people_to_settle

METHODS: dict[str, str] = {
    "secant": "the default: the multiplier's step is measured from round to round; nothing to tune",
    "pi-control": "the default of nets: a PI controller of the gap, in units that fit any table; nothing to tune",
    "fairalm-linear": "the paper's Algorithm 1 as written: step eta/t, a new model joins only if it helps",
    "fairalm": "the paper's Algorithm 2 as written; a large eta can end in one prediction for all",
    "augmented": "augmented Lagrangian without the paper's Jensen step",
    "lagrangian": "two multipliers per gap, moved by the gap beyond the tolerance",
    "proxy-lagrangian": "the Lagrangian with bounded multipliers, moved by 0/1 errors",
    "l2": "the squared gap as a penalty of fixed weight",
    "reweight": "more weight for small groups; does not look at the gap",
    "unconstrained": "the plain model",
}

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


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "fit"), count(4, "fit")
    ('1 fit', '4 fits')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


_MAY_DIFFER = " may differ between groups by at most {tol}."
_CRITERIA: dict[str, str] = {
    "equal-opportunity": "among people with {label}, the share the model misses",
    "predictive-equality": "among people without {label}, the share wrongly predicted to have it",
    "equalized-odds": "the share missed among people with {label}, and that wrongly predicted among the others, each",
    "error-parity": "the share of wrong predictions",
    "demographic-parity": "the share predicted {label}",
    "predictive-parity": "among people predicted {label}, the share for whom that is wrong",
}


def first_line(documented: Any) -> str:
    """First line of a docstring."""
    return (documented.__doc__ or "").strip().splitlines()[0]


def points(tol: float) -> str:
    """Tolerance as text.

    >>> points(0.01)
    '1 point'
    """
    number = f"{100 * tol:.3g}"
    return f"{number} point{'' if number == '1' else 's'}"


def criterion(constraint: Constraint, label: str, n_groups: int) -> str:
    """State a criterion in one sentence; `label` is for example "income = >50K"."""
    sentence = f"{constraint.name}: {_CRITERIA[constraint.name]}{_MAY_DIFFER}"
    sentence = sentence.replace("{label}", label).replace("{tol}", points(constraint.tol))
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


def verdict_sentence(measure: Measure, tol: float) -> str:
    """Say whether the criterion is met on people the model was not fitted on, and what would settle it."""
    outcome = verdict(measure, tol)
    name = MEASURES[measure.name]
    if outcome == "undefined":
        return f"Criterion on the test people: {measure.note}."
    sentence = f"Criterion on the test people: {outcome}. {name} {measure} against {100 * tol:.3g} %."
    needed = people_to_settle(measure, tol)
    if outcome == "cannot tell" and needed is not None and measure.n_min >= ROUGH:
        about = f"about {float(f'{needed:.1e}'):,.0f}" if needed < 1e6 else "over a million"
        sentence += (
            f" If that is the gap, it takes {about} people in the smallest cell to tell; there are {measure.n_min:,}."
        )
    return sentence
