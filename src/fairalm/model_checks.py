"""Checks of what compiled code would trust in a model that was read from a file; trees are in :mod:`tree_checks`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator

from fairalm.exceptions import InputError
from fairalm.tree_checks import parts_of


def check_schema(schema: Any, archive: zipfile.ZipFile) -> None:
    """Refuse a tree of scikit-learn with more outputs than numbers of classes: its constructor reads beyond them."""
    for node in nodes_of(schema):
        if node.get("__class__") != "Tree":
            continue
        n_features, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
        with archive.open(n_classes["file"]) as file:
            given = np.lib.format.read_array(file, allow_pickle=False)
        n_features, n_outputs = (json.loads(number["content"]) for number in (n_features, n_outputs))
        if not (isinstance(n_outputs, int) and isinstance(n_features, int) and n_features >= 0):
            raise InputError("a tree has no number of outputs or features")
        if given.dtype.kind != "i" or given.shape != (n_outputs,) or (given < 1).any():
            raise InputError(f"a tree says that it has {n_outputs} outputs; there are {given.size}")


def check_arrays(model: Any) -> None:
    """Refuse sparse matrices that point outside of themselves, and support vectors that are miscounted."""
    for part in parts_of(model):
        if scipy.sparse.issparse(part) and hasattr(part, "check_format"):
            part.check_format(full_check=True)
        if isinstance(part, BaseEstimator) and hasattr(part, "_n_support"):
            _check_support(part)


def _check_support(model: Any) -> None:
    counts, n_vectors = np.asarray(model._n_support), model.support_vectors_.shape[0]
    n_pairs = max(1, counts.size * (counts.size - 1) // 2)
    is_counted = counts.dtype.kind == "i" and (counts >= 0).all() and counts.sum() == n_vectors
    shape = (max(1, counts.size - 1), n_vectors)
    if not is_counted or model.dual_coef_.shape != shape or np.size(model.intercept_) != n_pairs:
        raise InputError("its support vectors, their weights and their counts do not fit together")


def nodes_of(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in a schema of skops."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from nodes_of(item)
