import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairalm.datasets import Dataset, load_adult, load_german
from fairalm.exceptions import InputError


@pytest.fixture
def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [7, 8, 9, 10],
            "age": [20, 30, 40, 50],
            "sex": ["F", "M", "F", "M"],
            "race": ["x", "x", "y", "y"],
            "hired": ["no", "yes", "yes", "no"],
        },
        index=[4, 5, 6, 7],
    )


def test_from_frame_sorts_the_columns_into_roles(table):
    data = Dataset.from_frame(table, target="hired", protected="sex", drop="id", name="jobs")
    assert data.features == ("age", "race")
    assert data.protected == ("sex",)
    assert data.positive == "yes"
    assert data.y.tolist() == [0, 1, 1, 0]
    assert data.y.dtype == np.int64
    assert data.groups.tolist() == ["F", "M", "F", "M"]
    assert list(data.X.columns) == ["age", "race"]
    assert list(data.X.index) == [0, 1, 2, 3]
    assert "id" not in data.frame
    assert list(table.columns) == ["id", "age", "sex", "race", "hired"]  # the caller's table is left alone


def test_several_protected_columns_are_a_frame(table):
    data = Dataset.from_frame(table, target="hired", protected=["sex", "race"])
    assert list(data.groups.columns) == ["sex", "race"]
    assert data.features == ("id", "age")
    assert list(data.features_frame(with_protected=True).columns) == ["id", "age", "sex", "race"]


def test_positive_is_chosen_by_value_or_by_text(table):
    assert Dataset.from_frame(table, target="hired", protected="sex", positive="no").y.tolist() == [
        1,
        0,
        0,
        1,
    ]
    numbers = table.assign(hired=[0, 1, 1, 0])
    assert Dataset.from_frame(numbers, target="hired", protected="sex").positive == 1
    by_text = Dataset.from_frame(numbers, target="hired", protected="sex", positive="0")
    assert by_text.positive == 0
    assert by_text.y.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"target": "hire", "protected": "sex"},
            "no column 'hire', did you mean 'hired'.*id, age, sex, race",
        ),
        ({"target": "hired", "protected": "sexx"}, "did you mean 'sex'"),
        ({"target": "hired", "protected": "sex", "drop": ["zzz"]}, "no column 'zzz'; there are: id, age"),
        ({"target": "hired", "protected": "hired"}, "'hired' is named twice"),
        ({"target": "hired", "protected": []}, "No protected column"),
        ({"target": "age", "protected": "sex"}, r"'age' has 4 labels \(20, 30, 40, 50\): say with positive"),
        ({"target": "hired", "protected": "sex", "positive": "maybe"}, "'maybe'.*'no' and 'yes'"),
        ({"target": "hired", "protected": "sex", "drop": ["id", "age", "race"]}, "No column is left"),
    ],
)
def test_from_frame_says_what_is_wrong(table, arguments, message):
    with pytest.raises(InputError, match=message):
        Dataset.from_frame(table, **arguments)


def test_from_frame_refuses_missing_labels_and_odd_tables(table):
    with pytest.raises(InputError, match="'hired': y has 1 missing"):
        Dataset.from_frame(table.assign(hired=["no", None, "yes", "no"]), target="hired", protected="sex")
    with pytest.raises(InputError, match="pandas DataFrame; got dict"):
        Dataset.from_frame({"a": [1]}, target="a", protected="b")
    with pytest.raises(InputError, match=r"same name.*'sex'"):
        Dataset.from_frame(table.rename(columns={"race": "sex"}), target="hired", protected="sex")
    with pytest.raises(InputError, match="named 3: column names"):
        Dataset.from_frame(table.rename(columns={"race": 3}), target="hired", protected="sex")
    with pytest.raises(InputError, match="0 rows"):
        Dataset.from_frame(table[:0], target="hired", protected="sex")


def test_protect_swaps_columns_and_keeps_the_original():
    data = load_adult()
    other = data.protect("race")
    assert other.protected == ("race",)
    assert set(other.features) == set(data.features) - {"race"} | {"sex"}
    assert other.groups.nunique() == 5
    assert data.protected == ("sex",)
    assert other.protect("sex").features == data.features
    assert data.protect("sex", "race").groups.shape == (48_842, 2)


def test_protect_takes_neither_target_nor_unknown_columns():
    with pytest.raises(InputError, match="no column 'rase', did you mean 'race'"):
        load_adult().protect("rase")
    for column in ("income", "official_test"):
        with pytest.raises(InputError, match="here are"):
            load_adult().protect(column)
    with pytest.raises(InputError, match="at least one"):
        load_adult().protect()


def test_describe_fits_a_terminal_and_has_the_numbers():
    text = load_german().describe()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "german: 1,000 rows, 19 features" in text
    assert "credit = good, 70.0% of rows" in text
    assert [line.split() for line in text.splitlines() if line.split()[0] in ("yes", "no")] == [
        ["yes", "963", "96.3%", "69.3%"],
        ["no", "37", "3.7%", "89.2%"],
    ]


def test_describe_of_many_long_groups_stays_short():
    rows = pd.DataFrame({"a": range(40), "g": [f"{i:02d}" + "x" * 100 for i in range(40)], "y": [0, 1] * 20})
    rows.loc[0, "g"] = None
    text = Dataset.from_frame(rows, target="y", protected="g").describe()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "and 28 smaller groups" in text


def arrow_from_pandas(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


@pytest.mark.parametrize("convert", [pl.from_pandas, arrow_from_pandas], ids=["polars", "pyarrow"])
def test_frames_of_other_packages(table, convert):
    pytest.importorskip("pyarrow")
    roles = {"target": "hired", "protected": "sex", "drop": "id"}
    ours = Dataset.from_frame(convert(table.reset_index(drop=True)), **roles)
    pd.testing.assert_frame_equal(ours.frame, Dataset.from_frame(table, **roles).frame)
    assert ours.y.tolist() == [0, 1, 1, 0]


def test_one_label_against_the_rest(table):
    table = table.assign(hired=[1, 2, 3, 2])
    data = Dataset.from_frame(table, target="hired", protected="sex", positive=2)
    assert data.positive == "2"
    assert data.y.tolist() == [0, 1, 0, 1]
    assert data.frame["hired"].tolist() == ["not 2", "2", "not 2", "2"]
    assert table["hired"].tolist() == [1, 2, 3, 2]
    with pytest.raises(InputError, match=r"positive=4 is not a label of 'hired': it has 3 \(1, 2, 3\)"):
        Dataset.from_frame(table, target="hired", protected="sex", positive=4)
    with pytest.raises(InputError, match="1 missing"):
        Dataset.from_frame(table.assign(hired=[1, 2, 3, None]), target="hired", protected="sex", positive=2)
