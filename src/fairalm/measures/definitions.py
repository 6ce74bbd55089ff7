"""What each measure compares between the groups: read off the events of a constraint, or registered here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairalm._validation import first_line
from fairalm.cells import Event
from fairalm.constraints import CONSTRAINTS, Constraint
from fairalm.exceptions import InputError
from fairalm.measures.rates import RATES, Share
from fairalm.measures.text import points

PLACES = {"tp": (0, 1), "fp": (1, 0), "tn": (0, 0), "fn": (1, 1)}  # prediction is wrong, label is the target


@dataclass(frozen=True)
class Definition:
    """What a measure compares, and how."""

    name: str  # its key in MEASURES and in metrics.json
    rates: Mapping[str, Share]  # compared over the groups, one per event; the worst event counts
    kind: Literal[
        "overall", "difference", "ratio"
    ]  # of all groups together; largest minus smallest; smallest over largest
    title: str  # a few words for tables
    description: str  # one line


def definition_of(which: str | Constraint | type[Constraint]) -> Definition:
    """The measure of that name, or the one of a constraint: the difference of the rates that its events compare.

    Examples
    --------
    >>> from fairalm import EqualOpportunity
    >>> definition_of(EqualOpportunity) == definition_of("deo") == MEASURES["deo"]
    True
    """
    if isinstance(which, str):
        if which not in MEASURES:
            raise InputError(f"There is no measure {which!r}; choose from {', '.join(MEASURES)}.")
        return MEASURES[which]
    own = _difference(which() if isinstance(which, type) else which)
    registered = MEASURES.get(own.name, own)
    if (registered.rates, registered.kind) != (own.rates, own.kind):
        kind = which if isinstance(which, type) else type(which)
        raise InputError(
            f"The measure of {kind.__name__} is called {own.name!r}, as another one is: give the class a `measure` of"
            " its own."
        )
    return registered


def describe(constraint: Constraint, label: str) -> dict[str, Any]:
    """What a report says about a constraint, built in or your own, ready for JSON; `label` is the target in words.

    ``name`` is the constraint's, ``key`` and ``title`` its measure's, ``rates`` are the names of the rates compared, and
    ``definitions`` has for each rate the counts above and below the line.

    Examples
    --------
    >>> from fairalm import EqualOpportunity
    >>> facts = describe(EqualOpportunity(tol=0.01), "hired = yes")
    >>> facts["sentence"]
    'Among people with hired = yes, the share the model misses may differ between groups by at most 1 point.'
    >>> facts["definitions"]
    {'fnr': [['fn'], ['tp', 'fn']]}
    """
    definition, sentence = definition_of(constraint), requirement(constraint, label)
    return {
        "name": constraint.name,
        "key": definition.name,
        "title": definition.title,
        "sentence": sentence[0].upper() + sentence[1:],
        "rates": list(definition.rates),
        "definitions": {name: [list(above), list(below)] for name, (above, below) in definition.rates.items()},
    }


def requirement(constraint: Constraint, label: str) -> str:
    """What a constraint requires, as the end of a sentence."""
    rates = constraint.rates.replace("{label}", label)
    return f"{rates} may differ between groups by at most {points(constraint.tol)}."


def _difference(constraint: Constraint) -> Definition:
    known = {share: name for name, share in RATES.items()}
    rates: dict[str, Share] = {}
    for event in constraint.events(np.array([False, True])):
        share = _share(constraint, event)
        name = known.get(share, f"{constraint.measure}, {event.name}")
        rates[name if rates.get(name, share) == share else f"{name} ({len(rates)})"] = share
    return Definition(constraint.measure, rates, "difference", constraint.title, first_line(type(constraint)))


def _share(constraint: Constraint, event: Event) -> Share:
    """The counts above and below the line of an event's rate."""
    wrong = np.array([[0.0], [1.0]])  # rows of the tables: prediction is right, wrong; columns: label is other, target
    inside = 1.0 if event.mask is None else event.mask
    over = (1.0, 0.0) if event.over_sign is None else (event.over_base, event.over_sign)
    above, below = (inside * (base + sign * wrong) * np.ones(2) for base, sign in ((event.base, event.sign), over))
    if not np.isin([above, below], (0.0, 1.0)).all() or (above > below).any():
        adds = "; ".join(f"{name} adds {above[at]:g} to {below[at]:g}" for name, at in PLACES.items())
        raise InputError(
            f"{type(constraint).__name__} cannot be measured with an interval: its event {event.name!r} is not a share"
            f" of rows, in which each row adds 0 or 1 to the numerator and to the denominator ({adds})."
        )
    top, bottom = (tuple(name for name, place in PLACES.items() if table[place]) for table in (above, below))
    return top, bottom


def _registered() -> dict[str, Definition]:
    def of(name: str, rates: str, kind: Literal["overall", "ratio"], title: str, description: str) -> Definition:
        return Definition(name, {rate: RATES[rate] for rate in rates.split()}, kind, title, description)

    gaps = [_difference(constraint()) for constraint in CONSTRAINTS.values()]
    gaps.sort(key=lambda gap: gap.name in ("error_parity", "predictive_parity"))  # these two come last
    definitions = (
        of("error", "error", "overall", "error", "share of wrong predictions"),
        *gaps,
        of("dp_ratio", "selection", "ratio", "selection ratio", "smallest over largest selection rate"),
        of("deo_ratio", "tpr", "ratio", "TPR ratio", "smallest over largest true positive rate"),
        of("equalized_odds_ratio", "tpr fpr", "ratio", "TPR, FPR ratio", "smaller of the TPR and FPR ratios"),
    )
    return {definition.name: definition for definition in definitions}


MEASURES: Mapping[str, Definition] = _registered()
