"""What changes from one model to another, measured on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairalm._validation import Attributes
from fairalm.arrays import FloatArray, IntArray
from fairalm.constraints import Constraint
from fairalm.measures.compared import ComparedCells
from fairalm.measures.definitions import MEASURES, Definition, definition_of
from fairalm.measures.gaps import value_of
from fairalm.measures.intervals import difference_interval, quotient_interval
from fairalm.measures.paired import PairedRates, paired_rates
from fairalm.measures.paired_intervals import INFINITE, Contrasts, PairedCells, gap_change, rate_changes, ratio_change
from fairalm.measures.rates import RATES, Share
from fairalm.measures.text import with_interval

MOST = 400  # contrasts; of more, those that may be the largest under either model are kept


@dataclass(frozen=True)
class Change:
    """A number after minus before, as a share: 0.01 is one point.

    Attributes
    ----------
    value, low, high : float or None
        The change and the ends of its interval, in [-1, 1]; None when it is undefined, and `note` says why.
    n : int
        Rows that it rests on.
    note : str
        Names small or empty cells; "" if there are none.

    Examples
    --------
    >>> print(Change(-0.095, -0.139, -0.051, n=1200))
    -9.5 [-13.9, -5.1]
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return self.note if self.value is None else with_interval(self.value, self.low, self.high, unit="", sign="+")


@dataclass(frozen=True)
class Changes:
    """Changes of measures, by name, and of each group's rates, by group and rate."""

    measures: Mapping[str, Change]
    groups: Mapping[str, Mapping[str, Change]]

    def to_dict(self) -> dict[str, Any]:
        """Return what metrics.json has under ``changes``."""
        groups = {group: {rate: change.to_dict() for rate, change in row.items()} for group, row in self.groups.items()}
        return {**{name: change.to_dict() for name, change in self.measures.items()}, "groups": groups}


def paired_changes(
    y_true: Any,
    before: Any,
    after: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    constraint: Constraint | None = None,
    attributes: Attributes = "crossed",
    sample_weight: Any = None,
    level: float = 0.95,
) -> Changes:
    """Compare two models on the same rows: after minus before, with intervals.

    The models agree on most rows, and the interval knows it: it is narrower than that of a difference between two
    models on different rows.

    Parameters
    ----------
    y_true : array-like
        Labels.
    before, after : array-like
        Labels predicted by the first and by the second model, for the same rows in the same order.
    sensitive_features, target, attributes, sample_weight
        As in :func:`group_rates`.
    constraint : Constraint, optional
        Its measure is compared too. A gap is absolute, so its change is |after| - |before|.
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    Changes
        Of the error, the selection ratio and the constraint's measure, and of each group's rates.

    Examples
    --------
    >>> y, sex = [1] * 200, ["F"] * 100 + ["M"] * 100
    >>> plain, fair = [1] * 50 + [0] * 50 + [1] * 80 + [0] * 20, [1] * 75 + [0] * 25 + [1] * 78 + [0] * 22
    >>> from fairalm import EqualOpportunity
    >>> changes = paired_changes(y, plain, fair, sensitive_features=sex, constraint=EqualOpportunity())
    >>> print(changes.measures["deo"])
    -27.0 [-37.6, -9.5]
    >>> print(changes.groups["F"]["tpr"], changes.groups["M"]["tpr"])
    +25.0 [+16.5, +34.3] -2.0 [-7.0, +2.0]
    """
    pair = paired_rates(
        y_true,
        before,
        after,
        sensitive_features=sensitive_features,
        target=target,
        attributes=attributes,
        sample_weight=sample_weight,
    )
    return changes_of(pair, constraint=constraint, level=level)


def changes_of(pair: PairedRates, *, constraint: Constraint | None = None, level: float = 0.95) -> Changes:
    """The changes of :func:`paired_changes`, from counts."""
    own = {} if constraint is None else {definition_of(constraint).name: definition_of(constraint)}
    definitions = {"error": MEASURES["error"], **own, "dp_ratio": MEASURES["dp_ratio"]}
    shares = {name: share for name, share in RATES.items() if name != "base_rate"}  # which no model changes
    for definition in own.values():
        shares |= definition.rates
    tables = {name: _rate_changes(pair, share, level) for name, share in shares.items()}
    return Changes(
        {name: change_of(definition, pair, level=level) for name, definition in definitions.items()},
        {group: {name: rows[code] for name, rows in tables.items()} for code, group in enumerate(pair.names)},
    )


def change_of(which: str | Constraint | Definition, pair: PairedRates, *, level: float = 0.95) -> Change:
    """The change of one measure, from counts; `which` is as in :func:`measure_of`."""
    definition = which if isinstance(which, Definition) else definition_of(which)
    if definition.kind == "overall":
        return _rate_changes(pair.pooled, next(iter(definition.rates.values())), level)[0]
    before, after = (ComparedCells.of(definition, rates) for rates in (pair.before, pair.after))
    if undefined := after.why_undefined() or before.why_undefined():
        return Change(None, None, None, after.n_rows, undefined)
    value = value_of(after)[0] - value_of(before)[0]
    cells = _cells(definition, pair, before, after)
    contrasts = _contrasts(before, after)
    if definition.kind == "difference":
        low, high = gap_change(cells, *contrasts, level)
    else:
        low, high = ratio_change(cells, *contrasts, level, most=INFINITE if definition.reference is None else 1.0)
    if definition.kind == "shortfall":
        low, high = -high, -low
    return Change(value, float(low), float(high), after.n_rows, after.note())


def _rate_changes(pair: PairedRates, share: Share, level: float) -> list[Change]:
    """The change of one rate, per group."""
    (k0, n0), (k1, n1) = pair.before.effective(share), pair.after.effective(share)
    cells = PairedCells(k0, n0, k1, n1, pair.both(share), pair.correlation(share), _is_same(share, len(k0)))
    low, high = rate_changes(cells, level)
    value, rows = pair.after.value(share) - pair.before.value(share), pair.after.counts(share)[1]
    event = pair.after.event(share)
    return [
        Change(None, None, None, int(n), f"undefined (0 rows{', ' * bool(event)}{event})")
        if np.isnan(change)
        else Change(float(change), float(lower), float(upper), int(n))
        for change, lower, upper, n in zip(value, low, high, rows, strict=True)
    ]


def _is_same(share: Share, n_groups: int) -> Any:
    """Whether a rate is taken over the same rows for every model; the precision is not."""
    return np.full(n_groups, all((a in share[1]) == (b in share[1]) for a, b in (("tp", "fn"), ("fp", "tn"))))


def _cells(definition: Definition, pair: PairedRates, before: ComparedCells, after: ComparedCells) -> PairedCells:
    """The cells of a measure under both models, in the order of `before` and `after`."""
    widest, columns = before.groups.shape[1], []
    for share in definition.rates.values():
        parts = (pair.both(share), pair.correlation(share), _is_same(share, len(pair.names)))
        for place in pair.before.attributes:
            columns.append([np.pad(part[place], (0, widest - (place.stop - place.start))) for part in parts])
    both, correlation, is_same = (np.concatenate(column) for column in zip(*columns, strict=True))
    k0, n0, k1, n1 = (part.ravel() for cells in (before, after) for part in (cells.k, cells.n))
    return PairedCells(k0, n0, k1, n1, both, correlation, is_same)


def _contrasts(before: ComparedCells, after: ComparedCells) -> tuple[Contrasts, Contrasts]:
    """The cells that are compared, each with each other; if there are very many, those that may differ most."""
    width = before.groups.shape[1]
    line, first, second = np.nonzero(before.pairs)
    first, second = line * width + first, line * width + second
    usable = [(cells.n.ravel()[first] > 0) & (cells.n.ravel()[second] > 0) for cells in (before, after)]
    kept = np.full(len(line), len(line) <= MOST)
    if len(line) > MOST:
        for cells, places in zip((before, after), map(np.flatnonzero, usable), strict=True):
            for rank in _ranks(cells, first[places], second[places]):
                kept[places[np.argsort(rank)[: MOST // 4]]] = True
    old, new = (kept & own for own in usable)
    return (first[old], second[old]), (first[new], second[new])


def _ranks(cells: ComparedCells, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
    """Contrasts that may differ most have the lowest: by their value and by an end of its interval."""
    k, n, p = (part.ravel() for part in (cells.k, cells.n, cells.rates))
    counts = k[first], n[first], k[second], n[second]
    if cells.kind == "difference":
        return -(p[first] - p[second]), -difference_interval(*counts)[1]
    return p[first] / np.where(p[second] > 0, p[second], np.nan), quotient_interval(*counts)[0]  # NaN comes last
