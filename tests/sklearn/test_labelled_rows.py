import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairalm import DemographicParity, EqualOpportunity, ErrorParity, InputError, SmallCellWarning
from fairalm._validation import Groups
from fairalm.sklearn.labelled_rows import LabelledRows, read_groups


def read(sensitive_features=None, probabilities=None, n=4, **settings):
    settings = {"missing": "error", "merge_below": None, "attributes": "crossed"} | settings
    return read_groups(sensitive_features, probabilities, n, **settings)


def rows(group, weight=None, n_groups=2):
    n = len(group)
    positive = np.arange(n) % 2 == 1
    weight = None if weight is None else np.asarray(weight, dtype=float)
    return LabelledRows(
        np.arange(2.0 * n).reshape(n, 2), positive, positive.astype(int), np.asarray(group), n_groups, weight
    )


AB = Groups(np.empty(0, dtype=np.int64), ("a", "b"))


def test_labels_become_codes():
    groups, codes = read(["b", "a", "b", "a"])
    assert groups.labels == ("a", "b")
    assert codes.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("missing", ["unknown", "drop"])
def test_unknown_groups_are_minus_one(missing):
    groups, codes = read(["b", None, "b", "a"], missing=missing)
    assert groups.labels == ("a", "b")
    assert codes.tolist() == [1, -1, 1, 0]
    assert rows(codes).known.tolist() == [True, False, True, True]


def test_small_groups_are_merged():
    groups, codes = read(list("aaabbbcd"), n=8, merge_below=3)
    assert groups.labels == ("a", "b", "other")
    assert codes.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_probabilities_as_they_are():
    table = pd.DataFrame({"x": [0.2, 1, 0, 0.5], "y": [0.8, 0, 1, 0.5]})
    groups, known = read(probabilities=table)
    assert groups.labels == ("x", "y")
    np.testing.assert_array_equal(known, table)
    assert read(probabilities=table.to_numpy())[0].labels == (0, 1)


@pytest.mark.parametrize("missing", ["unknown", "drop", "error", "group"])
def test_rows_without_probabilities(missing):
    table = np.array([[0.2, 0.8], [np.nan, np.nan], [0, 1], [1, 0]])
    if missing in ("unknown", "drop"):
        assert rows(read(probabilities=table, missing=missing)[1]).known.tolist() == [True, False, True, True]
    else:
        message = "1 of 4 rows of `group_probabilities` are missing: fill them, or pass missing='unknown'"
        with pytest.raises(InputError, match=re.escape(message)):
            read(probabilities=table, missing=missing)


def test_a_part_of_the_rows():
    part = rows([0, 1, -1, 1], weight=[1, 2, 3, 4]).part(np.array([3, 1]))
    assert part.X.tolist() == [[6, 7], [2, 3]]
    assert (part.group.tolist(), part.weight.tolist(), part.labels.tolist()) == ([1, 1], [4, 2], [1, 1])


def test_populations_are_of_known_group():
    own = rows([0, 1, -1, -1, 1, 0])
    assert own.of("target").tolist() == [1, 5]
    assert own.of("other").tolist() == [0, 4]
    assert own.of("everyone").tolist() == [0, 1, 4, 5]


def test_rows_by_group():
    row, group, weight = rows([0, -1, 1, 0]).by_group()
    assert (row.tolist(), group.tolist(), weight) == ([0, 2, 3], [0, 1, 0], None)
    row, group, weight = rows([0, -1, 1, 0], weight=[1, 2, 3, 4]).by_group()
    assert weight.tolist() == [1, 3, 4]
    table = np.array([[0.25, 0.75], [np.nan, np.nan], [1, 0]])
    row, group, weight = rows(table).by_group()
    assert (row.tolist(), group.tolist(), weight.tolist()) == ([0, 0, 2], [0, 1, 0], [0.25, 0.75, 1])
    assert rows(table, weight=[2, 1, 3]).by_group()[2].tolist() == [0.5, 1.5, 3]


# Rows alternate between the labels, so a group on even rows only has no target label.
HALF, EVEN = np.arange(40) // 20, np.arange(40) % 2


@pytest.mark.parametrize(
    "own",
    [
        rows(1 - EVEN),  # group b on rows of the other label only
        rows(np.eye(2)[1 - EVEN]),
        rows(HALF, weight=np.where((HALF == 1) & (EVEN == 1), 0, 1)),
    ],
    ids=["labels", "probabilities", "weights"],
)
def test_an_empty_cell_is_refused(own):
    with pytest.raises(InputError, match="Group 'b' has no rows with y='yes', so EqualOpportunity cannot be judged"):
        own.check([EqualOpportunity()], AB, ("no", "yes"), 1)


def test_a_cell_may_be_empty_that_no_constraint_speaks_of():
    rows(1 - EVEN).check([DemographicParity()], AB, ("no", "yes"), 1)


def test_small_cells_are_warned_of():
    small = np.where(np.arange(40) < 36, 0, 1)
    with pytest.warns(SmallCellWarning, match=r"Fewer than 5 rows with y=target in 'b' \(2\)"):
        rows(small).check([EqualOpportunity()], AB, ("no", "yes"), 1)


def test_the_constraint_must_fit_the_groups():
    with pytest.raises(InputError, match="There is no group 'c'"):
        rows(HALF).check([DemographicParity(reference="c")], AB, ("no", "yes"), 1)
    with pytest.raises(InputError, match="ErrorParity does not compare shares"):
        rows(HALF).check([replace(ErrorParity(), ratio=0.8)], AB, ("no", "yes"), 1)
    rows(HALF).check([DemographicParity(reference="a", ratio=0.8)], AB, ("no", "yes"), 1)
