"""Every measure, computed from the counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairalm.arrays import IntArray
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.measures.definitions import MEASURES, Definition, definition_of
from fairalm.measures.intervals import range_interval, rate_interval, ratio_interval
from fairalm.measures.measure import Measure
from fairalm.measures.rates import GroupRates, group_rates

SMALL_CELL = 10  # rows; below this a measure's note names the cell


def measure_of(
    which: str | Constraint | type[Constraint], rates: GroupRates, *, level: float = 0.95, train: bool = False
) -> Measure:
    """Compute one measure from counts.

    Parameters
    ----------
    which : str or Constraint
        A key of ``MEASURES``, or a constraint, built in or your own: the largest difference of its rates.
    rates : GroupRates
        The counts, from :func:`group_rates`.
    level : float
        Nominal coverage of the interval.
    train : bool
        The model was fitted on these rows: no interval, and the measure says so.

    Examples
    --------
    >>> rates = group_rates([1, 1, 1, 0], [1, 0, 1, 1], sensitive_features=["a", "a", "a", "b"])
    >>> print(measure_of("deo", rates))
    undefined (0 people in b, y=1)
    """
    definition = definition_of(which)
    k, n = (np.stack(counts) for counts in zip(*map(rates.counts, definition.rates.values()), strict=True))
    if definition.kind == "overall":
        k, n = k.sum(keepdims=True), n.sum(keepdims=True)
    used = n[n > 0]
    undefined = _why_undefined(definition, rates, k, n)
    value = low = high = signed = None
    if not undefined:
        value, signed = _value(definition, k, n)
        if not train:
            interval = {"overall": rate_interval, "difference": range_interval, "ratio": ratio_interval}
            low, high = (float(np.squeeze(end)) for end in interval[definition.kind](k, n, level))
    n_all, n_min = int(used.sum()), int(used.min(initial=used.sum()))
    note = undefined or _note(definition, rates, n)
    return Measure(definition.name, value, low, high, n_all, n_min, signed, note, "train" if train else "heldout")


def measures_of(
    rates: GroupRates, *, level: float = 0.95, train: bool = False, constraint: Constraint | None = None
) -> dict[str, Measure]:
    """Compute every registered measure from counts, and that of your own `constraint`; see :func:`measure_of`."""
    measures = {name: measure_of(name, rates, level=level, train=train) for name in MEASURES}
    if constraint is not None and definition_of(constraint).name not in MEASURES:
        measures[constraint.measure] = measure_of(constraint, rates, level=level, train=train)
    return measures


def measure_all(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    constraint: Constraint | None = None,
    level: float = 0.95,
    train: bool = False,
) -> dict[str, Measure]:
    """Compute every registered measure, and that of your own `constraint`, from labels and predictions.

    `level` and `train` are those of :func:`measure_of`, the other parameters those of :func:`group_rates`.

    Examples
    --------
    >>> y_true, y_pred = [1] * 40 + [0] * 40, [1] * 30 + [0] * 10 + [0] * 40
    >>> sex = ["F", "M"] * 40
    >>> print(measure_all(y_true, y_pred, sensitive_features=sex)["error"])
    12.5 % [6.6, 21.5]
    """
    rates = group_rates(y_true, y_pred, sensitive_features=sensitive_features, target=target)
    return measures_of(rates, level=level, train=train, constraint=constraint)


@dataclass(frozen=True)
class MeasureFunction:
    """The measure ``MEASURES[name]`` as a function of labels and predictions.

    Examples
    --------
    >>> y_true, y_pred = [1] * 80, [1] * 60 + [0] * 20
    >>> print(deo(y_true, y_pred, sensitive_features=["F"] * 40 + ["M"] * 40))
    50.0 % [32.6, 65.0]
    >>> print(error(y_true, y_pred))
    25.0 % [16.5, 35.5]
    """

    name: str

    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any = None,
        target: Any = None,
        level: float = 0.95,
        train: bool = False,
    ) -> Measure:
        """Measure predictions; parameters as in :func:`measure_all`, but the error needs no `sensitive_features`."""
        if sensitive_features is None:
            if MEASURES[self.name].kind != "overall":
                raise InputError(f"`sensitive_features` is missing: {self.name} compares groups, one value per row.")
            sensitive_features = np.zeros(len(y_true), dtype=np.int64)
        rates = group_rates(y_true, y_pred, sensitive_features=sensitive_features, target=target)
        return measure_of(self.name, rates, level=level, train=train)


error = MeasureFunction("error")
deo = MeasureFunction("deo")
fpr_gap = MeasureFunction("fpr_gap")
equalized_odds = MeasureFunction("equalized_odds")
ddp = MeasureFunction("ddp")
error_parity = MeasureFunction("error_parity")
predictive_parity = MeasureFunction("predictive_parity")
dp_ratio = MeasureFunction("dp_ratio")
deo_ratio = MeasureFunction("deo_ratio")
equalized_odds_ratio = MeasureFunction("equalized_odds_ratio")


def _value(definition: Definition, k: IntArray, n: IntArray) -> tuple[float, float | None]:
    """Return the worst event's value and, for a difference between two groups, mu0 - mu1."""
    p = k / np.where(n > 0, n, np.nan)
    if definition.kind == "overall":
        return float(p.item()), None
    largest, smallest = np.nanmax(p, axis=1), np.nanmin(p, axis=1)
    if definition.kind == "ratio":
        return float(np.min(smallest / largest)), None
    worst = int(np.argmax(largest - smallest))
    signed = float(p[worst, 0] - p[worst, 1]) if p.shape[1] == 2 else None
    return float(largest[worst] - smallest[worst]), signed


def _why_undefined(definition: Definition, rates: GroupRates, k: IntArray, n: IntArray) -> str:
    """Return "" if the measure is defined. It needs two non-empty cells in every event."""
    if definition.kind == "overall":
        return "" if n.any() else "undefined (0 people)"
    if len(rates.names) == 1:
        return f"undefined (only one group: {rates.names[0]})"
    short = (n > 0).sum(axis=1) < 2
    if short.any():
        return f"undefined ({_cells(definition, rates, n, (n == 0) & short[:, None])})"
    if definition.kind == "ratio" and not k.any(axis=1).all():
        event = rates.event(list(definition.rates.values())[int(np.argmin(k.any(axis=1)))])
        return f"undefined (every rate is 0{', ' * bool(event)}{event})"
    return ""


def _note(definition: Definition, rates: GroupRates, n: IntArray) -> str:
    if definition.kind == "overall":
        return f"small cell: {n.item()} people" if n.item() < SMALL_CELL else ""
    named = {"left out": n == 0, "small cell": (n > 0) & (n < SMALL_CELL)}
    return "; ".join(f"{text}: {_cells(definition, rates, n, cells)}" for text, cells in named.items() if cells.any())


def _cells(definition: Definition, rates: GroupRates, n: IntArray, chosen: Any) -> str:
    """Say in words which cells, at most three of them: "4 people in Female, y=1"."""
    texts, events = [], [rates.event(share) for share in definition.rates.values()]
    for event, group in np.argwhere(chosen)[:3]:
        where = ", ".join(filter(None, (rates.names[group], events[event])))
        count = int(n[event, group])
        texts.append(f"{count} {'person' if count == 1 else 'people'} in {where}")
    others = int(chosen.sum()) - len(texts)
    return "; ".join(texts) + (f"; and {others} more" if others else "")
