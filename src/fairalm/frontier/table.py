"""The frontier as a table, with figures of rows that the models had not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairalm._validation import Groups
from fairalm.arrays import BoolArray
from fairalm.constraints import Constraint
from fairalm.frontier.point import Point
from fairalm.frontier.sample import Sample
from fairalm.measures import GroupRates, LabelRates, Measure, measure_of
from fairalm.measures.rates import count


def out_of_fold_rates(sample: Sample, chosen: BoolArray) -> GroupRates:
    """The confusion counts of predictions; a row of uncertain group counts for each group with its probability."""
    if sample.group.ndim == 1:
        weight = sample.weight if np.ptp(sample.weight) else None
        groups = Groups(np.asarray(sample.group, dtype=np.int64), sample.groups.labels, sample.groups.attributes)
        return count(sample.positive, chosen, groups, True, weight)
    row, group = np.nonzero(sample.group)
    weight = sample.group[row, group] * sample.weight[row]
    return count(sample.positive[row], chosen[row], Groups(group, sample.groups.labels), True, weight)


def rates_of(point: Point, sample: Sample) -> GroupRates:
    """Those of the point's rule; without weights they follow from its sums, and no row is predicted again."""
    if sample.group.ndim == 2 or np.ptp(sample.weight):
        return out_of_fold_rates(sample, point.rule.predict(sample.joint))
    groups = sample.groups
    tables = (point.accepted, sample.counts - point.accepted)
    (fp, tp), (tn, fn) = (np.rint(table / sample.weight[0] @ groups.membership).astype(np.int64) for table in tables)
    return GroupRates(groups.compared, tp=tp, fp=fp, tn=tn, fn=fn, target=True, blocks=groups.blocks)


def figures_of(point: Point, sample: Sample) -> dict[str, Any]:
    """Error, gap and the rates of every group, out of fold, and what the probabilities themselves prove."""
    figures = _figures(rates_of(point, sample), point.asked.constraints)
    return figures | {name: getattr(point, name) for name in ("cost", "bound", "certificate", "ties", "excess")}


def baseline_table(constraints: Sequence[Constraint], sample: Sample) -> pd.DataFrame:
    """The plain model, and the two classifiers that predict the same for everyone."""
    everyone = np.ones(len(sample.plain), dtype=bool)
    predictions = {"plain": sample.plain, "everyone": everyone, "nobody": ~everyone}
    return pd.DataFrame(
        [
            {"model": name} | _figures(out_of_fold_rates(sample, chosen), constraints)
            for name, chosen in predictions.items()
        ]
    )


def worst_gap(constraints: Sequence[Constraint], rates: GroupRates | LabelRates) -> Measure:
    """The largest of the constraints' gaps."""
    gaps = [measure_of(constraint, rates) for constraint in constraints]
    return max(gaps, key=lambda gap: -1.0 if gap.value is None else gap.value)


def _figures(rates: GroupRates, constraints: Sequence[Constraint]) -> dict[str, Any]:
    error, gap = measure_of("error", rates), worst_gap(constraints, rates)
    figures: dict[str, Any] = {}
    for name, measure in (("error", error), ("gap", gap)):
        figures |= {name: measure.value, f"{name}_low": measure.low, f"{name}_high": measure.high}
    figures |= {"selection": float(rates.pooled.value("selection")[0])}
    for rate in ("tpr", "fpr", "selection"):
        values = rates.value(rate)
        figures |= {f"{rate}_{name}": float(value) for name, value in zip(rates.names, values, strict=True)}
    return figures


def curve_table(
    name: str,
    values: Sequence[float],
    points: Sequence[Point],
    figures: Sequence[dict[str, Any]],
    sample: Sample,
) -> pd.DataFrame:
    """One row per point: the tolerance or ratio, the figures, and the weights of the rule."""
    rows = []
    for value, point, known in zip(values, points, figures, strict=True):
        own = {name: float(value)} | known
        for population, weights in zip(point.rule.populations, point.rule.weights, strict=True):
            names = [str(label) for label in sample.groups.names]
            own |= {f"weight_{population}_{group}": float(w) for group, w in zip(names, weights, strict=True)}
        rows.append(own)
    return pd.DataFrame(rows)
