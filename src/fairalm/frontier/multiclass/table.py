"""The frontier of several labels as a table, with figures of rows that the models had not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fairalm.arrays import IntArray
from fairalm.constraints import Constraint
from fairalm.frontier.multiclass.curve import LabelPoint
from fairalm.frontier.multiclass.sample import LabelSample
from fairalm.frontier.table import out_of_fold_rates, worst_gap
from fairalm.measures import LabelRates, measure_of

RATES = ("tpr", "fpr", "selection")


def label_rates_of(sample: LabelSample, targets: Sequence[int], predicted: IntArray) -> LabelRates:
    """The confusion counts of predictions, out of fold."""
    each = {
        sample.labels[k]: replace(out_of_fold_rates(sample.against_rest[k], predicted == k), target=sample.labels[k])
        for k in targets
    }
    all_rows = replace(sample.against_rest[0], positive=np.ones(len(predicted), dtype=bool))
    return LabelRates(each, out_of_fold_rates(all_rows, predicted == sample.label))


def point_figures(point: LabelPoint, sample: LabelSample, targets: Sequence[int]) -> dict[str, Any]:
    """Error, gap and the rates of every label and group, out of fold, and what the probabilities themselves prove."""
    rates = label_rates_of(sample, targets, point.rule.predict(sample.joint))
    own = {name: getattr(point, name) for name in ("cost", "bound", "certificate", "ties", "excess")}
    return _figures(rates, point.asked.constraints) | own


def label_baselines(constraints: Sequence[Constraint], sample: LabelSample, targets: Sequence[int]) -> pd.DataFrame:
    """The plain model, and for each label the classifier that predicts it for everyone."""
    constants = {f"all {label}": np.full(len(sample.plain), k) for k, label in enumerate(sample.labels)}
    return pd.DataFrame(
        [
            {"model": name} | _figures(label_rates_of(sample, targets, predicted), constraints)
            for name, predicted in {"plain": sample.plain, **constants}.items()
        ]
    )


def _figures(rates: LabelRates, constraints: Sequence[Constraint]) -> dict[str, Any]:
    """The largest gap over the labels is "gap", and that of one label "gap[label]"; rates are "tpr[label, group]"."""
    measures = {("error", ""): measure_of("error", rates), ("gap", ""): worst_gap(constraints, rates)}
    measures |= {("gap", f"[{label}]"): worst_gap(constraints, own) for label, own in rates.each.items()}
    figures: dict[str, Any] = {}
    for (name, of), measure in measures.items():
        figures |= {f"{name}{of}": measure.value, f"{name}_low{of}": measure.low, f"{name}_high{of}": measure.high}
    for label, own in rates.each.items():
        for rate in RATES:
            values = zip(own.names, own.value(rate), strict=True)
            figures |= {f"{rate}[{label}, {group}]": float(value) for group, value in values}
    return figures
