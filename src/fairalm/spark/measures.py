"""Measures of predictions that stand in a Spark data frame; only their counts reach the driver."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairalm._validation import Attributes, Missing, check_choice
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.measures import Counts, Measure, Tally, measures_of
from fairalm.measures.totals import Totals

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean")  # types of weights


def count_rows(
    frame: DataFrame, *, target: str, prediction: str, protected: str | Sequence[str], weight: str | None = None
) -> Counts:
    """Count the rows of each label, prediction and protected values, in one ``groupBy``.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows.
    target, prediction : str
        Columns of the label and of the predicted label.
    protected : str or sequence of str
        Protected columns.
    weight : str, optional
        Column that says how many people a row stands for; rows of weight 0 are left out.
    """
    columns = (protected,) if isinstance(protected, str) else tuple(dict.fromkeys(protected))
    keys = list(dict.fromkeys((target, prediction, *columns)))
    for name in (*keys, *filter(None, (weight,))):
        check_choice("column", name, frame.columns)
    lines = _lines(frame, keys, weight)
    if len(lines) > Tally.MOST:
        raise InputError(
            f"The columns {', '.join(map(repr, keys))} have more than {Tally.MOST:,} combinations of values: is one of"
            " them an id or a score? Name columns with few values."
        )
    values: list[Any] = list(zip(*lines, strict=True)) or [()] * (len(keys) + 5)
    rows = np.array(values[len(keys)], dtype=np.int64)
    kept = rows > 0
    table = pd.DataFrame({name: pd.Series(own, dtype=object) for name, own in zip(keys, values, strict=False)})[kept]
    totals = None if weight is None else _totals(weight, *values[len(keys) :])
    parts = (table.reset_index(drop=True), rows[kept], target, prediction, columns)
    return Counts(*parts, None if totals is None else totals.take(kept))


def measure_all(
    frame: DataFrame,
    *,
    target: str,
    prediction: str,
    protected: str | Sequence[str],
    weight: str | None = None,
    positive: Any = None,
    missing: Missing = "error",
    merge_below: int | None = None,
    attributes: Attributes = "crossed",
    constraint: Constraint | None = None,
    level: float = 0.95,
    train: bool = False,
) -> dict[str, Measure]:
    """Compute every registered measure, and that of your own `constraint`, with intervals.

    The columns are those of :func:`count_rows`. `positive` is the label that counts as positive, by default the larger
    of the two. `missing` and `merge_below` say what happens to rows without a protected value and to small groups, as
    in :func:`fairalm.measures.Counts.groups`; the other parameters are those of
    :func:`fairalm.measures.measure_all`.

    Examples
    --------
    >>> measures = measure_all(loans, target="repaid", prediction="granted", protected="sex")  # doctest: +SKIP
    >>> print(measures["deo"])  # doctest: +SKIP
    4.2 % [1.0, 7.4]
    """
    counts = count_rows(frame, target=target, prediction=prediction, protected=protected, weight=weight)
    groups = counts.groups(missing=missing, merge_below=merge_below, attributes=attributes, min_groups=1)
    return measures_of(counts.rates(groups, positive), level=level, train=train, constraint=constraint)


def _lines(frame: DataFrame, keys: Sequence[str], weight: str | None) -> list[Any]:
    """The values of each combination, its rows, and of their weights: sum, sum of squares, largest and wrong ones."""
    from pyspark.sql import functions as F

    def column(name: str) -> Column:
        return F.col(f"`{name}`")

    places = [f"key{place}" for place in range(len(keys))]  # names of our own cannot be taken
    selected = [column(name).alias(place) for name, place in zip(keys, places, strict=True)]
    one = F.lit(1.0)
    if weight is not None:
        kind = dict(frame.dtypes)[weight]
        if not kind.startswith(NUMBERS):
            raise InputError(f"Column {weight!r} must hold numbers; its type is {kind}.")
        one = column(weight).cast("double")
    rows = frame.select(*selected, one.alias("weight"))
    own = F.col("weight")
    wrong = own.isNull() | F.isnan(own) | (F.abs(own) == float("inf")) | (own < 0)
    counted = rows.groupBy(*places).agg(
        F.count(F.when(own > 0, 1)), F.sum(own), F.sum(own * own), F.max(own), F.count(F.when(wrong, 1))
    )
    return counted.limit(Tally.MOST + 1).collect()


def _totals(name: str, rows: Any, sums: Any, squares: Any, largest: Any, wrong: Any) -> Totals:
    if count := sum(wrong):
        values = f"{count} missing, infinite or negative value{'s' * (count > 1)}"
        raise InputError(f"Column {name!r} has {values}: a weight says how many people a row stands for.")
    if rows and not any(rows):
        raise InputError(f"Column {name!r} is zero for every row: then there is nobody to measure.")
    parts = [np.array([Fraction(value) for value in column] or [], dtype=object) for column in (sums, squares)]
    return Totals(parts[0], parts[1], max(largest, default=0.0) or 1.0)
