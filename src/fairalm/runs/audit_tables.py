"""The tables of an audit: each group's rate beside that of the reference group, with tests and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairalm._coding import group_name
from fairalm._validation import Groups, no_such
from fairalm.arrays import BoolArray, IntArray
from fairalm.constraints import DemographicParity
from fairalm.exceptions import InputError
from fairalm.measures import (
    MEASURES,
    Against,
    GroupRates,
    LabelRates,
    Measure,
    compare_to_reference,
    holm,
    measure_of,
    rate_interval,
    rates_entry,
)
from fairalm.measures.quantiles import PARTS
from fairalm.measures.rates import COUNTS
from fairalm.runs.decisions import CountedDecisions
from fairalm.runs.metrics import measures_in, verdict

FOUR_FIFTHS = 0.8
JUDGED = 50  # times the rows of a group must reach all rows: 29 CFR 1607.15(A)(2)(a) is about groups of at least 2 %
SHOWN = ("selection", "tpr", "fpr")  # rates at a threshold; without outcomes only the first
Entry = dict[str, Any]


def attribute_name(columns: Sequence[str]) -> str:
    """The name of one attribute or of several crossed ones."""
    return group_name(tuple(columns))


def find_reference(references: Sequence[str], groups: Groups, parts: Sequence[Groups]) -> str | None:
    """The reference group of a table among those named, or None.

    `parts` are the groups of each column. A crossed table has the crossed group that is named, or else the one that
    crosses the references of its columns.
    """
    own = [name for name in references if name in groups.names]
    if not own and len(parts) > 1:
        each = [find_reference(references, part, [part]) for part in parts]
        crossed = group_name(tuple(each))
        own = [crossed] if None not in each and crossed in groups.names else []
    if len(own) > 1:
        raise InputError(
            f"{{reference}} names two groups of one attribute, {' and '.join(own)}: name one.", reference=None
        )
    return own[0] if own else None


def check_references(references: Sequence[str], tables: Sequence[Groups]) -> None:
    """Refuse a reference that is no group of any table."""
    known = list(dict.fromkeys(name for groups in tables for name in groups.names))
    for name in references:
        if name not in known:
            raise no_such("group", name, known)


def comparison(
    counted: CountedDecisions, columns: Sequence[str], groups: Groups, chosen: BoolArray, reference: str | None
) -> Entry:
    """One table: how many of each group are chosen, against the reference group, with the verdicts.

    Groups of unknown value are counted, and left out of everything else.
    """
    rates, unknown = counted.rates(groups, chosen), unknown_entry(counted, groups, chosen)
    return compared(rates, columns, reference, unknown, counted.given.tol)


def compared(
    rates: GroupRates,
    columns: Sequence[str],
    reference: str | None,
    unknown: Entry,
    tol: float,
    label: str | None = None,
) -> Entry:
    """The same from counts; without a reference it is the group with the highest rate of those that are judged.

    For one `label` of several it is the largest group, and no ratio is judged: a label may be good or bad to have.
    """
    k, n = rates.counts("selection")
    judged, total = _judged(n, reference, rates.names), int(n.sum())
    is_largest = reference is None and label is not None
    place, against = _against(rates, judged, rates.names[int(np.argmax(n))] if is_largest else reference)
    rows, verdicts = rate_rows(rates, "selection"), _verdicts(some_groups(rates, judged), reference, tol)
    if label is not None:
        del verdicts["ratio"]
    return {
        "attribute": attribute_name(columns),
        **({} if label is None else {"label": label}),
        "columns": list(columns),
        "rows": total,
        "reference": rates.names[place],
        "reference_is": "largest group" if is_largest else "highest rate" if reference is None else "given",
        "groups": {
            name: {
                "n": int(n[code]),
                "selected": int(k[code]),
                "share": int(n[code]) / total,
                "rate": rows[code],
                "against": None if own is None else own.to_dict(),
            }
            for code, (name, own) in enumerate(zip(rates.names, against, strict=True))
        },
        "unknown": unknown,
        "judged": [rates.names[code] for code in judged],
        **verdicts,
    }


def outcomes(counted: CountedDecisions, columns: Sequence[str], groups: Groups) -> Entry:
    """Every measure of decisions whose outcomes are known, as metrics.json has them, and whether each gap is met."""
    assert counted.selected is not None
    return measured(counted.rates(groups, counted.selected, counted.outcome), columns, counted.given.tol)


def measured(rates: GroupRates, columns: Sequence[str], tol: float) -> Entry:
    """The same from counts."""
    entry = rates_entry(rates)
    gaps = {name: own for name, own in measures_in(entry).items() if MEASURES[name].kind == "difference"}
    verdicts = {name: verdict(gap, tol) for name, gap in gaps.items()}
    return {"attribute": attribute_name(columns), **entry, "verdicts": verdicts}


def thresholds(counted: CountedDecisions, columns: Sequence[str], groups: Groups) -> Entry:
    """Each group's rates if everybody with a score above a decile were selected."""
    assert counted.deciles is not None
    points = []
    for tenths in range(1, PARTS):
        rates = counted.rates(groups, counted.above_decile(tenths), counted.outcome)
        shown = {rate: rate_rows(rates, rate) for rate in SHOWN[: 1 if counted.outcome is None else None]}
        points.append(
            {
                "decile": tenths,
                "threshold": float(counted.deciles[tenths - 1]),
                "ratio": measure_of("dp_ratio", rates).to_dict(),
                "groups": {
                    name: {rate: rows[code] for rate, rows in shown.items()} for code, name in enumerate(rates.names)
                },
            }
        )
    return {"attribute": attribute_name(columns), "points": points}


def rate_rows(rates: GroupRates, rate: str) -> list[Entry]:
    """Value, interval, and the rows above (k) and below (n) the line of a rate, per group."""
    k, n = rates.counts(rate)
    low, high = rate_interval(*rates.effective(rate))
    columns = (rates.value(rate), low, high)
    return [
        {
            **{name: _number(column[code]) for name, column in zip(("value", "low", "high"), columns, strict=True)},
            "k": int(k[code]),
            "n": int(n[code]),
        }
        for code in range(len(n))
    ]


def ratio_verdict(measure: Measure) -> str:
    """Judge a ratio of rates by its interval against four-fifths, as :func:`verdict` judges a gap."""
    if measure.low is None or measure.high is None:
        return "undefined"
    if measure.low >= FOUR_FIFTHS:
        return "met"
    return "not met" if measure.high < FOUR_FIFTHS else "cannot tell"


def _judged(n: IntArray, reference: str | None, names: Sequence[str]) -> IntArray:
    """Places of the groups that verdicts are about: those of at least 2 % of the rows, and a reference that is named.

    If there are not two of them, all groups.
    """
    is_judged = (JUDGED * n >= n.sum()) | np.array([name == reference for name in names])
    return np.flatnonzero(is_judged if is_judged.sum() > 1 else n > 0)


def _against(rates: GroupRates, judged: IntArray, reference: str | None) -> tuple[int, list[Against | None]]:
    """Each group against the reference: the one that is named, or the highest rate of those that are judged."""
    k, n = rates.effective("selection")
    if reference is not None:
        return compare_to_reference(k, n, rates.names.index(reference))
    place = int(judged[compare_to_reference(k[judged], n[judged])[0]])
    _, against = compare_to_reference(k, n, place)
    p = [own.p for own in against if own is not None and own.p is not None]
    corrected = iter(holm(p, (len(p) + 1) * len(p) // 2))  # for all pairs: the reference was chosen by its rate
    return place, [
        own if own is None or own.p is None else replace(own, p_holm=float(next(corrected))) for own in against
    ]


def some_groups(rates: GroupRates, kept: IntArray) -> GroupRates:
    """The counts of some of the groups."""
    counts = {name: getattr(rates, name)[kept] for name in COUNTS}
    weights = rates.weights and rates.weights.map(lambda sums: sums[kept])
    return replace(rates, names=tuple(rates.names[code] for code in kept), **counts, blocks=(), weights=weights)


def _verdicts(rates: GroupRates, reference: str | None, tol: float) -> Entry:
    """The smallest ratio and the largest difference of these groups over all pairs, or over those with a reference."""
    if reference is None:
        ratio, difference = measure_of("dp_ratio", rates), difference_of(rates, None, tol)
    else:
        difference = difference_of(rates, reference, tol)
        short = measure_of(DemographicParity(ratio=FOUR_FIFTHS, reference=reference), rates)
        value, high, low = (None if end is None else 1 - end for end in (short.value, short.low, short.high))
        ratio = replace(short, value=value, low=low, high=high)
    return {
        "ratio": {**ratio.to_dict(), "limit": FOUR_FIFTHS, "verdict": ratio_verdict(ratio)},
        "difference": judged_difference(difference, tol),
    }


def judged_difference(difference: Measure, tol: float) -> Entry:
    """A difference with its limit and verdict."""
    return {**difference.to_dict(), "limit": tol, "verdict": verdict(difference, tol)}


def difference_of(rates: GroupRates | LabelRates, reference: str | None, tol: float) -> Measure:
    """The largest difference of the shares selected over all pairs of groups, or over those with a reference."""
    return measure_of("ddp" if reference is None else DemographicParity(tol=tol, reference=reference), rates)


def unknown_entry(counted: CountedDecisions, groups: Groups, chosen: BoolArray) -> Entry:
    """How many rows are in no group, and how many of them are chosen."""
    rows, absent = counted.counts.rows, groups.codes < 0
    if counted.given.missing == "drop":
        absent = np.zeros_like(absent)
    n, k = int(rows[absent].sum()), int(rows[absent & chosen].sum())
    return {"n": n, "selected": k, "rate": k / n if n else None}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
