"""Measuring given predictions by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairalm._validation import Attributes, Groups, Missing, check_choice, encode_groups
from fairalm.constraints import EqualOpportunity
from fairalm.exceptions import InputError
from fairalm.measures import MEASURES, GroupRates, group_rates, splits_entry
from fairalm.measures.weights import check_weights
from fairalm.runs.metrics import data_entry, measures_in, metrics, verdict
from fairalm.runs.source import read_data


@dataclass(frozen=True)
class Predictions:
    """Given predictions: a file with the columns of the label, of the predicted label and of the protected attributes.

    The further parameters are those of :class:`fairalm.runs.Source`, and the tolerance of the verdicts.
    """

    data: str
    target: str
    prediction: str
    protected: Sequence[str]
    positive: str | None = None
    missing: Missing = "error"
    merge_below: int | None = None
    tol: float = 0.01
    attributes: Attributes = "crossed"
    weight: str | None = None


@dataclass(frozen=True)
class Audit:
    """Counts, rates and gaps of given predictions; `metrics` is the content of a metrics.json."""

    given: Predictions
    groups: Groups
    rates: GroupRates
    metrics: dict[str, Any]


def audit(given: Predictions, *, command: str = "") -> Audit:
    """Measure given predictions."""
    EqualOpportunity(tol=given.tol)  # refuses what is no tolerance
    frame, _ = read_data(given.data)
    protected = list(dict.fromkeys(given.protected))
    columns = list(dict.fromkeys((given.target, given.prediction, *protected, *filter(None, (given.weight,)))))
    for column in columns:
        check_choice("column", column, frame.columns)
    weight = None
    if given.weight is not None:  # rows of weight 0 stand for nobody
        weight = check_weights(frame[given.weight], len(frame), f"Column {given.weight!r}")
        frame, weight = frame[weight > 0], weight[weight > 0]
    chosen: Any = {name: getattr(given, name) for name in ("missing", "merge_below", "attributes")}
    groups = encode_groups(frame[protected], **chosen)
    positive, (y, predicted) = _positive(given, frame), (frame[given.target], frame[given.prediction])
    measured: Any = {"sensitive_features": groups, "target": positive, "sample_weight": weight}
    entry = splits_entry(y, predicted, **measured)
    gaps = [gap for name, gap in measures_in(entry).items() if MEASURES[name].kind == "difference"]
    config = {
        name: getattr(given, name) for name in ("target", "prediction", "protected", "attributes", "weight", "tol")
    }
    result = metrics(
        command=command,
        data=data_entry(given.data, frame[columns], y, groups, weight) | {"dropped": int((groups.codes < 0).sum())},
        config=config | {"positive": positive},
        splits={"audit": entry},
        verdicts={gap.name: verdict(gap, given.tol) for gap in gaps},
    )
    return Audit(given, groups, group_rates(y, predicted, **measured), result)


def _positive(given: Predictions, frame: pd.DataFrame) -> Any:
    """The positive label, after checking that both columns hold the same two."""
    labels: dict[Any, None] = {}
    for column in (given.target, given.prediction):
        if absent := int(frame[column].isna().sum()):
            raise InputError(f"Column {column!r} has {absent} missing values: drop or fill those rows first.")
        labels |= dict.fromkeys(frame[column].tolist())
    shown = ", ".join(repr(label) for label in list(labels)[:5]) + (", ..." if len(labels) > 5 else "")
    if len({str(label) for label in labels}) > 2 or len({type(label) is str for label in labels}) > 1:
        raise InputError(
            f"Columns {given.target!r} and {given.prediction!r} must hold the same two labels; they hold {shown}:"
            " turn scores into labels first."
        )
    if given.positive is not None:
        for label in labels:
            if str(label) == given.positive:  # "1" is 1
                return label
        raise InputError(f"{{positive}} is not a label: there are {shown}.", positive=given.positive)
    if len(labels) < 2:
        raise InputError(f"Only the label {shown} occurs: say with {{positive}} which one is positive.", positive=None)
    return max(labels)
