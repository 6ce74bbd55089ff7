"""A table together with what its columns are for."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from fairalm._validation import check_binary, check_choice, encode_groups
from fairalm.arrays import IntArray
from fairalm.datasets._checks import check_frame, with_index
from fairalm.datasets._kinds import plain_columns, with_column
from fairalm.exceptions import InputError

WIDTH = 80
MOST_GROUPS = 12


class LabelledRows:
    """The label and the groups of a table's rows, for data sets of every kind."""

    frame: pd.DataFrame
    target: str
    positive: Any
    protected: tuple[str, ...]

    @property
    def y(self) -> IntArray:
        """The label as 0 and 1 (1 = `positive`)."""
        return np.asarray(self.frame[self.target] == self.positive, dtype=np.int64)

    @property
    def groups(self) -> pd.Series[Any] | pd.DataFrame:
        """The protected column; a data frame if there are several."""
        if len(self.protected) == 1:
            return self.frame[self.protected[0]]
        return self.frame[list(self.protected)]


@dataclass(frozen=True, eq=False)
class Dataset(LabelledRows):
    """A table, and which of its columns is the label, which protected, which may be used to predict.

    Attributes
    ----------
    name : str
        Short name.
    frame : pandas.DataFrame
        Features, protected columns and target. Numbers are numeric, categories are text; a missing value is
        NaN.
    target : str
        Column of the label.
    positive : object
        The label that counts as 1 in `y`.
    protected : tuple of str
        Columns by which fairness is judged.
    features : tuple of str
        Columns a model may use; the protected ones are not among them.
    description : str
        What the label means, where the data come from, their licence.

    Examples
    --------
    >>> from fairalm.datasets import load_german
    >>> data = load_german()
    >>> data.X.shape, data.y[:5].tolist(), data.groups.name
    ((1000, 19), [1, 0, 1, 1, 0], 'foreign_worker')
    """

    name: str
    frame: pd.DataFrame = field(repr=False)
    target: str
    positive: Any
    protected: tuple[str, ...]
    features: tuple[str, ...]
    description: str = field(default="", repr=False)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        target: str,
        protected: str | Sequence[str],
        positive: Any = None,
        drop: str | Sequence[str] = (),
        name: str = "table",
    ) -> Dataset:
        """Make a data set of your own table: every column not named here is a feature.

        Parameters
        ----------
        frame : data frame
            One row per person, of pandas; those of polars, pyarrow and others that narwhals knows are converted.
        target : str
            Column of the label; two values, or more with `positive`; none missing.
        protected : str or sequence of str
            One or several protected columns.
        positive : object, optional
            The label that counts as 1, by value or as text ("1" finds 1). Default: the larger of the two in
            sort order: 1 rather than 0, "yes" rather than "no". If there are more than two labels, all others become
            one: "B" against "not B".
        drop : str or sequence of str
            Columns to leave out: row numbers, names, what is known only after the label.
        name : str
            Short name for reports.

        Examples
        --------
        >>> table = pd.DataFrame({"age": [30, 41], "sex": ["F", "M"], "hired": ["no", "yes"]})
        >>> data = Dataset.from_frame(table, target="hired", protected="sex")
        >>> data.features, data.positive, data.y.tolist()
        (('age',), 'yes', [0, 1])
        """
        if not isinstance(frame, pd.DataFrame):
            table = nw.from_native(frame, eager_only=True, pass_through=True)
            frame = with_index(table.to_pandas()) if isinstance(table, nw.DataFrame) else frame
        check_frame(frame, "The table")
        protected, drop = _as_tuple(protected), _as_tuple(drop)
        for column in (target, *protected, *drop):
            check_choice("column", column, frame.columns)
        if not protected:
            raise InputError("No protected column is named: pass {protected}.", protected=None)
        roles = (target, *protected, *drop)
        twice = sorted({column for column in roles if roles.count(column) > 1})
        if twice:
            raise InputError(f"Column {twice[0]!r} is named twice among target, protected and drop.")
        features = tuple(c for c in frame.columns if c not in roles)
        if not features:
            raise InputError("No column is left as a feature: all are target, protected or dropped.")
        frame = plain_columns(frame[[c for c in frame.columns if c not in drop]].reset_index(drop=True))
        labels, positive = _labels(frame[target], positive)
        return cls(name, with_column(frame, target, labels), target, positive, protected, features)

    @property
    def X(self) -> pd.DataFrame:
        """The features."""
        return self.features_frame()

    def features_frame(self, *, with_protected: bool = False) -> pd.DataFrame:
        """Return the features, and on request the protected columns after them."""
        return self.frame[[*self.features, *(self.protected if with_protected else ())]]

    def protect(self, *columns: str) -> Dataset:
        """Return the same data with other protected columns; the present ones become features again.

        Examples
        --------
        >>> from fairalm.datasets import load_adult
        >>> data = load_adult().protect("race")
        >>> data.protected, "sex" in data.features, "race" in data.features
        (('race',), True, False)
        """
        if not columns:
            raise InputError("protect() needs at least one column.")
        known = [c for c in self.frame.columns if c in self.features or c in self.protected]
        for column in columns:
            check_choice("column", column, known)
        features = tuple(c for c in known if c not in columns)
        return replace(self, protected=tuple(dict.fromkeys(columns)), features=features)

    def describe(self) -> str:
        """Rows, base rate, groups with theirs, and what the label means, in at most 80 columns."""
        y = self.y
        groups = encode_groups(self.groups, missing="group", min_groups=1, refuse_ids=False)
        rows = [("group", "rows", "share", "positive")]
        for code in np.argsort(-groups.sizes, kind="stable")[:MOST_GROUPS]:
            size, rate = int(groups.sizes[code]), float(y[groups.codes == code].mean())
            name = groups.names[code]
            shown = name if len(name) <= 40 else f"{name[:37]}..."
            rows.append((shown, f"{size:,}", f"{size / len(y):.1%}", f"{rate:.1%}"))
        width = max(len(row[0]) for row in rows)
        lines = [
            *textwrap.wrap(f"{self.name}: {len(y):,} rows, {len(self.features)} features", WIDTH),
            *textwrap.wrap(f"label: {self.target} = {self.positive}, {y.mean():.1%} of rows", WIDTH),
            *textwrap.wrap(f"protected: {', '.join(self.protected)}", WIDTH),
            *(f"  {row[0]:<{width}}  {row[1]:>9}  {row[2]:>6}  {row[3]:>8}" for row in rows),
        ]
        if groups.n_groups > MOST_GROUPS:
            lines.append(f"  ... and {groups.n_groups - MOST_GROUPS} smaller groups")
        return "\n".join([*lines, *textwrap.wrap(self.description, WIDTH)])


def _as_tuple(columns: str | Sequence[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)


def one_against_rest(labels: pd.Series[Any], positive: Any) -> pd.Series[Any]:
    """One label against all others, as text; a missing one stays missing.

    >>> one_against_rest(pd.Series([1, 2, 3, 2]), 2).tolist()
    ['not 2', '2', 'not 2', '2']
    """
    is_positive = labels.astype(str) == str(positive)
    return is_positive.map({True: str(positive), False: f"not {positive}"}).where(labels.notna())


def _labels(labels: pd.Series[Any], positive: Any) -> tuple[pd.Series[Any], Any]:
    """Two labels, and the one that counts as 1."""
    values = sorted(labels.unique().tolist(), key=str)
    if len(values) > 2 and not labels.isna().any():
        shown = ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
        if positive is None:
            raise InputError(
                f"Target column {labels.name!r} has {len(values)} labels ({shown}): say with {{positive}} which one"
                " to predict, against the rest.",
                positive=None,
            )
        if str(positive) not in map(str, values):
            raise InputError(
                f"{{positive}} is not a label of {labels.name!r}: it has {len(values)} ({shown}).", positive=positive
            )
        return one_against_rest(labels, positive), str(positive)
    try:
        _, (low, high) = check_binary(labels)
    except InputError as error:
        raise InputError(f"Target column {labels.name!r}: {error}") from error
    for label in (low, high):
        if positive is not None and (label == positive or str(label) == str(positive)):
            return labels, label
    if positive is None:
        return labels, high
    raise InputError(f"{{positive}} is not a label of {labels.name!r}: it has {low!r} and {high!r}.", positive=positive)
