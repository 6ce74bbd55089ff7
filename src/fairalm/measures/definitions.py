"""What each measure compares between the groups: read off the events of a constraint, or registered here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Literal

import numpy as np

from fairalm._coding import group_name
from fairalm._validation import first_line
from fairalm.cells import Cells
from fairalm.constraints import CONSTRAINTS, Constraint
from fairalm.exceptions import InputError
from fairalm.measures.rates import COUNTS, RATES, Share
from fairalm.measures.text import points

ADDS = np.array(
    [[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 1]]
)  # coefficients of Cells -> a row of each count


@dataclass(frozen=True)
class Definition:
    """What a measure compares, and how."""

    name: str  # its key in MEASURES and in metrics.json
    rates: Mapping[str, Share]  # compared over the groups, one per event; the worst event counts
    kind: Literal[
        "overall", "difference", "ratio", "shortfall"
    ]  # of all groups together; largest minus smallest; smallest over largest; one minus that
    title: str  # a few words for tables
    description: str  # one line
    reference: str | None = None  # group that the others are compared with; None if each is with each


def definition_of(which: str | Constraint | type[Constraint]) -> Definition:
    """The measure of that name, or the one of a constraint: the difference of the rates that its events compare.

    That of a constraint with a ratio is one minus the ratio of the shares predicted as the target, so that it must not
    be above one minus the ratio that is asked for: :func:`limit_of`.

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
    constraint = which() if isinstance(which, type) else which
    own = _difference(constraint)
    registered = MEASURES.get(own.name, own)
    if (registered.rates, registered.kind) != (own.rates, own.kind):
        taken = f"The measure of {type(constraint).__name__} is called {own.name!r}, as another one is"
        raise InputError(f"{taken}: give the class a `measure` of its own.")
    return registered if constraint.is_plain else _compared(constraint, registered)


def limit_of(constraint: Constraint) -> float:
    """What the measure of a constraint may be at most: its tolerance, or one minus its ratio."""
    return constraint.tol if constraint.ratio is None else 1 - constraint.ratio


def describe(constraint: Constraint, label: str) -> dict[str, Any]:
    """What a report says about a constraint, built in or your own, ready for JSON; `label` is the target in words.

    ``name`` is the constraint's, ``key`` and ``title`` its measure's. ``rates`` are the names of the rates compared;
    ``definitions`` has for each the counts above and below the line.

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
        "kind": definition.kind,
        "reference": definition.reference,
        "rates": list(definition.rates),
        "definitions": {name: [list(above), list(below)] for name, (above, below) in definition.rates.items()},
    }


def requirement(constraint: Constraint, label: str) -> str:
    """What a constraint requires, as the end of a sentence."""
    reference = None if constraint.reference is None else group_name(constraint.reference)
    if constraint.ratio is not None:
        rates = " and the ".join(_PREDICTED.get(rate, rate) for rate in definition_of(constraint).rates)
        times = f"at least {constraint.ratio:.3g} times that of {'any other' if reference is None else reference}"
        return f"the {rates.replace('{label}', label)} of each group is {times}."
    rates = constraint.rates.replace("{label}", label)
    between = "between groups" if reference is None else f"from that of {reference}"
    return f"{rates} may differ {between} by at most {points(constraint.tol)}."


def _compared(constraint: Constraint, plain: Definition) -> Definition:
    """The measure of a constraint with a ratio or a reference group."""
    reference = None if constraint.reference is None else group_name(constraint.reference)
    to = "" if reference is None else f" to {reference}"
    if constraint.ratio is None:
        return replace(plain, name=f"{plain.name}_to_reference", title=f"{plain.title}{to}", reference=reference)
    rates: dict[str, Share] = {}
    for name, (_, below) in plain.rates.items():
        share = (tuple(count for count in below if count in ("tp", "fp")), below)
        rates[next((known for known in RATES if RATES[known] == share), name)] = share
    title = f"1 - {', '.join(_TITLES.get(name, name) for name in rates)} ratio{to}"
    name = f"{plain.name}_shortfall"
    return replace(plain, name=name, rates=rates, kind="shortfall", title=title, reference=reference)


_TITLES = {"tpr": "TPR", "fpr": "FPR"}
_PREDICTED = {"tpr": "true positive rate", "fpr": "false positive rate", "selection": "share predicted {label}"}


def _difference(constraint: Constraint) -> Definition:
    cells = Cells.of(constraint, n_groups=2)
    rates: dict[str, Share] = {}
    for event, above, below in zip(cells.names, cells.numerator @ ADDS, cells.denominator @ ADDS, strict=True):
        if not np.isin([above, below], (0.0, 1.0)).all() or (above > below).any():
            adds = "; ".join(f"{name} {k:g} of {n:g}" for name, k, n in zip(COUNTS, above, below, strict=True))
            raise InputError(
                f"{type(constraint).__name__} cannot be measured with an interval: the rate of its event {event!r} is"
                f" not a share of rows, where each row adds 0 or 1 to the numerator and the denominator. Here: {adds}."
            )
        share = (tuple(compress(COUNTS, above)), tuple(compress(COUNTS, below)))
        name = next((name for name in RATES if RATES[name] == share), f"{constraint.measure}, {event}")
        rates[name if rates.get(name, share) == share else f"{name} ({len(rates)})"] = share
    return Definition(constraint.measure, rates, "difference", constraint.title, first_line(type(constraint)))


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
