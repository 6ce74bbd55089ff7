"""Rules in plain words, and the words of the report for all else."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from fairalm.measures import MEASURES as DEFINITIONS
from fairalm.report.words import constraint_sentence, verdict, verdict_sentence

__all__ = ["MEASURES", "METHODS", "constraint_sentence", "count", "first_line", "typed", "verdict", "verdict_sentence"]

MEASURES = {name: definition.title for name, definition in DEFINITIONS.items()}

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


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "fit"), count(4, "fit")
    ('1 fit', '4 fits')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def first_line(documented: Any) -> str:
    """First line of a docstring."""
    return (documented.__doc__ or "").strip().splitlines()[0]


def typed(context: typer.Context) -> str:
    """The command as it was typed."""
    return shlex.join(["fairalm", *context.find_root().obj])
