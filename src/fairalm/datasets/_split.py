"""Train and test rows, alike in label and group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from fairalm._validation import check_same_index, encode_groups
from fairalm.arrays import IntArray
from fairalm.exceptions import InputError


def split(
    y: Any, groups: Any, *, test_size: float = 0.3, random_state: int | np.random.RandomState | None = None
) -> tuple[IntArray, IntArray]:
    """Split the rows in two, keeping the share of each label × group.

    Each combination of label and group gives its share to the test rows, rounded so that the total is
    right, and keeps at least one row in training: a combination with a single row stays there, and does not
    count towards the total. A missing group is a group of its own.

    Parameters
    ----------
    y : array-like
        Labels.
    groups : array-like, Series, data frame or dict of columns
        The protected attribute; several columns are crossed.
    test_size : float
        Share of test rows, between 0 and 1.
    random_state : int, RandomState or None
        The same number gives the same split.

    Returns
    -------
    train_index, test_index : ndarray of int
        Row positions, ascending.

    Examples
    --------
    >>> from fairalm.datasets import load_german
    >>> data = load_german()
    >>> train, test = split(data.y, data.groups, random_state=0)
    >>> len(train), len(test), int((data.groups.iloc[test] == "no").sum())
    (700, 300, 11)
    """
    if not 0 < test_size < 1:
        raise InputError(f"{{test_size}} must lie between 0 and 1; got {test_size!r}.", test_size=None)
    check_same_index(y=y, groups=groups)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InputError(f"y must be one column; got shape {labels.shape}.")
    if pd.isna(labels).any():
        raise InputError(f"y has {int(pd.isna(labels).sum())} missing values: drop or fill those rows first.")
    encoded = encode_groups(groups, n_rows=len(labels), missing="group", min_groups=1)
    cell = pd.factorize(labels)[0] * encoded.n_groups + encoded.codes
    _, cell, sizes = np.unique(cell, return_inverse=True, return_counts=True)
    rng = check_random_state(random_state)
    test = np.zeros(len(labels), dtype=bool)
    for code, n_test in enumerate(_shares(sizes, test_size)):
        test[rng.permutation(np.flatnonzero(cell == code))[:n_test]] = True
    if not test.any():
        raise InputError(f"{{test_size}} of {len(labels)} rows leave no test row: pass more.", test_size=test_size)
    return np.flatnonzero(~test), np.flatnonzero(test)


def _shares(sizes: IntArray, test_size: float) -> IntArray:
    """Test rows per cell: the share rounded down, then one more where the largest part was cut off."""
    quota = np.where(sizes > 1, sizes * test_size, 0.0)
    shares = np.floor(quota).astype(np.int64)
    left = round(float(quota.sum())) - int(shares.sum())
    able = [cell for cell in np.argsort(shares - quota, kind="stable") if shares[cell] + 1 < sizes[cell]]
    shares[able[:left]] += 1
    return shares


def stratified_folds(
    label: Any, group: IntArray, n_folds: int, rng: np.random.RandomState | np.random.Generator
) -> IntArray:
    """A fold per row, with every label × group spread over the folds as evenly as possible; labels are codes."""
    order = rng.permutation(len(label))
    cell = (max(2, int(np.max(label)) + 1) * group + label)[order]
    fold = np.empty(len(label), dtype=np.int64)
    sort = np.argsort(cell, kind="stable")
    fold[order[sort]] = np.arange(len(label)) % n_folds
    return fold
