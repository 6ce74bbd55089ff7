import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairalm.datasets import load_adult, split
from fairalm.exceptions import InputError


def test_rows_in_another_order_and_ids_are_refused():
    y, groups = pd.Series(np.arange(200) % 2), pd.Series(np.arange(200) % 3)
    with pytest.raises(InputError, match="groups and y have different indexes: row 0 is 199 in groups, 0 in y"):
        split(y, groups[::-1])
    assert len(split(y, groups[::-1].to_numpy(), random_state=0)[1]) == 60
    with pytest.raises(InputError, match="has 200 groups in 200 rows, "):
        split(y, np.arange(200))


@pytest.mark.parametrize("test_size", [0.1, 0.29, 0.3, 0.5, 0.9])
def test_shares_of_every_label_and_group(test_size):
    data = load_adult()
    train, test = split(data.y, data.groups, test_size=test_size, random_state=0)
    assert len(test) == round(test_size * 48_842)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(48_842))
    whole = pd.crosstab(data.groups, data.y)
    part = pd.crosstab(data.groups.iloc[test], data.y[test])
    assert (part - test_size * whole).abs().to_numpy().max() < 1


def test_the_seed_decides():
    y, groups = np.arange(200) % 2, np.arange(200) % 3
    first, again, other = (split(y, groups, random_state=seed)[1] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(split(y, groups)[1], split(y, groups)[1])


def test_every_row_can_be_drawn():
    y, groups = np.zeros(20), np.zeros(20)
    drawn = {int(i) for seed in range(50) for i in split(y, groups, random_state=seed)[1]}
    assert drawn == set(range(20))


@pytest.mark.parametrize("test_size", [0.1, 0.5, 0.99])
def test_one_person_alone_stays_in_training(test_size):
    y = [0] * 10 + [1] * 10 + [1]
    groups = ["a", "b"] * 10 + ["alone"]
    train, test = split(y, groups, test_size=test_size, random_state=0)
    assert 20 in train
    assert len(test) == min(round(20 * test_size), 16)  # four cells, each keeps someone
    assert {(y[i], groups[i]) for i in train} == set(zip(y, groups, strict=True))


@pytest.mark.parametrize(
    "groups",
    [
        [("x", 1), ("y", 2)] * 10,
        pd.DataFrame({"sex": ["F", "M"] * 10, "race": ["p", "p", "q", "q"] * 5}),
        {"sex": ["F", "M"] * 10, "old": [True, False] * 10},
        pl.DataFrame({"sex": ["F", "M"] * 10}),
        ["F", None] * 10,
        pd.Series(["F", "M"] * 10, index=range(100, 120)),
    ],
    ids=["tuples", "frame", "dict", "polars", "missing", "index"],
)
def test_groups_of_any_kind(groups):
    train, test = split(["no"] * 10 + ["yes"] * 10, groups, test_size=0.5, random_state=0)
    assert len(train) == len(test) == 10


@pytest.mark.parametrize("test_size", [0, 1, -0.1, 1.5, float("nan")])
def test_share_out_of_range(test_size):
    with pytest.raises(InputError, match="between 0 and 1; got"):
        split([0, 1], ["a", "b"], test_size=test_size)


def test_other_wrong_arguments():
    with pytest.raises(InputError, match="has 3 rows, the data has 2"):
        split([0, 1], ["a", "b", "a"])
    with pytest.raises(InputError, match="one column"):
        split([[0], [1]], ["a", "b"])
    with pytest.raises(InputError, match="1 missing"):
        split([0, None], ["a", "b"])
    with pytest.raises(InputError, match="no test row"):
        split([0, 1], ["a", "a"])
