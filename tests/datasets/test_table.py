import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from fairalm.datasets import open_table, read_table
from fairalm.datasets._csv_format import OPENERS
from fairalm.exceptions import InputError

TABLE = pd.DataFrame({"age": [31, 47], "income": [1.5, np.nan], "sex": ["F", "M"], "größe": ["a", "b"]})


@pytest.mark.parametrize("name", ["people.csv", "PEOPLE.CSV"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_csv(tmp_path, name, encoding):
    TABLE.to_csv(tmp_path / name, index=False, encoding=encoding)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), TABLE)


@pytest.mark.parametrize("index", [None, "sex"])
def test_parquet(tmp_path, index):
    pytest.importorskip("pyarrow")
    table = TABLE if index is None else TABLE.set_index(index)
    table.to_parquet(tmp_path / "people.parquet")
    pd.testing.assert_frame_equal(read_table(str(tmp_path / "people.parquet")), TABLE, check_like=True)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.parquet", b"", "is empty"),
        ("a.csv", b"\n\n\n", "cannot be read as CSV"),
        ("a.csv", b"age,sex\n", "has 0 rows and 2 columns"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not text"),
        ("a.csv", "größe\n1\n".encode("latin-1"), "not UTF-8 text; it looks like Latin-1: pass encoding='latin-1'"),
        ("a.csv", "price\n5 €\n".encode("cp1252"), "looks like Windows-1252: pass encoding='cp1252'"),
        ("a.csv", "город\nМосква\n".encode("cp1251"), "is not UTF-8 text: pass its encoding"),
        ("a.csv", b"age,sex\n" * 9000 + b"\xff,\xfe\n", "not UTF-8 text"),
        ("a.csv", "age\n1\n".encode("utf-16"), "looks like UTF-16: pass encoding='utf-16'"),
        ("a.csv", b"age,sex,age\n1,F,2\n", "same name \\('age'\\)"),
        ("a.csv", b"\nage,age\n1,2\n", "same name \\('age'\\)"),
        ("a.csv", b",age\n0,31\n", "column without a name"),
        ("a.csv", b"age;sex\n31;F\n", "looks separated by ';' .*: pass sep=';'"),
        ("a.csv", b"age\tsex\n31\tF\n", "looks separated by 'tab' .*: pass sep='tab'"),
        ("a.csv.gz", b"age,sex\n31,F\n", "cannot be unpacked"),
        ("a.csv.bz2", b"age,sex\n31,F\n", "cannot be unpacked"),
        ("a.csv.xz", b"age,sex\n31,F\n", "cannot be unpacked"),
        ("a.csv.gz", gzip.compress(b"age,sex\n" + bytes(range(65, 91)) * 99, mtime=0)[:-20], "cannot be unpacked"),
        ("a.gz", b"x", "ends in '.gz'"),
        ("a.parquet.gz", b"x", "ends in '.gz'"),
        ("a.csv", b"age,sex\n31,F,9\n47,M,9\n", "2 names in its header but 3 values"),
        ("a.csv", b"age,sex\n31,F\n47,M,9\n", "cannot be read as CSV .*line 3"),
        ("a.parquet", b"not parquet at all", "cannot be read as Parquet"),
        ("a.xlsx", b"PK", r"ends in '.xlsx': only .csv, .csv.gz, .csv.bz2, .csv.xz and .parquet"),
        ("a", b"x", "ends in ''"),
    ],
)
def test_one_sentence_says_what_is_wrong(tmp_path, name, content, message):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_table(tmp_path / name)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert ". " not in text.replace(str(tmp_path), "").replace("a. ", "")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".CSV.GZ"])
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"encoding": "latin-1"},
        {"encoding": "utf-16"},
        {"sep": ";", "decimal": ","},
        {"sep": "\t", "encoding": "cp1252"},
    ],
)
def test_every_way_to_write_a_csv_file(tmp_path, suffix, form):
    path, encoding = tmp_path / f"people{suffix}", form.get("encoding", "utf-8")
    text = TABLE.to_csv(index=False, **{name: form[name] for name in form if name != "encoding"})
    with OPENERS.get(path.suffix.lower(), open)(path, "wb") as file:
        file.write(text.encode(encoding))
    pd.testing.assert_frame_equal(read_table(path, **form), TABLE)
    table = open_table(path, **form)
    (batch,) = table.batches(["größe", "income"])
    assert batch.columns["größe"].values == ["a", "b"]
    assert table.typed("income", [*batch.columns["income"].values, None]).tolist()[0] == 1.5
    assert table.n_rows == 3  # with the header


def test_a_tab_can_be_typed(tmp_path):
    (tmp_path / "a.csv").write_text("age\tsex\n31\tF\n")
    for sep in ("tab", "\\t", "\t"):
        assert list(read_table(tmp_path / "a.csv", sep=sep)) == ["age", "sex"]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"encoding": "klingon"}, "encoding must be an encoding such as"),
        ({"encoding": "base64"}, "encoding must be an encoding such as"),
        ({"encoding": "ascii"}, "is not ascii text; it looks like Latin-1"),
        ({"sep": ""}, "sep must be one character"),
        ({"sep": "::"}, "sep must be one character"),
        ({"sep": ";"}, "looks separated by ','"),
        ({"decimal": ","}, "decimal must be . or , and not the separator"),
        ({"decimal": "'", "sep": ";"}, "decimal must be . or ,"),
    ],
)
def test_how_a_csv_file_is_not_written(tmp_path, form, message):
    TABLE.to_csv(tmp_path / "a.csv", index=False, encoding="latin-1")
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "a.csv", **{"encoding": "latin-1"} | form)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match=r"no file .*none\.csv"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)


def test_parquet_without_rows_or_with_twin_columns(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    TABLE[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="0 rows"):
        read_table(tmp_path / "none.parquet")
    twins = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(twins, tmp_path / "twins.parquet")
    with pytest.raises(InputError, match="same name"):
        read_table(tmp_path / "twins.parquet")


def test_parquet_without_pyarrow_gives_the_command(tmp_path, monkeypatch):
    (tmp_path / "people.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "fairalm\[parquet\]"'):
        read_table(tmp_path / "people.parquet")
