"""Measuring given predictions by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairalm._validation import Attributes, Groups, Missing, check_choice
from fairalm.constraints import EqualOpportunity
from fairalm.exceptions import InputError
from fairalm.measures import MEASURES, Counts, GroupRates, Tally, rates_entry
from fairalm.runs.metrics import data_entry, measures_in, metrics, verdict
from fairalm.runs.source import open_data


@dataclass(frozen=True)
class Predictions:
    """Given predictions: a file with the columns of the label, of the predicted label and of the protected attributes.

    A folder of .parquet files is one table. The further parameters are those of :class:`fairalm.runs.Source`, and the
    tolerance of the verdicts.
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
    """Measure given predictions. The table is read batch by batch, so it may have more rows than fit in memory."""
    EqualOpportunity(tol=given.tol)  # refuses what is no tolerance
    counts = _count(given)
    chosen: Any = {name: getattr(given, name) for name in ("missing", "merge_below", "attributes")}
    groups = counts.groups(**chosen)
    positive = _positive(given, counts)
    rates = counts.rates(groups, positive)
    entry = rates_entry(rates)
    gaps = [gap for name, gap in measures_in(entry).items() if MEASURES[name].kind == "difference"]
    config = {
        name: getattr(given, name) for name in ("target", "prediction", "protected", "attributes", "weight", "tol")
    }
    data = data_entry(given.data, counts.sorted_table(), counts.table[given.target], groups, counts.sums)
    result = metrics(
        command=command,
        data=data | {"dropped": int(counts.rows[groups.codes < 0].sum())},
        config=config | {"positive": positive},
        splits={"audit": entry},
        verdicts={gap.name: verdict(gap, given.tol) for gap in gaps},
    )
    return Audit(given, groups, rates, result)


def _count(given: Predictions) -> Counts:
    """Count the rows of the table, of which only the columns named are read."""
    table, _ = open_data(given.data)
    tally = Tally(given.target, given.prediction, list(dict.fromkeys(given.protected)), given.weight)
    for column in (*tally.columns, *filter(None, (given.weight,))):
        check_choice("column", column, table.names)
    for batch in table.batches(tally.columns, given.weight):
        tally.add(batch.columns, batch.numbers)
        if tally.is_full:
            _positive(given, tally.counts(table.typed))  # refuses scores
            raise InputError(
                f"The protected columns {', '.join(map(repr, given.protected))} have more than {Tally.MOST:,}"
                " combinations of values: is one of them an id? Name other columns."
            )
    return tally.counts(table.typed)


def _positive(given: Predictions, counts: Counts) -> Any:
    """The positive label, after checking that both columns hold the same two."""
    labels: dict[Any, None] = {}
    for column in (given.target, given.prediction):
        if absent := counts.rows_without(column):
            raise InputError(f"Column {column!r} has {absent} missing values: drop or fill those rows first.")
        labels |= dict.fromkeys(counts.table[column].tolist())
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
