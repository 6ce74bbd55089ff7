"""Text of a table that a spreadsheet would run as a formula does not reach a .csv file as one."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairalm.files import write_csv
from fairalm.spreadsheets import write_rows

FORMULAS = ("=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1")
NUMBERS = ("-1.5", "+3", "-.5", "-1e-05")


@pytest.fixture
def risky(people):
    """People with formulas in every kind of place: feature, group, label, column name."""
    town = np.resize([*FORMULAS, *NUMBERS, "a=b"], len(people))
    renamed = people.assign(town=town).replace({"sex": {"F": "@F"}, "hired": {"yes": "=yes"}})
    return renamed.rename(columns={"skill": "-skill"})


@pytest.fixture
def model(run, risky):
    risky.to_csv("risky.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    assert run("train", "risky.csv", "--target", "hired", "--positive", "=yes", "--protected", "sex", "-o", "r")[0] == 0
    return "r"


def cells(path):
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def is_formula(cell):
    try:
        float(cell)
    except ValueError:
        return cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
    return False


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_predictions(run, model, risky, kind):
    if kind == "parquet":  # goes through in batches of pyarrow
        pytest.importorskip("pyarrow")
        risky.to_parquet("risky.parquet", index=False)
    assert run("predict", model, f"risky.{kind}", "-o", "safe.csv")[0] == 0
    assert run("predict", model, f"risky.{kind}", "-o", "raw.csv", "--raw")[0] == 0
    safe, raw = cells("safe.csv"), cells("raw.csv")
    assert not any(is_formula(cell) for row in safe for cell in row)
    assert raw[0] == ["-skill", "town", "sex", "hired", "prediction", "score"]
    assert [row[1] for row in raw[1:]] == risky["town"].tolist()
    assert {row[4] for row in raw[1:]} == {"=yes", "no"}
    for safe_row, raw_row in zip(safe, raw, strict=True):
        assert safe_row == [f"'{cell}" if is_formula(cell) else cell for cell in raw_row]


def test_parquet_is_not_changed(run, model, risky):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("predict", model, "risky.csv", "-o", "out.parquet")[0] == 0
    written = parquet.read_table("out.parquet").to_pandas()
    assert written["town"].tolist() == risky["town"].tolist()
    assert "-skill" in written


@pytest.mark.parametrize("form", ["audit", "ll144"])
def test_audits(run, risky, form):
    risky["race"] = np.resize(["-a", "+b"], len(risky))
    risky.to_csv("risky.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    columns = {"audit": ("--protected", "sex", "--score=-skill"), "ll144": ("--sex", "sex", "--race", "race")}[form]
    command = ("audit", "risky.csv", "--decision", "hired", "--positive", "=yes", "--format", form, *columns)
    name = {"audit": "tables.csv", "ll144": "ll144.csv"}[form]
    assert run(*command, "-o", "safe")[0] == 0
    assert run(*command, "-o", "raw", "--raw")[0] == 0
    safe, raw = cells(f"safe/{name}"), cells(f"raw/{name}")
    assert not any(is_formula(cell) for row in safe for cell in row)
    assert {"@F", "'@F"} <= {cell for row in [*safe, *raw] for cell in row}
    assert [[f"'{cell}" if is_formula(cell) else cell for cell in row] for row in raw] == safe


def test_tables_of_runs_are_safe(run, risky):
    risky.to_csv("risky.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    question = ("risky.csv", "--target", "hired", "--positive", "=yes", "--protected", "sex")
    assert run("frontier", *question, "-o", "f")[0] == 0
    assert run("lda", *question, "--reference", "@F", "--acceptance", 0.5, "-o", "l")[0] == 0
    for path in ("f/frontier.csv", "l/log.csv", "l/table.csv"):
        assert not any(is_formula(cell) for row in cells(path) for cell in row)


@pytest.mark.parametrize("dtype", [object, "str", "string", "category", "arrow", "large arrow"])
def test_every_type_of_text_column(tmp_path, dtype):
    if dtype in ("arrow", "large arrow"):
        arrow = pytest.importorskip("pyarrow")
        dtype = pd.ArrowDtype(arrow.string() if dtype == "arrow" else arrow.large_string())
    table = pd.DataFrame({"text": pd.Series([*FORMULAS, *NUMBERS, None], dtype=dtype), "change": -1.5})
    before = table.copy()
    write_csv(tmp_path / "t.csv", table)
    pd.testing.assert_frame_equal(table, before)
    expected = [*(f"'{text}" for text in FORMULAS), *NUMBERS, ""]
    assert [row[0] for row in cells(tmp_path / "t.csv")[1:]] == expected
    assert {row[1] for row in cells(tmp_path / "t.csv")[1:]} == {"-1.5"}


def test_columns_of_one_name_stay_apart():
    table = pd.DataFrame([["=a", -1]], columns=["=x", "=x"])
    text = io.StringIO()
    write_rows(text, table)
    assert text.getvalue() == "'=x,'=x\n'=a,-1\n"
