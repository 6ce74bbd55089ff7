"""metrics.json: one schema for every run, fairalm/schemas/metrics.schema.json."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._validation import Groups
from fairalm.arrays import FloatArray
from fairalm.json_reader import read_schema
from fairalm.manifest import versions
from fairalm.measures import Measure

SCHEMA = 2
LINES = 100_000  # of a table, made into text at a time


def metrics_schema() -> dict[str, Any]:
    """The JSON schema of metrics.json, for a validator such as that of the package jsonschema.

    >>> metrics_schema()["title"]
    'metrics.json of fairalm, schema 2'
    """
    return read_schema("metrics")


def data_entry(
    name: str, frame: pd.DataFrame, labels: Any, groups: Groups, weight: FloatArray | None = None
) -> dict[str, Any]:
    """What metrics.json keeps under ``data``; `labels` and `groups` have one entry per row.

    The fingerprint is the sha256 of the table as CSV, whatever file it was read from. ``groups`` counts the labels of
    each group that is compared, and ``weights`` sums the weights of the same rows, if they have any. The table may be
    one of counts: then `groups` says how many rows of data a row stands for, and `weight` is their sum.
    """
    kept = groups.codes >= 0
    shown, rows = np.asarray(labels)[kept].astype(str), groups.rows_each
    columns = [np.array(part.names, dtype=object)[part.codes] for part in groups.take(kept).apart]

    def by_group(values: npt.NDArray[Any], none: float) -> dict[str, Any]:
        tables = [pd.crosstab(names, shown, values[kept], aggfunc="sum").fillna(none) for names in columns]
        tables = [table.astype(values.dtype) for table in tables]
        return {str(group): row.to_dict() for table in tables for group, row in table.iterrows()}

    return {
        "name": name,
        "fingerprint": fingerprint(frame),
        "rows": int(rows.sum()),
        "groups": by_group(rows, 0),
        **({} if weight is None else {"weights": by_group(weight, 0.0)}),
    }


def fingerprint(frame: pd.DataFrame) -> str:
    """The sha256 of a table as CSV."""
    digest = hashlib.sha256()
    for start in range(0, max(len(frame), 1), LINES):
        part = frame.iloc[start : start + LINES]
        # Python 3.10 takes a NUL in the text for an escape character, unless there is another
        text = part.to_csv(index=False, header=start == 0, lineterminator="\n", escapechar="\1")
        digest.update(text.encode("utf-8", "surrogatepass"))
    return f"sha256:{digest.hexdigest()}"


def metrics(
    *, data: Mapping[str, Any], config: Mapping[str, Any], splits: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """The content of a metrics.json: `data`, `config`, `splits`, further entries, and the versions of the packages."""
    return {"schema": SCHEMA, "data": data, "config": config, "splits": splits, **more, "versions": versions()}


def measures_in(entry: Mapping[str, Any]) -> dict[str, Measure]:
    """The measures of an entry under ``splits``."""
    return {
        name: Measure(name, **value) for name, value in entry.items() if name not in ("groups", "attributes", "scores")
    }


def verdict(measure: Measure, tol: float) -> str:
    """Judge a gap by its interval: "met", "not met", "cannot tell" or "undefined"."""
    if measure.low is None or measure.high is None:
        return "undefined"
    if measure.high <= tol:
        return "met"
    return "not met" if measure.low > tol else "cannot tell"
