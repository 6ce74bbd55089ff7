"""The registry of measures and how each is computed from the counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairalm._validation import IntArray
from fairalm.exceptions import InputError
from fairalm.measures.intervals import range_interval, rate_interval, ratio_interval
from fairalm.measures.measure import Measure
from fairalm.measures.rates import GroupRates, group_rates

SMALL_CELL = 10  # people; below this a measure's note names the cell


@dataclass(frozen=True)
class Definition:
    """What a measure compares, and how.

    Attributes
    ----------
    rates : tuple of str
        Rates compared over the groups, one per event; the worst event counts.
    kind : {"overall", "difference", "ratio"}
        One rate of everyone; largest minus smallest; smallest over largest.
    description : str
        One line for tables and help.
    """

    rates: tuple[str, ...]
    kind: Literal["overall", "difference", "ratio"]
    description: str


MEASURES: Mapping[str, Definition] = {
    "error": Definition(("error",), "overall", "share of wrong predictions"),
    "deo": Definition(("fnr",), "difference", "difference of equal opportunity: TPR (or FNR) over the groups"),
    "fpr_gap": Definition(("fpr",), "difference", "difference of false positive rates"),
    "equalized_odds": Definition(("fnr", "fpr"), "difference", "larger of the TPR and FPR differences"),
    "ddp": Definition(("selection",), "difference", "difference of demographic parity: selection rates"),
    "error_parity": Definition(("error",), "difference", "difference of error rates (the paper's DP)"),
    "predictive_parity": Definition(("fdr",), "difference", "difference of FDR (or PPV) among predicted positives"),
    "dp_ratio": Definition(("selection",), "ratio", "smallest over largest selection rate"),
    "deo_ratio": Definition(("tpr",), "ratio", "smallest over largest true positive rate"),
    "equalized_odds_ratio": Definition(("tpr", "fpr"), "ratio", "smaller of the TPR and FPR ratios"),
}


def measure_of(name: str, rates: GroupRates, *, level: float = 0.95, train: bool = False) -> Measure:
    """Compute one registered measure from counts.

    Parameters
    ----------
    name : str
        A key of ``MEASURES``.
    rates : GroupRates
        The counts.
    level : float
        Nominal coverage of the interval.
    train : bool
        The model was fitted on these people: no interval, and the measure says so.

    Examples
    --------
    >>> rates = group_rates([1, 1, 1, 0], [1, 0, 1, 1], sensitive_features=["a", "a", "a", "b"])
    >>> print(measure_of("deo", rates))
    undefined (0 people in b, y=1)
    """
    if name not in MEASURES:
        raise InputError(f"There is no measure {name!r}; choose from {', '.join(MEASURES)}.")
    definition = MEASURES[name]
    if definition.kind == "overall":
        k, n = (counts.sum(keepdims=True)[None] for counts in rates.counts(definition.rates[0]))
    else:
        k, n = (np.stack(counts) for counts in zip(*map(rates.counts, definition.rates), strict=True))
    used = n[n > 0]
    undefined = _why_undefined(definition, rates, k, n)
    value = low = high = signed = None
    if not undefined:
        value, signed = _value(definition, k, n)
        if not train:
            interval = {"overall": rate_interval, "difference": range_interval, "ratio": ratio_interval}
            ends = interval[definition.kind](k, n, level)
            low, high = (float(np.squeeze(end)) for end in ends)
    return Measure(
        name,
        value,
        low,
        high,
        n=int(used.sum()),
        n_min=int(used.min(initial=used.sum())),
        signed=signed,
        note=undefined or _note(definition, rates, n),
        split="train" if train else "heldout",
    )


def measures_of(rates: GroupRates, *, level: float = 0.95, train: bool = False) -> dict[str, Measure]:
    """Compute every registered measure from counts; parameters as in :func:`measure_of`."""
    return {name: measure_of(name, rates, level=level, train=train) for name in MEASURES}


def measure_all(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    target: Any = None,
    level: float = 0.95,
    train: bool = False,
) -> dict[str, Measure]:
    """Compute every registered measure; the people are counted once.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, target
        As in :func:`group_rates`.
    level, train
        As in :func:`measure_of`.

    Examples
    --------
    >>> y_true, y_pred = [1] * 40 + [0] * 40, [1] * 30 + [0] * 10 + [0] * 40
    >>> sex = ["F", "M"] * 40
    >>> print(measure_all(y_true, y_pred, sensitive_features=sex)["error"])
    12.5 % [6.6, 21.5]
    """
    rates = group_rates(y_true, y_pred, sensitive_features=sensitive_features, target=target)
    return measures_of(rates, level=level, train=train)


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
    zero = [rates.event(rate) for rate, counts in zip(definition.rates, k, strict=True) if not counts.any()]
    if definition.kind == "ratio" and zero:
        return f"undefined (every rate is 0{', ' + zero[0] if zero[0] else ''})"
    return ""


def _note(definition: Definition, rates: GroupRates, n: IntArray) -> str:
    if definition.kind == "overall":
        return f"small cell: {n.item()} people" if n.item() < SMALL_CELL else ""
    parts = []
    if (n == 0).any():
        parts.append(f"left out: {_cells(definition, rates, n, n == 0)}")
    small = (n > 0) & (n < SMALL_CELL)
    if small.any():
        parts.append(f"small cell: {_cells(definition, rates, n, small)}")
    return "; ".join(parts)


def _cells(definition: Definition, rates: GroupRates, n: IntArray, chosen: Any) -> str:
    """Say in words which cells, at most three of them: "4 people in Female, y=1"."""
    texts = []
    for event, group in np.argwhere(chosen)[:3]:
        where = ", ".join(filter(None, (rates.names[group], rates.event(definition.rates[event]))))
        count = int(n[event, group])
        texts.append(f"{count} {'person' if count == 1 else 'people'} in {where}")
    others = int(chosen.sum()) - len(texts)
    return "; ".join(texts) + (f"; and {others} more" if others else "")
