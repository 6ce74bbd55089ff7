"""Tables read batch by batch hold what the whole table does, and only what is asked for."""

import numpy as np
import pandas as pd
import pytest

from fairalm.datasets import Table, open_table, read_table
from fairalm.exceptions import InputError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

TABLE = pd.DataFrame(
    {
        "label": [1, 0, 1, 0, 1],
        "age": [1, 2, None, 2, 1],
        "sex": ["F", "M", None, "M", "F"],
        "code": ["7", "8", "x", "8", "7"],
        "is_new": [True, False, True, True, False],
        "text": ['a "quoted", one', "two\nlines", "NA", " 3", ""],
    }
)


def whole(table, columns):
    """The columns put together again from the batches, with the types of the table."""
    parts = [batch.columns for batch in table.batches(columns)]
    texts = {c: [part[c].values[i] if i >= 0 else None for part in parts for i in part[c].codes] for c in columns}
    return pd.DataFrame({c: table.typed(c, values).tolist() for c, values in texts.items()})


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_batches_hold_what_the_table_does(tmp_path, monkeypatch, name, rows):
    monkeypatch.setattr(Table, "BATCH", rows)
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    TABLE.assign(sex=TABLE["sex"].astype("category"), age=TABLE["age"].astype("Int64")).to_parquet(
        tmp_path / "t.parquet"
    )
    table = open_table(tmp_path / name)
    assert table.names == tuple(TABLE.columns)
    expected = read_table(tmp_path / name)
    for column in TABLE:
        ours, theirs = whole(table, [column])[column].tolist(), expected[column].tolist()
        assert repr(ours) == repr(theirs), column
    (numbers,) = {tuple(np.concatenate([batch.numbers for batch in table.batches(["sex"], "label")]))}
    assert numbers == tuple(TABLE["label"])


@pytest.fixture
def folder(tmp_path):
    for part in range(3):
        place = tmp_path / "parts" / f"year={2020 + part}"
        place.mkdir(parents=True)
        TABLE.to_parquet(place / "part.parquet")
    (tmp_path / "parts" / "_SUCCESS").write_text("")
    return tmp_path / "parts"


def test_a_folder_is_one_table(folder):
    table = open_table(folder)
    assert table.names == (*TABLE.columns, "year")
    assert whole(table, ["year", "sex"])["year"].tolist() == [2020] * 5 + [2021] * 5 + [2022] * 5
    assert read_table(folder, columns=["year"], rows=7).isin([2020, 2021, 2022]).all(axis=None)
    for part in (folder / "year=2020", folder / "year=2020" / "part.parquet"):
        assert open_table(part).names == tuple(TABLE.columns)  # only names below what was asked for


def sentence(error, folder):
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text.replace(str(folder), "")


def test_a_damaged_file_of_a_folder_is_named(folder):
    file = folder / "year=2021" / "part.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:-20])
    with pytest.raises(InputError) as error:
        open_table(folder)
    assert sentence(error, folder).startswith("/year=2021/part.parquet cannot be read as Parquet (")
    file.write_bytes(b"PAR1" + bytes(100) + content[104:])  # its footer is whole
    table = open_table(folder)
    with pytest.raises(InputError) as error:
        list(table.batches(["label", "age"]))
    assert sentence(error, folder).startswith("/year=2021/part.parquet cannot be read as Parquet (")


def test_files_that_differ_are_named(folder):
    file = folder / "year=2022" / "part.parquet"
    schema = pa.schema([("label", pa.large_string()), ("code", pa.large_string())])  # pandas 2 writes other types
    TABLE.assign(label=TABLE["label"].astype(str))[["label", "code"]].to_parquet(file, schema=schema)
    table = open_table(folder)
    for column, here in {"label": "as large_string", "sex": "nowhere"}.items():
        with pytest.raises(InputError) as error:
            next(table.batches([column]))
        assert sentence(error, folder).startswith(f"/year=2022/part.parquet has the column '{column}' {here}, /year")
    assert whole(table, ["code"]).shape == (15, 1)  # what is not needed may differ


def test_text_of_different_types_is_read(tmp_path):
    for number, kind in enumerate((pa.string(), pa.large_string(), pa.string())):
        part = pa.table({"sex": pa.array(["F", None, f"{number}"], kind)})
        pa.parquet.write_table(part, tmp_path / f"{number}.parquet")
    table = open_table(tmp_path)
    assert whole(table, ["sex"])["sex"].fillna("-").tolist() == ["F", "-", "0", "F", "-", "1", "F", "-", "2"]
    assert sum(len(part) for part in table.tables()) == 9
    assert [part["sex"].type for part in table.tables()] == [pa.string()] * 3


def test_only_the_columns_asked_for_are_read(tmp_path):
    file = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"id": list(range(1000)), "sex": ["F", "M"] * 500}), file)
    column = pa.parquet.read_metadata(file).row_group(0).column(0)
    content, begin = bytearray(file.read_bytes()), column.dictionary_page_offset
    content[begin : begin + column.total_compressed_size] = bytes(column.total_compressed_size)
    file.write_bytes(content)
    assert len(whole(open_table(file), ["sex"])) == 1000
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        list(open_table(file).batches(["id"]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"age,sex\n", "has 0 rows and 2 columns"),
        (b"age,sex\n31,F\n47,M,9\n", "cannot be read as CSV .*line 3"),
        (b"age,sex\n" * 9000 + b"\xff,\xfe\n", "not UTF-8 text"),
    ],
)
def test_a_damaged_csv_file_is_refused_as_ever(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    for read in (read_table, lambda path: list(open_table(path).batches(["sex"]))):
        with pytest.raises(InputError, match=message):
            read(tmp_path / "t.csv")


def test_a_folder_without_files(tmp_path):
    with pytest.raises(InputError, match=r"is a folder without \.parquet files"):
        open_table(tmp_path)


def test_a_column_of_lists_has_no_values_to_count(tmp_path):
    pa.parquet.write_table(pa.table({"s": [[1], [2]]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="Column 's' has type list<element: int64>, which is neither numbers nor text"):
        next(open_table(tmp_path / "t.parquet").batches(["s"]))
