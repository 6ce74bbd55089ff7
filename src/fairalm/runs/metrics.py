"""metrics.json: one schema for every run."""

from __future__ import annotations

import hashlib
import io
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from fairalm._validation import Groups
from fairalm.arrays import FloatArray
from fairalm.measures import Measure

SCHEMA = 1


def data_entry(
    name: str, frame: pd.DataFrame, labels: Any, groups: Groups, weight: FloatArray | None = None
) -> dict[str, Any]:
    """What metrics.json keeps under ``data``; `labels` and `groups` have one entry per row.

    The fingerprint is the sha256 of the table as CSV, whatever file it was read from. ``groups`` counts the labels of
    each group that is compared, and ``weights`` sums the weights of the same rows, if they have any.
    """
    text = io.StringIO()
    frame.to_csv(text, index=False, lineterminator="\n")
    kept = groups.codes >= 0
    shown = np.asarray(labels)[kept].astype(str)
    columns = [np.array(part.names, dtype=object)[part.codes] for part in groups.take(kept).apart]
    tables = [pd.crosstab(names, shown) for names in columns]
    sums = {}
    if weight is not None:
        weighted = [pd.crosstab(names, shown, weight[kept], aggfunc="sum").fillna(0.0) for names in columns]
        sums = {"weights": _rows_of(weighted)}
    return {
        "name": name,
        "fingerprint": "sha256:" + hashlib.sha256(text.getvalue().encode("utf-8", "surrogatepass")).hexdigest(),
        "rows": len(frame),
        "groups": _rows_of(tables),
        **sums,
    }


def _rows_of(tables: Sequence[pd.DataFrame]) -> dict[str, Any]:
    return {str(group): row.to_dict() for table in tables for group, row in table.iterrows()}


def metrics(
    *, data: Mapping[str, Any], config: Mapping[str, Any], splits: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """The content of a metrics.json: `data`, `config`, `splits`, further entries, and the versions of the packages."""
    versions = {name: version(name) for name in ("fairalm", "scikit-learn", "numpy")}
    versions["python"] = platform.python_version()
    return {"schema": SCHEMA, "data": data, "config": config, "splits": splits, **more, "versions": versions}


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
