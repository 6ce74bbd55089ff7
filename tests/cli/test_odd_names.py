"""Columns and files whose names are no ordinary text, and a current folder that cannot be written."""

import os
import sys
from pathlib import Path

import pandas as pd
import pytest

QUESTION = ("--target", "hired", "--protected")


@pytest.mark.parametrize("name", ["self", "index", "frame", "0", "prediction of whom?"])
def test_a_protected_column_may_have_any_name(run, people, tmp_path, name):
    pytest.importorskip("vl_convert")
    people.rename(columns={"sex": name}).to_csv(tmp_path / "people.csv", index=False)
    for command in (
        ("train", "people.csv", *QUESTION, name, "-o", "run"),
        ("predict", "run", "people.csv", "-o", "predicted.csv"),
        ("audit", "people.csv", "--decision", "hired", "--protected", name, "-o", "audited"),
    ):
        code, _, err = run(*command)
        assert code == 0, err
    assert name in pd.read_csv(tmp_path / "predicted.csv").columns
    assert name in (tmp_path / "audited" / "audit.html").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_name_that_is_not_utf8(console, people, tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/people\xff.csv")
    people.to_csv(path, index=False)
    code, out, err = console("audit", path, "--decision", "hired", "--protected", "sex", "-o", "audited")
    assert code == 0, err
    assert "people" in out
    code, _, err = console("train", path, *QUESTION, "gender", "-o", "run")
    assert code == 2
    assert len(err.strip().splitlines()) == 1


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that even root cannot write")
def test_a_comparison_is_printed_where_no_page_can_be_written(run, people, tmp_path, monkeypatch):
    people.to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir("/proc")
    options = ("--methods", "fairalm", "--seeds", 1, "--max-iter", 2)
    code, out, _ = run("compare", tmp_path / "people.csv", *QUESTION, "sex", *options)
    assert code == 0
    assert "fairalm" in out
    assert "No page" in out
