"""Measuring given predictions by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairalm._validation import Groups, Missing, check_choice, encode_groups
from fairalm.constraints import EqualOpportunity
from fairalm.exceptions import InputError
from fairalm.measures import MEASURES, GroupRates, Measure, group_rates, measures_of, splits_entry
from fairalm.runs.metrics import data_entry, metrics, verdict
from fairalm.runs.source import read_data


@dataclass(frozen=True)
class Audit:
    """Counts, rates and gaps of given predictions."""

    data: str
    frame: pd.DataFrame  # the columns that were used
    config: dict[str, Any]
    groups: Groups
    rates: GroupRates

    @property
    def measures(self) -> dict[str, Measure]:
        """Every measure with its interval."""
        return measures_of(self.rates)

    @property
    def verdicts(self) -> dict[str, str]:
        """Whether each gap is within the tolerance: met, not met, cannot tell or undefined."""
        gaps = {name: gap for name, gap in self.measures.items() if MEASURES[name].kind == "difference"}
        return {name: verdict(gap, self.config["tol"]) for name, gap in gaps.items()}

    @property
    def n_dropped(self) -> int:
        """Rows without a protected value, if they are left out."""
        return int((self.groups.codes < 0).sum())

    def metrics(self, command: str = "") -> dict[str, Any]:
        """The content of a metrics.json."""
        y, predicted = self.frame[self.config["target"]], self.frame[self.config["prediction"]]
        positive = self.config["positive"]
        return metrics(
            command=command,
            data=data_entry(self.data, self.frame, y, self.groups) | {"dropped": self.n_dropped},
            config=self.config,
            splits={"audit": splits_entry(y, predicted, sensitive_features=self.groups, target=positive)},
            verdicts=self.verdicts,
        )


def audit(
    data: str,
    *,
    target: str,
    prediction: str,
    protected: Sequence[str],
    positive: str | None = None,
    missing: Missing = "error",
    merge_below: int | None = None,
    tol: float = 0.01,
) -> Audit:
    """Measure given predictions.

    Parameters
    ----------
    data : str
        A .csv or .parquet file.
    target, prediction : str
        Columns of the label and of the predicted label, with the same two values.
    protected, positive, missing, merge_below
        As in :class:`fairalm.runs.Source`.
    tol : float
        Tolerance for the verdicts.
    """
    EqualOpportunity(tol=tol)  # refuses what is no tolerance
    frame, _ = read_data(data)
    columns = list(dict.fromkeys((target, prediction, *protected)))
    for column in columns:
        check_choice("column", column, frame.columns)
    groups = encode_groups(frame[list(dict.fromkeys(protected))], missing=missing, merge_below=merge_below)
    label = _positive_label(frame, target, prediction, positive)
    rates = group_rates(frame[target], frame[prediction], sensitive_features=groups, target=label)
    config = {"target": target, "prediction": prediction, "protected": protected, "positive": label, "tol": tol}
    return Audit(data, frame[columns], config, groups, rates)


def _positive_label(frame: pd.DataFrame, target: str, prediction: str, positive: str | None) -> Any:
    """The positive label, after checking that both columns hold the same two."""
    for column in (target, prediction):
        absent = int(frame[column].isna().sum())
        if absent:
            raise InputError(f"Column {column!r} has {absent} missing values: drop or fill those rows first.")
    labels = list(dict.fromkeys([*frame[target].tolist(), *frame[prediction].tolist()]))
    if len({str(label) for label in labels}) > 2 or len({type(label) is str for label in labels}) > 1:
        shown = ", ".join(repr(label) for label in labels[:5]) + (", ..." if len(labels) > 5 else "")
        raise InputError(
            f"Columns {target!r} and {prediction!r} must hold the same two labels; they hold {shown}:"
            " turn scores into labels first."
        )
    if positive is not None:
        for label in labels:
            if str(label) == positive:  # "1" is 1
                return label
        known = ", ".join(repr(label) for label in labels)
        raise InputError(f"{{positive}} is not a label: there are {known}.", positive=positive)
    if len(labels) < 2:
        raise InputError(
            f"Only the label {labels[0]!r} occurs: say with {{positive}} which label counts as positive.", positive=None
        )
    return max(labels)
