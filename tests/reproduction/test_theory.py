"""``python -m reproduction theory`` on a tiny setting."""

import json

import pandas as pd

TINY = ("theory", "--rounds", "60", "--models", "4", "--games", "2", "--rows", "2500", "--jobs", "1")


def test_table_and_files(run, tmp_path):
    done = run(*TINY, "-o", "here/there")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "PP linear (the paper:" in done.out
    assert "fails" in done.out  # a finding, not an error
    folder = tmp_path / "here" / "there"
    assert {path.name for path in folder.iterdir()} == {"jobs", "theory.csv", "theory.json", "theory.png"}
    written = json.loads((folder / "theory.json").read_text())
    claims = {claim["name"]: claim for claim in written["checks"]}
    assert claims["second case, η = 1/T"]["holds"]
    assert not claims["PP linear (the paper: it is not)"]["holds"]
    assert claims["lemma, main text"]["slack"] >= -1e-11
    assert len(written["findings"]) == 5
    assert written["data"] == {"name": "adult", "rows": 2500}
    assert written["config"] == {"rounds": 60, "models": 4, "games": 2, "seed": 0}
    curves = pd.read_csv(folder / "theory.csv")
    assert curves["T"].max() == 60
    assert curves["family"].nunique() == 3
    assert (folder / "theory.png").read_bytes().startswith(b"\x89PNG")


def test_json_is_all_on_stdout_and_a_seed_repeats(run):
    first, again = (run(*TINY, "--seed", 3, "--json", "-o", folder) for folder in ("first", "again"))
    assert (first.code, first.err) == (0, "")
    facts = json.loads(first.out)
    assert facts["checks"] == json.loads(again.out)["checks"]
    assert len(facts["theory"]) == len(pd.read_csv("first/theory.csv"))


def test_errors_are_one_sentence(run, tmp_path):
    done = run("theory", "--rows", 10)
    assert (done.code, done.out) == (2, "")
    assert done.err == "Error: --rows: must be a whole number of at least 2001; got '10'.\n"
    assert "whole number of at least 10 and at most 10,000,000" in run("theory", "--rounds", 1).err
    (tmp_path / "file").write_text("")
    done = run(*TINY, "-o", "file")
    assert done.code == 2
    assert "file" in done.err
