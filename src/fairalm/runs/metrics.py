"""metrics.json: one schema for every run."""

from __future__ import annotations

import hashlib
import io
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from fairalm._validation import Groups

SCHEMA = 1


def data_entry(name: str, frame: pd.DataFrame, labels: Any, groups: Groups) -> dict[str, Any]:
    """Return what metrics.json keeps under ``data``.

    Parameters
    ----------
    name : str
        Of the data set or file.
    frame : pandas.DataFrame
        Its content, for the fingerprint: the sha256 of the table as CSV, whatever file it came from.
    labels : array-like
        The label of each row, aligned with `groups`.
    groups : Groups
        The group of each row.
    """
    text = io.StringIO()
    frame.to_csv(text, index=False, lineterminator="\n")
    kept = groups.codes >= 0
    names = np.array(groups.names, dtype=object)[groups.codes[kept]]
    table = pd.crosstab(names, np.asarray(labels)[kept].astype(str))
    return {
        "name": name,
        "fingerprint": "sha256:" + hashlib.sha256(text.getvalue().encode("utf-8", "surrogatepass")).hexdigest(),
        "rows": len(frame),
        "groups": {str(group): row.to_dict() for group, row in table.iterrows()},
    }


def metrics(
    *, data: Mapping[str, Any], config: Mapping[str, Any], splits: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """Return the content of a metrics.json: these three, what else there is, and the versions it came from."""
    versions = {name: version(name) for name in ("fairalm", "scikit-learn", "numpy")}
    versions["python"] = platform.python_version()
    return {"schema": SCHEMA, "data": data, "config": config, "splits": splits, **more, "versions": versions}
