"""Tables that would be read as something else without a word: read right, or refused by name."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from fairalm._validation import encode_groups
from fairalm.datasets import Dataset, open_table, read_table
from fairalm.exceptions import InputError
from fairalm.measures import splits_entry
from fairalm.runs import Source


@pytest.mark.parametrize("blank", ["   ", "\t"])
def test_a_blank_second_line_does_not_shift_columns(tmp_path, blank):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,c\n{blank}\n1,2,3,9\n4,5,6,9\n")
    with pytest.raises(InputError, match="3 names in its header but 4 values"):
        read_table(path)
    path.write_text(f"a,b,c\n{blank}\n1,2,3\n4,5,6\n")
    assert read_table(path).values.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_decimals_are_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"fee": [Decimal("1.50"), None], "sex": ["F", "M"]}).to_parquet(path)
    assert read_table(path)["fee"].dtype == float
    (batch,) = open_table(path).batches(["fee"])
    assert batch.columns["fee"].values == [1.5]
    assert next(open_table(path).tables())["fee"].to_pylist() == [Decimal("1.50"), None]  # as predict passes it on


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([datetime.date(2020, 1, 1)] * 2, "date"),
        ([datetime.time(1)] * 2, "time"),
        ([b"\xff", b"a"], "bytes"),
        ([[1], [2]], "ndarray"),
        ([{"x": 1}, {"x": 2}], "dict"),
        (pd.to_datetime(["2020-01-01"] * 2), "datetime64"),
        (pd.to_timedelta([1, 2], "D"), "timedelta64"),
    ],
)
def test_what_is_neither_numbers_nor_text(tmp_path, values, kind):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"when": values, "skill": [1, 2], "sex": ["F", "M"], "hired": [0, 1]}).to_parquet(path)
    roles = {"target": "hired", "protected": "sex"}
    with pytest.raises(InputError, match=f"Column 'when' has type .*{kind}.*neither numbers nor text"):
        Dataset.from_frame(read_table(path), **roles)
    assert Dataset.from_frame(read_table(path), drop="when", **roles).features == ("skill",)
    with pytest.raises(InputError, match=r"Column 'when' has type .*neither numbers nor text"):
        list(open_table(path).batches(["when"]))


def test_text_that_is_not_utf8_is_refused_by_the_name_of_the_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    places = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    town = pa.StringArray.from_buffers(2, places, pa.py_buffer(b"a\xff"))
    parquet.write_table(pa.table({"age": [1, 2], "town": town}), path)
    for read in (read_table, lambda path: list(open_table(path).batches(["town"]))):
        with pytest.raises(InputError, match=r"t\.parquet cannot be read as Parquet \(.*Invalid UTF8"):
            read(path)
    with pytest.raises(InputError, match=r"t\.parquet cannot be read as Parquet"):
        list(open_table(path).tables())


def test_half_floats_are_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"skill": np.arange(30, dtype=np.float16), "sex": ["F", "M"] * 15, "hired": [0, 1, 1] * 10})
    frame.to_parquet(path)
    data = Dataset.from_frame(read_table(path), target="hired", protected="sex")
    assert data.X["skill"].dtype == float
    assert data.X["skill"].tolist() == list(range(30))


def test_an_index_with_levels(tmp_path):
    pytest.importorskip("pyarrow")
    index = pd.MultiIndex.from_product([["F", "M"], [1, 2]], names=["sex", "site"])
    path, frame = tmp_path / "t.parquet", pd.DataFrame({"hired": [0, 1, 0, 1]}, index=index)
    frame.to_parquet(path)
    assert list(read_table(path).columns) == ["sex", "site", "hired"]
    frame.rename_axis([None, "site"]).to_parquet(path)
    with pytest.raises(InputError, match="an index of 2 levels, not all with a name"):
        read_table(path)


def test_codes_that_begin_with_zero(tmp_path):
    rows = "".join(f"{i % 7},{('01', '1', '02')[i % 3]},{i % 2}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("skill,office,hired\n" + rows)
    samples = Source(str(tmp_path / "t.csv"), "hired", "office").read()
    assert samples.groups.names == ("01", "02", "1")
    assert open_table(tmp_path / "t.csv").typed("office", ["01", "1"]).tolist() == ["01", "1"]


def test_numbers_stay_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("skill,office,hired\n" + "1,1,0\n2,,1\n3,2.0,1\n4,0,0\n" * 9)
    samples = Source(str(tmp_path / "t.csv"), "hired", "office", missing="drop", with_protected=True).read()
    assert samples.groups.labels == (0.0, 1.0, 2.0)


def test_names_of_crossed_groups_stay_apart():
    columns = {"a": ["a × b", "a"] * 2, "b": ["c", "b × c"] * 2}
    assert len(splits_entry([1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=columns)["groups"]) == 2
    assert encode_groups(["1", 1, "x"]).names == ("1", "'1'", "x")
    columns = {"a": ["b = c", "x"], "a = b": ["c", "y"]}
    assert len(set(encode_groups(columns, attributes="separate").compared)) == 4
