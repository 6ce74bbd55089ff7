"""Checks of the trees in a model that was read from a file: scikit-learn follows their node numbers unchecked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from fairalm.exceptions import InputError


def parts_of(value: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """A value and all that it consists of: attributes of estimators, and items of containers."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    if isinstance(value, BaseEstimator):
        value = vars(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.ravel().tolist()
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from parts_of(part, seen)


def check_trees(model: Any) -> None:
    """Refuse a model with a tree that refers to a node, feature or set of categories that is not there.

    A child must come after its parent, so that no row goes round in circles.
    """
    for part in parts_of(model):
        if not isinstance(part, BaseEstimator):
            continue
        n_features = getattr(part, "n_features_in_", 0)
        if hasattr(part, "tree_"):
            _check_tree(part.tree_, n_features)
        if hasattr(part, "_predictors"):
            _check_boosted(part, n_features)
        if _hands_rows_on(part) and any(tree.n_features_in_ != n_features for tree in np.ravel(part.estimators_)):
            raise InputError("its trees do not have the features of the whole")


def _hands_rows_on(part: BaseEstimator) -> bool:
    """Whether it passes its rows to its trees without another check."""
    kinds = {kind.__name__ for kind in type(part).__mro__}
    return hasattr(part, "estimators_") and bool(kinds & {"BaseForest", "BaseGradientBoosting"})


def _check_tree(tree: Any, n_features: int) -> None:
    if not 0 < tree.node_count <= tree.capacity:
        raise InputError(f"a tree says that it has {tree.node_count} nodes; there are {tree.capacity}")
    left, right = tree.children_left, tree.children_right
    is_leaf = left == -1
    _check_nodes(is_leaf, left, right, tree.feature, n_features)


def _check_boosted(model: Any, n_features: int) -> None:
    categorical = np.asarray(model._bin_mapper.is_categorical_)
    if categorical.shape != (n_features,):
        raise InputError(f"{n_features} features are expected, and {categorical.size} described")
    for stage in model._predictors:
        for tree in stage:
            nodes = tree.nodes
            if nodes.ndim != 1 or not len(nodes):
                raise InputError("a tree has no nodes")
            _check_nodes(nodes["is_leaf"] != 0, nodes["left"], nodes["right"], nodes["feature_idx"], n_features)
            by_category = nodes[(nodes["is_leaf"] == 0) & (nodes["is_categorical"] != 0)]
            sets = np.asarray(tree.raw_left_cat_bitsets)
            is_known = categorical[by_category["feature_idx"]] != 0
            if not is_known.all() or (by_category["bitset_idx"] >= len(sets)).any() or sets.shape[1:] not in ((8,), ()):
                raise InputError("a tree refers to categories that are not there")


def _check_nodes(
    is_leaf: npt.NDArray[np.bool_], left: Any, right: Any, feature: npt.NDArray[Any], n_features: int
) -> None:
    inner, n_nodes = np.flatnonzero(~is_leaf), len(is_leaf)
    for child in (left, right):
        wrong = (child[inner] <= inner) | (child[inner] >= n_nodes)
        if wrong.any():
            raise InputError(f"a tree of {n_nodes} nodes refers to node {child[inner][wrong][0]}")
    wrong = (feature[inner] < 0) | (feature[inner] >= n_features)
    if wrong.any():
        raise InputError(f"a tree refers to feature {feature[inner][wrong][0]} of {n_features}")
