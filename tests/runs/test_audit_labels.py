"""An audit of decisions with several labels: each against the rest, by arithmetic typed out."""

import json

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from scipy.stats import fisher_exact

from fairalm.datasets import Table
from fairalm.exceptions import InputError
from fairalm.files import to_json
from fairalm.measures import measure_all
from fairalm.runs import Decisions, LocalLaw144, audit, audit_schema, ll144

DECIDED = {("F", "A"): 30, ("F", "B"): 50, ("F", "C"): 20, ("M", "A"): 120, ("M", "B"): 60, ("M", "C"): 20}


def written(tmp_path, cells, columns):
    rows = [values for values, n in cells.items() for _ in range(n)]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "p.csv", index=False)
    return str(tmp_path / "p.csv")


@pytest.fixture
def decided(tmp_path):
    return written(tmp_path, DECIDED, ["sex", "grade"])


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Grades with outcomes, weights and missing values, as a file and as a folder of .parquet files."""
    pytest.importorskip("pyarrow")
    rng, n, folder = np.random.default_rng(0), 900, tmp_path_factory.mktemp("graded")
    true = rng.integers(1, 5, n)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M", None], n, p=[0.4, 0.5, 0.1]),
            "town": rng.choice(["n", "s", "tiny"], n, p=[0.5, 0.48, 0.02]),
            "true": true,
            "grade": np.where(rng.random(n) < 0.7, true, rng.integers(1, 5, n)),
            "w": rng.integers(1, 4, n).astype(float),
            "score": rng.random(n).round(3),
        }
    )
    frame.to_csv(folder / "p.csv", index=False)
    (folder / "parts").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(n), 3)):
        frame.iloc[rows].to_parquet(folder / "parts" / f"{number}.parquet", row_group_size=100)
    return frame, str(folder / "p.csv"), str(folder / "parts")


def test_each_label_against_the_rest(decided):
    done = audit(Decisions(decided, "sex", decision="grade"))
    tables, (worst,) = done.facts["selection"], done.facts["labels"]
    assert [table["label"] for table in tables] == ["A", "B", "C"] == worst["labels"]
    shares = [{name: group["rate"]["value"] for name, group in table["groups"].items()} for table in tables]
    assert shares == [{"F": 0.3, "M": 0.6}, {"F": 0.5, "M": 0.3}, {"F": 0.2, "M": 0.1}]
    women = [table["groups"]["F"]["against"] for table in tables]
    assert [own["ratio"] for own in women] == pytest.approx([0.5, 0.5 / 0.3, 2.0])
    assert [own["difference"] for own in women] == pytest.approx([-0.3, 0.2, 0.1])
    assert [table["difference"]["value"] for table in tables] == pytest.approx([0.3, 0.2, 0.1])
    assert [table["difference"]["verdict"] for table in tables] == ["not met", "not met", "cannot tell"]
    assert (worst["difference"]["label"], worst["difference"]["verdict"]) == ("A", "not met")
    assert worst["difference"]["value"] == pytest.approx(0.3)
    p = [fisher_exact([[30, 70], [120, 80]]).pvalue, fisher_exact([[50, 50], [60, 140]]).pvalue]
    p += [fisher_exact([[20, 80], [20, 180]]).pvalue]
    assert p == sorted(p)  # Holm: the smallest times 3, the next times 2, the largest as it is
    assert [own["p_holm"] for own in women] == pytest.approx([3 * p[0], 2 * p[1], p[2]])


def test_no_group_is_chosen_by_its_rate_and_no_ratio_is_judged(decided):
    for table in audit(Decisions(decided, "sex", decision="grade")).facts["selection"]:
        assert (table["reference"], table["reference_is"]) == ("M", "largest group")
        assert "ratio" not in table
    for table in audit(Decisions(decided, "sex", decision="grade", reference="F")).facts["selection"]:
        assert (table["reference"], table["reference_is"]) == ("F", "given")
    (table,) = audit(Decisions(decided, "sex", decision="grade", positive="A")).facts["selection"]
    assert table["ratio"]["verdict"] == "not met"
    assert "label" not in table


def test_outcomes(tmp_path):
    cells = {("F", "A", "A"): 30, ("F", "A", "B"): 10, ("F", "B", "B"): 40, ("F", "C", "C"): 15, ("F", "C", "A"): 5}
    cells |= {("M", "A", "A"): 38, ("M", "A", "C"): 2, ("M", "B", "B"): 20, ("M", "B", "A"): 20, ("M", "C", "C"): 20}
    data = written(tmp_path, cells, ["sex", "true", "grade"])
    facts = audit(Decisions(data, "sex", decision="grade", target="true")).facts
    (worst,) = facts["labels"]
    tpr = [[group["rates"]["tpr"]["value"] for group in table["groups"].values()] for table in facts["outcomes"]]
    assert tpr == [[30 / 40, 38 / 40], [40 / 40, 20 / 40], [15 / 20, 20 / 20]]
    assert [table["deo"]["value"] for table in facts["outcomes"]] == pytest.approx([0.2, 0.5, 0.25])
    assert (worst["gaps"]["deo"]["value"], worst["gaps"]["deo"]["label"]) == (0.5, "B")
    assert {name: own["value"] for name, own in worst["errors"].items()} == {"F": 0.15, "M": 0.22}
    assert worst["error"]["value"] == (15 + 22) / 200
    assert worst["gaps"]["error_parity"]["value"] == pytest.approx(0.07)
    assert worst["gaps"]["error_parity"]["label"] is None
    assert [table["difference"]["value"] for table in facts["selection"]] == pytest.approx([0.23, 0.3, 0.07])
    assert worst["difference"]["label"] == "B"  # A: 35 and 58 of 100, B: 50 and 20, C: 15 and 22


def test_what_the_library_measures(graded):
    people, data, _ = graded
    facts = audit(Decisions(data, "town", decision="grade", target="true", weight="w")).facts
    given = {"sensitive_features": people["town"], "sample_weight": people["w"]}
    expected = measure_all(people["true"], people["grade"], **given)
    (worst,) = facts["labels"]
    assert worst["error"] == expected["error"].to_dict()
    for name, gap in worst["gaps"].items():
        assert {**expected[name].to_dict(), **gap} == gap


def test_a_label_that_one_group_never_should_have_is_in_no_gap_of_outcomes(tmp_path):
    cells = {("F", "A", "A"): 30, ("F", "B", "B"): 40, ("M", "A", "A"): 20, ("M", "B", "A"): 20, ("M", "C", "C"): 20}
    data = written(tmp_path, cells, ["sex", "true", "grade"])
    (worst,) = audit(Decisions(data, "sex", decision="grade", target="true")).facts["labels"]
    assert (worst["gaps"]["deo"]["value"], worst["gaps"]["deo"]["label"]) == (1.0, "B")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"target": "true", "reference": ["M", "s"], "missing": "drop"},
        {"weight": "w", "attributes": "crossed", "missing": "group", "merge_below": 30},
        {"target": "true", "score": "score", "attributes": "separate", "unknown": "tiny"},
    ],
)
def test_batches_of_parquet_say_the_same_and_fit_the_schema(graded, monkeypatch, more):
    _, data, parts = graded
    done = audit(Decisions(data, ["sex", "town"], decision="grade", **more))
    monkeypatch.setattr(Table, "BATCH", 70)
    again = audit(Decisions(parts, ["sex", "town"], decision="grade", **more))
    facts = json.loads(to_json(done.facts))
    assert json.loads(to_json(again.facts)) | {"data": 0, "config": 0} == facts | {"data": 0, "config": 0}
    Draft202012Validator(audit_schema()).validate(facts)
    names = [table["attribute"] for table in facts["labels"]]
    assert [table["attribute"] for table in facts["selection"]] == [name for name in names for _ in range(4)]
    assert facts["config"]["positive"] is None
    lines = done.tables()
    assert set(lines.query("table == 'selection'")["label"]) == {"1", "2", "3", "4"}
    assert set(lines.query("table == 'error' or table.str.contains('threshold')")["label"].dropna()) == set()


def test_two_labels_have_no_column_of_labels(graded):
    done = audit(Decisions(graded[1], "town", decision="grade", positive="4"))
    assert "label" not in done.tables()
    assert done.facts["labels"] == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"decision": "score"},
            "Column 'score' must hold two values, such as yes and no, or up to 20 labels; it holds",
        ),
        ({"decision": "grade", "target": "town"}, "must hold the same two labels, or up to 20, of which both columns"),
        ({"decision": "grade", "positive": "A"}, "positive='A' is not a label: there are"),
        ({"score": "score", "target": "true"}, "Column 'true' must hold two values, such as yes and no; it holds"),
    ],
)
def test_what_is_refused(graded, columns, message):
    with pytest.raises(InputError, match=message):
        audit(Decisions(graded[1], "sex", **columns))


def test_local_law_144_takes_two_labels(graded):
    law = LocalLaw144(sex="sex", race="town")
    with pytest.raises(InputError, match=r"must hold two values, such as yes and no; it holds .*: say with pos"):
        ll144(Decisions(graded[1], decision="grade"), law)
    assert ll144(Decisions(graded[1], decision="grade", positive="4"), law)
