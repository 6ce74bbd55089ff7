"""``fairalm audit``: decisions, scores and outcomes in files, through the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from fairalm.measures import MEASURES, measure_all, rate_interval
from fairalm.runs.metrics import verdict


@pytest.fixture
def decided(people, tmp_path):
    """People with decisions."""
    people["granted"] = np.where(people["skill"] > 0.2, "yes", "no")
    people.to_csv(tmp_path / "p.csv", index=False)
    return people


def words(out):
    return " ".join(out.split())


def test_decisions_only(run, decided, tmp_path):
    pytest.importorskip("vl_convert")
    code, out, err = run("audit", "p.csv", "--decision", "granted", "--protected", "sex")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    n, k = decided.groupby("sex").size(), (decided["granted"] == "yes").groupby(decided["sex"]).sum()
    low, high = rate_interval(k["F"], n["F"])
    line = next(line for line in out.splitlines() if line.startswith("  F "))
    assert f"{n['F']}  {100 * k['F'] / n['F']:.1f} [{100 * low:.1f}, {100 * high:.1f}]" in line
    assert f"{k['F'] / n['F'] / (k['M'] / n['M']):.2f} [" in line
    assert "Selected means granted = yes (a guess: the larger of the two values)." in out
    assert "generally regarded as evidence of adverse impact" in words(out)
    folder = tmp_path / "audits" / "p"
    assert sorted(path.name for path in folder.iterdir()) == ["audit.html", "audit.json", "manifest.json", "tables.csv"]
    assert "TPR" not in out
    code, out, err = run("audit", "p.csv", "--decision", "granted", "--protected", "sex")
    assert (code, out) == (2, "")
    assert "exists: choose another folder, or pass --overwrite" in err
    assert run("audit", "p.csv", "--decision", "granted", "--protected", "sex", "--overwrite")[0] == 0


def test_outcomes_are_measured_as_the_library_does(run, decided, tmp_path):
    options = ("--target", "hired", "--decision", "granted", "--protected", "sex")
    code, out, _ = run("audit", "p.csv", *options, "-o", "a")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    expected = measure_all(decided["hired"], decided["granted"], sensitive_features=decided["sex"], target="yes")
    for name in MEASURES:
        assert name == "error" or str(expected[name]) in out
    written = json.loads((tmp_path / "a" / "audit.json").read_text())
    (own,) = written["outcomes"]
    assert own["deo"] == expected["deo"].to_dict()
    assert own["verdicts"]["deo"] == verdict(expected["deo"], 0.05)
    code, out, _ = run("audit", "p.csv", *options, "--positive", "no", "--json", "--no-files")
    women = json.loads(out)["outcomes"][0]["groups"]["F"]
    assert women["tp"] == ((decided[["hired", "granted"]] == "no").all(axis=1) & (decided["sex"] == "F")).sum()
    assert not (tmp_path / "audits").exists()


def test_scores_only(run, decided, tmp_path):
    code, out, _ = run("audit", "p.csv", "--score", "skill", "--protected", "sex", "--protected", "town", "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["out"] == "audits/p"
    assert facts["data"]["median"] == decided["skill"].median()
    code, out, _ = run("audit", "p.csv", "--score", "skill", "--protected", "sex", "--no-files")
    assert "Share with a score above the median (scoring rate), by sex:" in out
    assert "Share above a threshold of the score, by sex" in out
    assert max(map(len, out.splitlines())) <= 80
    lines = pd.read_csv(tmp_path / "audits" / "p" / "tables.csv")
    assert set(lines["table"]) == {"scoring", "selection above threshold"}
    assert set(lines["attribute"]) == {"sex", "town", "sex × town"}


def test_reference_unknown_and_word(run, decided, tmp_path):
    decided.loc[:19, "sex"] = "declined"
    decided.to_csv(tmp_path / "p.csv", index=False)
    options = ("--decision", "granted", "--protected", "sex", "--no-files", "--rows-are", "applicants")
    code, out, _ = run("audit", "p.csv", *options, "--reference", "F", "--unknown", "declined")
    assert code == 0
    assert out.startswith("600 applicants in p.csv.")
    assert "Compared with F. Unknown: 20 applicants without a value of sex" in words(out)
    assert "declined" in run("audit", "p.csv", *options)[1]  # a group, unless it is said to be unknown


def test_small_and_empty_cells(run, tmp_path):
    table = pd.DataFrame({"y": [1, 0, 1, 0, 1, 1], "h": [1, 0, 0, 0, 1, 0], "g": ["a", "a", "a", "a", "b", "b"]})
    table.to_csv(tmp_path / "p.csv", index=False)
    code, out, _ = run("audit", "p.csv", "--target", "y", "--decision", "h", "--protected", "g")
    assert code == 0
    assert "! 0" in out
    assert "! under 30 people" in out
    assert "0 people" in out
    assert "undefined (0 " in words(out)


def test_ll144(run, decided, tmp_path):
    law = (
        "--format",
        "ll144",
        "--sex",
        "sex",
        "--race",
        "town",
        "--audit-date",
        "2026-03-31",
        "--tool",
        "Screen <b>1</b>",
    )
    code, out, _ = run("audit", "p.csv", "--decision", "granted", *law)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for text in (
        "Sex categories",
        "Race/ethnicity categories",
        "Intersectional categories",
        "2026-03-31",
        "not stated",
    ):
        assert text in out
    assert "sets no threshold" in out
    assert not any(word in out for word in ("met", "four-fifths"))
    folder = tmp_path / "audits" / "p-ll144"
    assert sorted(path.name for path in folder.iterdir()) == ["ll144.csv", "ll144.html", "ll144.json", "manifest.json"]
    page = (folder / "ll144.html").read_text()
    assert "Screen &lt;b&gt;1&lt;/b&gt;" in page
    facts = json.loads((folder / "ll144.json").read_text())
    assert f'<td dir="auto">{facts["tables"][0]["categories"][0]["impact_ratio"]:.3f}</td>' in page
    code, out, _ = run("audit", "p.csv", "--score", "skill", *law, "--overwrite", "--json")
    assert json.loads(out)["rate"] == "scoring"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--decision", "granted"), "Name the protected columns with --protected"),
        (
            ("--protected", "sex"),
            "name the column of the decisions with --decision, or that of the scores with --score",
        ),
        (("--decision", "skill", "--protected", "sex"), "such as yes and no, or up to 20 labels; it holds"),
        (("--score", "town", "--protected", "sex"), "Column 'town' must hold numbers, as scores are"),
        (("--decision", "granted", "--protected", "skill"), "Name another column, or merge small groups"),
        (("--decision", "granted", "--protected", "sex", "--reference", "X"), "There is no group 'X'"),
        (("--decision", "granted", "--protected", "sex", "--sex", "sex"), "--sex is for --format ll144."),
        (("--decision", "granted", "--protected", "sex", "--format", "xml"), "--format must be one of audit, ll144"),
        (("--decision", "granted", "--format", "ll144", "--sex", "sex"), "that of race/ethnicity with --race"),
        (
            (
                "--decision",
                "granted",
                "--format",
                "ll144",
                "--sex",
                "sex",
                "--race",
                "town",
                "--leave-out-below",
                "0.01",
            ),
            "--leave-out-below and --reason go together",
        ),
        (("--decision", "granted", "--protected", "sex", "--target", "town"), "must hold the same two labels"),
    ],
)
def test_what_cannot_be_audited(run, decided, tmp_path, options, message):
    code, out, err = run("audit", "p.csv", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "audits").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"h": [0.1, 0.7, 0.2, 0.9]}, "must hold the same two labels"),
        ({"h": ["yes", "no", "yes", "no"]}, "must hold the same two labels"),
        ({"h": [1, 0, None, 1]}, "Column 'h' has 1 missing values"),
        ({"y": [1, 1, 1, 1], "h": [1, 1, 1, 1]}, "Only the label 1 occurs: say with --positive"),
        ({"g": ["a", "a", "a", "a"]}, "has 1 group ('a')"),
    ],
)
def test_tables_that_cannot_be_audited(run, tmp_path, change, message):
    table = pd.DataFrame({"y": [1, 0, 1, 0], "h": [1, 0, 0, 0], "g": ["a", "a", "b", "b"]}).assign(**change)
    table.to_csv(tmp_path / "p.csv", index=False)
    code, out, err = run("audit", "p.csv", "--target", "y", "--decision", "h", "--protected", "g")
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_table_of_another_format(run, decided, tmp_path):
    decided.to_csv(tmp_path / "p.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    options = ("--protected", "sex", "--sep", ";", "--decimal", ",", "--encoding", "latin-1", "--json", "--no-files")
    code, out, _ = run("audit", "p.csv", "--score", "skill", *options)
    assert code == 0
    assert json.loads(out)["data"]["median"] == decided["skill"].median()


def test_several_labels(run, decided, tmp_path):
    decided["grade"] = np.select([decided["skill"] > 0.8, decided["skill"] > 0], ["A", "B"], "C")
    decided["exam"] = np.where(decided["hired"] == "yes", decided["grade"], "C")
    decided.to_csv(tmp_path / "p.csv", index=False)
    options = ("--decision", "grade", "--protected", "sex")
    code, out, err = run("audit", "p.csv", *options, "--target", "exam")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "Each label of grade counts against all others." in out
    rates = decided.groupby("sex")["grade"].value_counts(normalize=True)
    start = out.index("  A      F ")
    assert out[start:].split()[2] == f"{100 * rates['F', 'A']:.1f}"
    right = decided[decided["exam"] == "C"].groupby("sex")["grade"].agg(lambda own: (own == "C").mean())
    assert f"{100 * right['F']:.0f} [" in out
    facts = json.loads((tmp_path / "audits" / "p" / "audit.json").read_text())
    (worst,) = facts["labels"]
    assert f"grade = {worst['difference']['label']}" in words(out)
    assert "No ratio is judged against four-fifths" in words(out)
    assert "generally regarded as evidence" not in words(out)
    lines = pd.read_csv(tmp_path / "audits" / "p" / "tables.csv")
    own = lines.query("table == 'selection' and label == 'A' and group == 'F'")["rate"]
    assert own.item() == pytest.approx(rates["F", "A"])
    assert {"selection", "error", "tpr", "ppv"} <= set(lines["table"])
    code, out, err = run("audit", "p.csv", "--decision", "grade", "--format", "ll144", "--sex", "sex", "--race", "town")
    assert (code, out) == (2, "")
    assert "must hold two values, such as yes and no; it holds" in err
