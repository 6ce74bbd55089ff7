"""Tables as people have them, through the console."""

import json

import numpy as np
import pandas as pd
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


def same_figures(run, folder, *args):
    """Train on what `args` say; the figures are those of the table as it is."""
    code, _, err = run("train", *args, *BASE, "-o", "other", "--overwrite")
    assert code == 0, err
    if not (folder / "usual").exists():
        assert run("train", "people.csv", *BASE, "-o", "usual")[0] == 0
    one, two = metrics_in(folder / "other"), metrics_in(folder / "usual")
    return one["splits"] == two["splits"] and one["data"]["fingerprint"] == two["data"]["fingerprint"]


def test_other_encodings(run, people, tmp_path):
    people = people.assign(town=people["town"].map({"a": "Ålesund", "b": "Köln", "c": "10 €"}))
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_csv(tmp_path / "windows.csv", index=False, encoding="cp1252")
    people.replace("10 €", "Genève").to_csv(tmp_path / "latin.csv", index=False, encoding="latin-1")
    code, _, err = run("train", "latin.csv", *BASE)
    assert code == 2
    assert "latin.csv is not UTF-8 text; it looks like Latin-1: pass --encoding latin-1." in err
    assert "it looks like Windows-1252: pass --encoding cp1252." in run("train", "windows.csv", *BASE)[2]
    assert same_figures(run, tmp_path, "windows.csv", "--encoding", "cp1252")
    assert run("train", "latin.csv", *BASE, "--encoding", "latin-1", "-o", "latin")[0] == 0
    assert "--encoding must be an encoding such as" in run("train", "latin.csv", *BASE, "--encoding", "latin1000")[2]
    # a new table is read as the training table was, unless told otherwise
    assert run("predict", "latin", "latin.csv", "-o", "predicted.csv")[0] == 0
    assert "10 €" not in (tmp_path / "predicted.csv").read_text(encoding="utf-8")
    assert "Genève" in (tmp_path / "predicted.csv").read_text(encoding="utf-8")
    assert run("predict", "latin", "people.csv", "--encoding", "utf-8", "-o", "usual.csv")[0] == 0


def test_other_separators_and_decimal_commas(run, people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_csv(tmp_path / "european.csv", index=False, sep=";", decimal=",")
    people.to_csv(tmp_path / "tabs.csv", index=False, sep="\t")
    assert "european.csv looks separated by ';' (header " in run("train", "european.csv", *BASE)[2]
    assert "pass --sep ';'." in run("train", "european.csv", *BASE)[2]
    assert "pass --sep tab." in run("train", "tabs.csv", *BASE)[2]
    assert same_figures(run, tmp_path, "tabs.csv", "--sep", "tab")
    assert same_figures(run, tmp_path, "european.csv", "--sep", ";", "--decimal", ",")
    assert run("predict", "other", "european.csv", "-o", "predicted.csv")[0] == 0


def test_decimal_commas_are_pointed_out(run, people, tmp_path):
    people.assign(skill=np.linspace(0.001, 0.998, 600)).to_csv(tmp_path / "s.csv", index=False, sep=";", decimal=",")
    code, _, err = run("train", "s.csv", *BASE, "--sep", ";")
    assert code == 2
    assert "Column 'skill' holds decimal commas, such as '0,001': pass --decimal ,." in err
    people["skill"] = (people["skill"] * 10).round(1)  # not so many different ones
    people.to_csv(tmp_path / "european.csv", index=False, sep=";", decimal=",")
    code, _, err = run("train", "european.csv", *BASE, "--sep", ";", "-o", "r")
    assert code == 0
    assert "column 'skill' holds text such as " in err
    assert "pass --decimal ,." in err


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.xz"])
def test_packed_files(run, people, tmp_path, suffix):
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_csv(tmp_path / f"packed{suffix}", index=False)
    assert same_figures(run, tmp_path, f"packed{suffix}")
    assert run("predict", "other", f"packed{suffix}", "-o", "predicted.csv")[0] == 0
    assert run("audit", f"packed{suffix}", *BASE, "--prediction", "hired")[0] == 0
    run("train", f"packed{suffix}", *BASE)
    assert (tmp_path / "runs" / "packed-equal-opportunity-secant").is_dir()


def test_a_column_in_another_case(run, people, tmp_path):
    people.rename(columns={"sex": "SEX"}).to_csv(tmp_path / "people.csv", index=False)
    for command in ("train", "frontier", "compare"):
        code, _, err = run(command, "people.csv", *BASE)
        assert code == 2
        assert "There is no column 'sex', did you mean 'SEX'? There are: skill, town, SEX, hired." in err
    assert run("train", "people.csv", "--target", "hired", "--protected", "SEX", "-o", "r")[0] == 0
    people.rename(columns={"skill": "Skill"}).to_csv(tmp_path / "new.csv", index=False)
    err = run("predict", "r", "new.csv", "-o", "predicted.csv")[2]
    assert "new.csv lacks the column 'skill' (is it 'Skill'?) of the training table" in err


def test_names_are_refused(run, people, tmp_path):
    names = [f"person {i}" for i in range(len(people))]
    people.assign(name=names, town=names).to_csv(tmp_path / "people.csv", index=False)
    for command in ("train", "frontier", "compare"):
        code, _, err = run(command, "people.csv", *BASE)
        assert code == 2
        assert "leave out 'town' (600 different texts in 600 rows), 'name' (600 " in err
        assert "with --drop town --drop name." in err
    assert run("train", "people.csv", *BASE, "--drop", "town", "--drop", "name")[0] == 0


@pytest.mark.parametrize("numbers", ["in order", "a range", "called an id"])
def test_row_numbers_are_pointed_out(run, people, tmp_path, numbers):
    rng, name = np.random.default_rng(0), "customer_id" if numbers == "called an id" else "nr"
    values = {
        "in order": 7 * np.arange(600) + 1000,
        "a range": rng.permutation(600),
        "called an id": rng.choice(10**6, 600, replace=False),
    }[numbers]
    people.assign(**{name: values}).to_csv(tmp_path / "people.csv", index=False)
    code, _, err = run("train", "people.csv", *BASE, "-o", "r")
    assert code == 0
    text = f"column '{name}' looks like a row number or an id: leave it out of the model with "
    assert f"Warning: {text}--drop {name}." in err
    assert err.count(text) == 1
    assert [warning for warning in metrics_in(tmp_path / "r")["training"]["warnings"] if text in warning]
    assert text not in run("train", "people.csv", *BASE, "--drop", name)[2]


def test_ordinary_columns_are_not(run, people, tmp_path):
    rng = np.random.default_rng(0)
    more = {
        "income": rng.choice(10**6, 600, replace=False),  # all different, in no order
        "score": np.sort(rng.normal(size=600)),
        "sextant": rng.integers(0, 6, 600),
        "average": rng.normal(size=600).round(1),
    }
    people.assign(**more).to_csv(tmp_path / "people.csv", index=False)
    err = run("train", "people.csv", *BASE)[2]
    assert "column" not in err


def test_columns_that_reveal_the_protected_one(run, people, tmp_path):
    rng = np.random.default_rng(0)
    title = np.where(rng.random(600) < 0.995, people["sex"].map({"F": "Ms", "M": "Mr"}), "Dr")
    people["sex-town"] = people["sex"] + people["town"]
    people = people.assign(title=title, sexCode=rng.integers(0, 2, 600))
    people.to_csv(tmp_path / "people.csv", index=False)
    code, _, err = run("train", "people.csv", *BASE, "-o", "r")
    assert code == 0
    noted = metrics_in(tmp_path / "r")["training"]["warnings"]
    for column, reason in {
        "sex-town": "with it, a guess makes 100.0 % fewer mistakes",
        "title": "with it, a guess makes ",
        "sexCode": "it is named after it",
    }.items():
        text = f"column '{column}' may reveal 'sex', which is kept from the model ({reason}"
        assert err.count(text) == 1
        assert f"--drop {column}" in err
        assert len([warning for warning in noted if text in warning]) == 1
    assert "town' may" not in err.replace("sex-town", "")
    assert "may reveal" not in run("train", "people.csv", *BASE, "--with-protected")[2]
    out = run("compare", "people.csv", *BASE, "--methods", "reweight", "--seeds", 1, "--json")[1]
    assert all("'sex-town' may reveal" in " ".join(one["warnings"]) for one in json.loads(out)["runs"])


def test_positive_against_the_rest(run, people, tmp_path):
    grade = np.where(people["hired"] == "yes", "B", np.where(people["town"] == "a", "A", "C"))
    people = people.assign(hired=grade)
    people.to_csv(tmp_path / "people.csv", index=False)
    assert "has 3 labels ('A', 'B', 'C'): say with --positive which one" in run("train", "people.csv", *BASE)[2]
    assert "--positive D is not a label of 'hired'" in run("train", "people.csv", *BASE, "--positive", "D")[2]
    test = ("--test", "people.csv")
    code, out, _ = run("train", "people.csv", *BASE, "--positive", "B", "-o", "r", *test)
    assert code == 0
    assert "with hired = B" in out
    assert "guess" not in out
    counts = metrics_in(tmp_path / "r")["data"]["groups"]
    assert all(set(group) == {"B", "not B"} for group in counts.values())
    assert sum(group["B"] for group in counts.values()) == 2 * (grade == "B").sum()
    assert run("predict", "r", "people.csv", "-o", "predicted.csv")[0] == 0
    assert set(pd.read_csv(tmp_path / "predicted.csv")["prediction"]) == {"B", "not B"}
    assert run("frontier", "people.csv", *BASE, "--positive", "B", "-o", "curve")[0] == 0


@pytest.mark.parametrize(
    ("labels", "given", "guessed"),
    [
        ({"no": "no", "yes": "yes"}, (), True),
        ({"no": "no", "yes": "yes"}, ("--positive", "yes"), False),
        ({"no": 1, "yes": 2}, (), True),
        ({"no": 0, "yes": 1}, (), False),
        ({"no": False, "yes": True}, (), False),
    ],
)
def test_a_guess_is_called_one(run, people, tmp_path, labels, given, guessed):
    people.assign(hired=people["hired"].map(labels)).to_csv(tmp_path / "people.csv", index=False)
    out = run("train", "people.csv", *BASE, *given, "-o", "r")[1]
    assert (f"The positive label, hired = {labels['yes']}, is a guess" in out) is guessed
    assert metrics_in(tmp_path / "r")["config"]["positive_guessed"] is guessed


def test_the_label_of_a_data_set_is_no_guess(run):
    out = run("compare", "german", "--methods", "reweight", "--seeds", 1, "--json")[1]
    assert json.loads(out)["config"]["positive_guessed"] is False
