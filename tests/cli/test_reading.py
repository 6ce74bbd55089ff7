"""Tables as people have them, through the console."""

import json

import pytest

BASE = ("--target", "hired", "--protected", "sex")


def metrics_in(folder):
    return json.loads((folder / "metrics.json").read_text())


def test_rows_have_a_word(run, table, tmp_path):
    code, out, _ = run("train", table, *BASE, "--rows-are", "birds", "-o", "r")
    assert code == 0
    assert "600 birds, " in out
    assert "birds  " in out
    assert metrics_in(tmp_path / "r")["config"]["rows_are"] == "birds"
    assert "600 birds, " in run("predict", "r", table, "-o", "predicted.csv")[1]
    out = run("compare", table, *BASE, "--rows-are", "birds", "--methods", "reweight", "--seeds", 1, "--json")[1]
    assert json.loads(out)["config"]["rows_are"] == "birds"


@pytest.mark.parametrize("word", ["", " ", "two\nlines"])
def test_no_word_for_rows(run, table, word):
    code, _, err = run("train", table, *BASE, "--rows-are", word)
    assert code == 2
    assert "--rows-are must be a word in the plural, such as people" in err
