"""Tables that may have more rows than fit in memory."""

import json

import numpy as np
import pandas as pd
import pytest

import fairalm
from fairalm.datasets import Table
from fairalm.runs import memory

BASE = ("--target", "hired", "--protected", "sex")


@pytest.fixture
def parts(people, tmp_path):
    """Three files. The first has no code, and `number` is missing in the second."""
    pytest.importorskip("pyarrow")
    people = people.assign(code=np.where(people.index < 200, None, "x"), number=people.index)
    people["number"] = people["number"].astype("Int64").where(people.index // 200 != 1)
    (tmp_path / "parts").mkdir()
    for start in (0, 200, 400):
        part = people.iloc[start : start + 200].astype({"code": "string"})
        part.to_parquet(tmp_path / "parts" / f"{start}.parquet", row_group_size=70)
    return people


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_folder_is_trained_on_and_predicted_in_batches(run, parts, tmp_path, monkeypatch, suffix):
    options = ("--drop", "code", "--drop", "number", "--rows", "500", "-o", "r")
    assert run("train", "parts", *BASE, *options)[0] == 0
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["data"]["rows"] == 500
    assert metrics["config"]["features"] == {"skill": "numbers", "town": "text"}
    monkeypatch.setattr(Table, "BATCH", 64)
    code, out, _ = run("predict", "r", "parts", "-o", f"out.{suffix}", "--json")
    assert code == 0
    written = pd.read_csv(tmp_path / "out.csv") if suffix == "csv" else pd.read_parquet(tmp_path / "out.parquet")
    model, X = fairalm.load(tmp_path / "r" / "model.skops"), parts[["skill", "town"]]
    assert written["prediction"].tolist() == model.predict(X).tolist()
    assert np.allclose(written["score"], model.predict_proba(X)[:, 1])
    assert list(written.columns) == [*parts.columns, "prediction", "score"]
    for column in parts:
        assert written[column].isna().equals(parts[column].isna()), column
        assert (written[column] == parts[column])[parts[column].notna()].all(), column
    assert json.loads(out)["rows"] == 600
    assert json.loads(out)["share"] == (model.predict(X) == "yes").mean()


def test_a_batch_that_does_not_fit_leaves_no_file(run, parts, tmp_path):
    assert run("train", "parts", *BASE, "--drop", "code", "--drop", "number", "-o", "r")[0] == 0
    last = tmp_path / "parts" / "400.parquet"
    last.write_bytes(last.read_bytes()[:4] + bytes(300) + last.read_bytes()[304:])
    code, _, err = run("predict", "r", "parts", "-o", "out.parquet")
    assert code == 2
    assert "400.parquet cannot be read as Parquet" in err
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_more_rows_than_memory_are_refused_before_they_are_read(run, people, tmp_path, monkeypatch, suffix):
    pytest.importorskip("pyarrow")
    people.to_csv(tmp_path / "p.csv", index=False)
    people.to_parquet(tmp_path / "p.parquet")
    monkeypatch.setattr(memory, "SMALL", 300)
    monkeypatch.setattr(memory, "free_memory", lambda: 60_000)
    monkeypatch.setattr(Table, "HEAD", 100)
    code, out, err = run("train", f"p.{suffix}", *BASE, "-o", "r")
    assert (code, out) == (2, "")
    assert f"rows of p.{suffix} takes about 0.0 GB of memory, of which 0.0 GB are free: pass --rows" in err
    assert len(err.splitlines()) == 1
    if suffix == "parquet":
        assert run("train", "p.parquet", *BASE, "--rows", "250", "-o", "r")[0] == 0
    else:
        code, _, err = run("train", "p.csv", *BASE, "--rows", "250", "-o", "r")
        assert code == 2
        assert "--rows 250 is for .parquet files, of which a sample can be read, not for p.csv" in err
    monkeypatch.setattr(memory, "free_memory", lambda: None)  # the system does not say
    assert run("train", f"p.{suffix}", *BASE, "-o", "s")[0] == 0


def test_the_estimate_counts_numbers_and_categories():
    table = pd.DataFrame(
        {"x": np.arange(100.0), "c": pd.Categorical(["a", "b"] * 50), "id": np.arange(100).astype(str)}
    )
    text = table["id"].memory_usage(index=False, deep=True) / 100
    own = table["c"].memory_usage(index=False, deep=True) / 100
    assert memory.bytes_per_row(table) == pytest.approx(memory.COPIES * (8 + own + text + 8 * (1 + 3 + 64)))
