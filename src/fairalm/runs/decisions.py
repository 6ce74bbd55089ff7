"""Which decisions, scores and outcomes to audit, and how many rows have which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from fairalm._validation import Groups, check_choice, check_parameter, encode_groups
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.constraints import EqualOpportunity
from fairalm.datasets import Table, with_column
from fairalm.exceptions import InputError
from fairalm.measures import Counts, GroupRates, LabelRates, Tally
from fairalm.measures.labels import count_labels
from fairalm.measures.quantiles import deciles
from fairalm.measures.rates import count
from fairalm.measures.weights import WrongWeights, weight_numbers
from fairalm.runs.decision_labels import MOST, DecisionLabels
from fairalm.runs.source import check_rows_are, open_data

AuditMissing = Literal["unknown", "error", "drop", "group"]
AuditAttributes = Literal["both", "separate", "crossed"]
BIN = "\0score"  # column of counts: how many deciles are below the score; no file has a column of that name


@dataclass(frozen=True)
class Decisions:
    """A file with decisions, scores or both, the protected attributes, and the true outcomes if they are known.

    A folder of .parquet files is one table. The decision may be that of a person, of a rule, or the predicted label of
    a model; decision and outcome must have the same two values.
    """

    data: str
    protected: Sequence[str] = ()
    decision: str | None = None  # column of the decision
    score: str | None = None  # column of the score, the higher the better for the person
    target: str | None = None  # column of the true outcome
    positive: str | None = None  # value that means selected, against all others; by default the larger of two
    reference: str | Sequence[str] = ()  # groups to compare with; by default, the one with the highest rate
    attributes: AuditAttributes = "both"  # several protected columns: each on its own, crossed, or both
    weight: str | None = None  # column that says how many people a row stands for
    missing: AuditMissing = "unknown"  # what to do with rows without a protected value
    unknown: str | Sequence[str] = ()  # values of the protected columns that are missing ones, such as "declined"
    merge_below: int | None = None  # groups with fewer rows are merged
    tol: float = 0.05  # tolerance of the verdicts about differences
    encoding: str = "utf-8"  # of .csv files, as `sep` and `decimal`
    sep: str = ","  # what separates the values: one character, or "tab"
    decimal: str = "."  # decimal mark: "." or ","
    rows_are: str = "people"  # what the rows are, in the plural

    def __post_init__(self) -> None:
        check_parameter("missing", self.missing, get_args(AuditMissing))
        check_parameter("attributes", self.attributes, get_args(AuditAttributes))
        check_rows_are(self.rows_are)
        EqualOpportunity(tol=self.tol)  # refuses what is no tolerance
        if self.decision is None and self.score is None:
            raise InputError(
                "There is nothing to audit: name the column of the decisions with {decision}, or that of the scores"
                " with {score}.",
                decision=None,
                score=None,
            )
        for name in ("protected", "reference", "unknown"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(dict.fromkeys(value)))

    @property
    def attribute_columns(self) -> list[tuple[str, ...]]:
        """The columns of each table: every attribute on its own, then all of them crossed."""
        names = tuple(self.protected)
        alone: list[tuple[str, ...]] = [(name,) for name in names]
        if len(names) == 1:
            return alone
        return [*alone * (self.attributes != "crossed"), *[names] * (self.attributes != "separate")]

    def count(self, most_labels: int = MOST) -> CountedDecisions:
        """Read the table batch by batch, twice if there are scores, and count its rows."""
        table, _ = open_data(self.data, encoding=self.encoding, sep=self.sep, decimal=self.decimal)
        named = (*self.protected, *filter(None, (self.decision, self.score, self.target, self.weight)))
        for column in named:
            check_choice("column", column, table.names)
        for column in self.protected:
            if column in (self.decision, self.score, self.target):
                raise InputError(f"Column {column!r} is named twice: a protected column must be one of its own.")
        cuts = None if self.score is None else _deciles(table, self.score, self.weight)
        counts = self._tally(table, cuts)
        labels = DecisionLabels.of(counts, self.positive, most_labels)
        above = None if cuts is None else counts.table[BIN].to_numpy(dtype=np.int64)
        return CountedDecisions(self, _known(counts, self.unknown), labels, above, cuts)

    def _tally(self, table: Table, cuts: FloatArray | None) -> Counts:
        more = () if cuts is None else (BIN,)
        tally = Tally(self.target, self.decision, self.protected, self.weight, more)
        read = [column for column in tally.columns if column != BIN]
        read += [self.score] if self.score is not None and self.score not in read else []
        for batch in table.batches(read, self.weight):
            columns: dict[str, Any] = dict(batch.columns)
            if cuts is not None and self.score is not None:
                codes, values = columns[self.score]
                columns[BIN] = (np.searchsorted(cuts, _floats(table, self.score, values))[codes], range(len(cuts) + 1))
            tally.add(columns, batch.numbers)
            if tally.is_full:
                DecisionLabels.of(tally.counts(_typed(table)), self.positive)  # refuses scores
                raise InputError(
                    f"The protected columns {', '.join(map(repr, self.protected))} have more than {Tally.MOST:,}"
                    " combinations of values: is one of them an id? Name other columns."
                )
        return tally.counts(_typed(table))


@dataclass(frozen=True, eq=False)
class CountedDecisions:
    """How many rows have which decision, score, outcome and protected values: one entry per line of `counts`."""

    given: Decisions
    counts: Counts  # an unknown protected value is missing
    labels: DecisionLabels
    above: IntArray | None  # how many deciles the score is above
    deciles: FloatArray | None

    @property
    def selected(self) -> BoolArray | None:
        """Whether the decision is the positive one; None without decisions, and if they have several labels."""
        return self.labels.selected

    @property
    def outcome(self) -> BoolArray | None:
        """The same of the outcome."""
        return self.labels.outcome

    @property
    def above_median(self) -> BoolArray | None:
        """Whether the score is above the median; one that equals it is not."""
        return None if self.above is None else self.above_decile(5)

    def above_decile(self, tenths: int) -> BoolArray:
        """Whether the score is above the decile."""
        assert self.above is not None
        return self.above >= tenths

    def groups(self, columns: Sequence[str]) -> Groups:
        """The group of each line by these columns; -1 where it is unknown."""
        missing, frame = self.given.missing, self.counts.table[list(self.counts.protected)]
        own = frame[list(columns)]
        if missing == "drop":  # a row without one value is in no table
            own = own.mask(frame.isna().any(axis=1))
        try:
            return encode_groups(
                own,
                missing="drop" if missing == "unknown" else missing,
                merge_below=self.given.merge_below,
                rows=self.counts.rows,
            )
        except InputError as error:
            if len(columns) == 1 or self.given.attributes != "both":
                raise
            text = f"{error.text} Or pass {{attributes}} to look at each column on its own only."
            raise InputError(text, **error.parameters, attributes="separate") from None

    def rates(self, groups: Groups, chosen: BoolArray, outcome: BoolArray | None = None) -> GroupRates:
        """Confusion counts per group of those chosen; without outcomes only the share selected has a meaning."""
        true = np.ones_like(chosen) if outcome is None else outcome
        return count(true, chosen, groups, self.labels.positive, self.counts.weights)

    def label_rates(self, groups: Groups) -> LabelRates:
        """The same for each of several labels against the rest; without outcomes every decision counts as right."""
        given = self.given
        true, decided = (
            self.counts.table[column].astype(str).to_numpy()
            for column in (given.target or given.decision, given.decision)
        )
        return count_labels(true, decided, groups, self.labels.several, self.counts.weights)


def _known(counts: Counts, unknown: Sequence[str]) -> Counts:
    """The same counts with unknown protected values as missing ones."""
    if not unknown:
        return counts
    table, columns = counts.table, {name: counts.table[name].astype(object) for name in counts.protected}
    for value in unknown:
        if not any((own.astype(str) == value).any() for own in columns.values()):
            raise InputError(f"{{unknown}} is no value of a protected column: {', '.join(columns)}.", unknown=value)
    for name, own in columns.items():
        table = with_column(table, name, own.mask(own.astype(str).isin(list(unknown)), None))
    return replace(counts, table=table)


def _deciles(table: Table, score: str, weight: str | None) -> FloatArray:
    """The deciles of all scores, also of those whose group is unknown; 8 bytes a row, and 8 more for a weight."""
    absent, wrong, scores, weights = 0, WrongWeights(), [np.empty(0)], [np.empty(0)]
    for batch in table.batches([score], weight):
        codes, values = batch.columns[score]
        absent += int((codes < 0).sum())
        own = np.append(_floats(table, score, values), np.nan)[codes]
        if weight is not None:
            numbers = weight_numbers(batch.numbers, f"Column {weight!r}")
            wrong.add(numbers)
            own, numbers = own[numbers > 0], numbers[numbers > 0]  # rows of weight 0 stand for nobody
            weights.append(numbers)
        scores.append(own)
    wrong.refuse(f"Column {weight!r}")
    if absent:
        raise InputError(f"Column {score!r} has {absent} missing values: drop or fill those rows first.")
    return deciles(np.concatenate(scores), None if weight is None else np.concatenate(weights))


def _floats(table: Table, column: str, values: Sequence[Any]) -> FloatArray:
    """Distinct scores as numbers."""
    is_text = any(isinstance(value, str) for value in values)  # the file may have its own decimal mark
    own = table.typed(column, values) if is_text else pd.Series(values, dtype=object)
    numbers = pd.to_numeric(own, errors="coerce").to_numpy(dtype=float)
    if np.isnan(numbers).any():
        wrong = next(value for value, number in zip(values, numbers, strict=True) if np.isnan(number))
        raise InputError(
            f"Column {column!r} must hold numbers, as scores are; it has {wrong!r}: name a column of decisions with"
            " {decision}.",
            decision=None,
        )
    if np.isinf(numbers).any():
        raise InputError(f"Column {column!r} has infinite scores: replace them, or drop those rows first.")
    return numbers


def _typed(table: Table) -> Any:
    """The type of a table's columns, and whole numbers for the bins of the score."""
    return lambda name, values: pd.Series(values, dtype=int) if name == BIN else table.typed(name, values)
