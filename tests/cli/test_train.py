import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

import fairalm
from fairalm.measures import MEASURES
from fairalm.report.facts import gather


def test_a_run_on_a_shipped_data_set(run, tmp_path):
    pytest.importorskip("vl_convert")
    code, out, err = run("train", "german")
    assert code == 0
    assert "The model may use foreign_worker" in out
    assert "1,000 people, 70.0 % with credit = good" in out
    assert "tested on 300 others" in out
    assert "Written to runs/german-equal-opportunity-secant" in out
    assert max(map(len, out.splitlines()[:-2])) <= 80
    assert all(line.startswith("Warning: ") for line in err.splitlines())
    folder = tmp_path / "runs" / "german-equal-opportunity-secant"
    assert {p.name for p in folder.iterdir()} == {
        *("model.skops", "config.json", "history.csv", "metrics.json", "manifest.json", "report.html")
    }
    assert [p.name for p in folder.parent.iterdir()] == [folder.name]


def test_metrics_and_files_agree(run, table, tmp_path, people):
    args = ("train", table, "--target", "hired", "--protected", "sex", "--tol", "0.02", "-o", "r", "--json")
    code, out, _ = run(*args)
    assert code == 0
    printed = json.loads(out)
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert printed == {"run": "r", **metrics}
    assert metrics["schema"] == 2
    assert metrics["data"]["rows"] == 600
    counts = pd.crosstab(people["sex"], people["hired"])
    assert metrics["data"]["groups"] == {g: counts.loc[g].to_dict() for g in ("F", "M")}
    assert metrics["command"] == shlex.join(["fairalm", *map(str, args)])
    assert set(metrics["splits"]) == {"train", "test"}
    assert metrics["splits"]["train"]["deo"]["low"] is None
    assert metrics["splits"]["train"]["deo"]["split"] == "train"
    assert metrics["splits"]["test"]["deo"]["low"] <= metrics["splits"]["test"]["deo"]["high"]
    assert set(MEASURES) < set(metrics["splits"]["test"])
    assert set(metrics["plain"]["splits"]) == {"train", "test"}
    assert metrics["config"] == json.loads((tmp_path / "r" / "config.json").read_text())
    assert metrics["config"]["with_protected"] is False
    assert list(metrics["config"]["features"]) == ["skill", "town"]
    history = pd.read_csv(tmp_path / "r" / "history.csv")
    assert history["error"].tolist() == pytest.approx(metrics["history"]["error"])
    assert {"scikit-learn", "numpy", "fairalm"} < set(metrics["versions"])
    # the saved model makes the predictions that were measured
    model = fairalm.load(tmp_path / "r" / "model.skops")
    split = metrics["splits"]["train"]["groups"]
    n = sum(split[g][cell] for g in split for cell in ("tp", "fp", "tn", "fn"))
    selected = sum(split[g][cell] for g in split for cell in ("tp", "fp"))
    test = metrics["splits"]["test"]["groups"]
    selected += sum(test[g][cell] for g in test for cell in ("tp", "fp"))
    n += sum(test[g][cell] for g in test for cell in ("tp", "fp", "tn", "fn"))
    assert n == 600
    assert int((model.predict(people[["skill", "town"]]) == "yes").sum()) == selected


def test_the_gap_shrinks_in_training(run, table):
    _, out, _ = run("train", table, "--target", "hired", "--protected", "sex", "--json")
    metrics = json.loads(out)
    fair, plain = metrics["splits"]["train"], metrics["plain"]["splits"]["train"]
    assert plain["deo"]["value"] > 0.05
    assert fair["deo"]["value"] <= 0.01 + 1 / min(fair["groups"][g]["rates"]["tpr"]["n"] for g in ("F", "M"))
    assert metrics["constraint"]["verdict"] in ("met", "not met", "cannot tell")


@pytest.mark.parametrize(
    ("constraint", "rates"),
    [
        ("equal-opportunity", ("tpr", "selection")),
        ("equalized-odds", ("tpr", "fpr", "selection")),
        ("predictive-equality", ("tpr", "fpr", "selection")),
    ],
)
def test_each_group_from_the_plain_model_to_the_fair_one(run, table, tmp_path, constraint, rates):
    options = ("--target", "hired", "--protected", "sex", "--constraint", constraint, "-o", "r")
    code, out, _ = run("train", table, *options)
    assert code == 0
    shown = out.split("Each group on the test people")[1].split("The gap between")[0]
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    for name in "FM":
        lines = [line.split()[1:] for line in shown.splitlines() if line.split()[:1] == [name]]
        expected = []
        for rate in rates:
            before, after = (
                splits["test"]["groups"][name]["rates"][rate]
                for splits in (metrics["plain"]["splits"], metrics["splits"])
            )
            ends = f"[{100 * after['low']:.1f}, {100 * after['high']:.1f}]"
            expected.append(f"{100 * before['value']:.1f} -> {100 * after['value']:.1f} % {ends}")
        assert " ".join(word for line in lines for word in line) == " ".join(expected)
    assert ("FPR)" in shown) == ("fpr" in rates)
    assert "TPR)" in shown
    said, change = " ".join(out.split()), metrics["changes"][metrics["measure"]["key"]]
    verdict = gather([metrics], min_cell=1)["verdict"]
    assert verdict["text"] in said
    assert f"(change {100 * change['value']:+.1f} [" in verdict["lead"]
    assert "Asked for: at most 1 point." in said


def test_changes_of_many_groups_with_long_names_stay_in_their_lines(run, people, tmp_path):
    people = pd.concat([people] * 5)
    people["sex"] = [f"a rather long name of group {i % 10}" for i in range(len(people))]
    people.to_csv(tmp_path / "p.csv", index=False)
    options = ("--target", "hired", "--protected", "sex", "--constraint", "equalized-odds", "--tol", "0.2")
    code, out, _ = run("train", "p.csv", *options)
    assert code == 0
    assert max(map(len, out.splitlines()[:-2])) <= 80
    shown = out.split("Each group on the test people")[1].split("The worst gap between")[0]
    assert len(re.findall(r"[\d.]+ -> [\d.]+ % \[[\d.]+, [\d.]+\]", shown)) == 3 * 10


def test_the_same_seed_gives_the_same_run(run, table, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run("train", table, "--target", "hired", "--protected", "sex", "--seed", seed, "-o", name)[0] == 0
    a, b, c = (json.loads((tmp_path / name / "metrics.json").read_text())["splits"] for name in "abc")
    assert a == b != c


def test_a_test_file_is_used_as_it_is(run, people, tmp_path):
    pytest.importorskip("pyarrow")
    people[:400].to_csv(tmp_path / "one.csv", index=False)
    people[400:].to_parquet(tmp_path / "two.parquet")
    options = ("--target", "hired", "--protected", "sex", "--test", "two.parquet", "--json")
    code, out, _ = run("train", "one.csv", *options)
    assert code == 0
    counts = json.loads(out)["splits"]["test"]["groups"]
    women = people[400:].query("sex == 'F'")
    assert counts["F"]["tp"] + counts["F"]["fn"] == int((women["hired"] == "yes").sum())
    assert json.loads(out)["data"]["test"] == 200


@pytest.mark.parametrize("kind", ["boolean", "numbers", "text"])
def test_labels_and_groups_of_any_type(run, people, tmp_path, kind):
    yes = people["hired"] == "yes"
    people["hired"] = {"boolean": yes, "numbers": yes.astype(int), "text": people["hired"]}[kind]
    people["sex"] = (people["sex"] == "M").astype(int)
    people.to_csv(tmp_path / "p.csv", index=False)
    positive = {"boolean": "False", "numbers": "0", "text": "no"}[kind]
    options = ("--target", "hired", "--protected", "sex", "--positive", positive)
    code, out, _ = run("train", "p.csv", *options, "-o", "r", "--json")
    assert code == 0
    found = json.loads(out)
    assert set(found["splits"]["test"]["groups"]) == {"0", "1"}
    assert str(found["config"]["positive"]) == positive
    women = found["splits"]["train"]["groups"]["0"]["rates"]["base_rate"]["value"]
    assert women == pytest.approx(float((~yes)[people["sex"] == 0].mean()), abs=0.01)
    assert run("predict", "r", "p.csv", "-o", "out.csv")[0] == 0
    predicted = pd.read_csv(tmp_path / "out.csv")
    assert set(predicted["prediction"]) == set(people["hired"])
    low = predicted.loc[predicted["score"] < 0.5, "prediction"]
    assert positive not in set(low.astype(str))


def test_hostile_names(run, people, tmp_path):
    people.columns = ["[red]x[/red]", 'it\'s "quoted" 🎉', "sex [bold]", "hired, or\nnot"]
    people.iloc[:, 2] = people.iloc[:, 2].map({"F": "[/red]", "M": ":smile: \x1b[31m"})
    people.to_csv(tmp_path / "p.csv", index=False)
    code, out, _ = run("train", "p.csv", "--target", "hired, or\nnot", "--protected", "sex [bold]", "-o", "r")
    assert code == 0
    assert "[/red]" in out
    assert ":smile:" in out
    assert "\x1b" not in out
    code, _, err = run("train", "p.csv", "--target", "[red]y[/red]", "--protected", "sex [bold]")
    assert code == 2
    assert "did you mean '[red]x[/red]'" in err
    assert run("predict", "r", "p.csv", "-o", "o.csv")[0] == 0


def test_several_protected_columns_are_crossed_and_small_groups_merged(run, people, tmp_path):
    people.loc[:3, "town"] = "z"
    people.to_csv(tmp_path / "p.csv", index=False)
    options = ("--target", "hired", "--protected", "sex", "--protected", "town", "--merge-below", "20")
    code, out, _ = run("train", "p.csv", *options, "--tol", "0.2")
    assert code == 0
    assert "F × a" in out
    assert "other" in out
    assert "z" not in out.split("Trained on")[0].replace("people", "").split("group")[1]
    assert "may differ between groups by at most 20 points." in " ".join(out.split())


def test_each_protected_column_on_its_own(run, people, tmp_path):
    people.to_csv(tmp_path / "p.csv", index=False)
    options = ("--target", "hired", "--protected", "sex", "--protected", "town", "--attributes", "separate")
    code, out, _ = run("train", "p.csv", *options, "--tol", "0.2", "-o", "r")
    assert code == 0
    names = ["sex = F", "sex = M", "town = a", "town = b", "town = c"]
    for name in names:
        assert f"  {name} " in out
    assert "×" not in out
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert list(metrics["splits"]["test"]["groups"]) == list(metrics["data"]["groups"]) == names
    assert metrics["splits"]["test"]["error"]["n"] == metrics["data"]["test"] == 180
    run("predict", "r", "p.csv", "-o", "q.csv")
    code, out, _ = run("audit", "q.csv", *options, "--decision", "prediction")
    assert code == 0
    for name in names:
        assert f"  {name.split(' = ')[-1]} " in out
    rates = pd.read_csv(tmp_path / "q.csv").query("hired == 'yes'").eval("found = prediction == 'yes'")
    gaps = [np.ptp(rates.groupby(column)["found"].mean()) for column in ("sex", "town")]
    lines = [line for line in out.splitlines() if "DEO (TPR gap)" in line]
    assert all(f"{100 * gap:.1f} % [" in line for gap, line in zip(gaps, lines, strict=True))


@pytest.mark.parametrize(
    ("missing", "rows", "groups"), [("drop", 590, {"F", "M"}), ("group", 600, {"F", "M", "missing"})]
)
def test_missing_protected_values(run, people, tmp_path, missing, rows, groups):
    people.loc[:9, "sex"] = np.nan
    people.loc[:9, "hired"] = ["yes", "no"] * 5
    people.to_csv(tmp_path / "p.csv", index=False)
    options = ("--target", "hired", "--protected", "sex", "--missing", missing, "--json", "--tol", "0.2")
    code, out, _ = run("train", "p.csv", *options)
    assert code == 0
    data = json.loads(out)["data"]
    assert data["train"] + data["test"] == rows
    assert data["dropped"] == 600 - rows
    assert set(data["groups"]) == groups


def test_every_estimator_and_signal(run, table):
    for number, (estimator, signal) in enumerate(
        [
            ("linear-svm", "train"),
            ("tree", "heldout"),
            ("forest", "train"),
            ("boosting", "train"),
            ("naive-bayes", "train"),
        ]
    ):
        options = ("--estimator", estimator, "--dual-signal", signal, "--max-iter", "1", "-o", number)
        code, out, _ = run("train", table, "--target", "hired", "--protected", "sex", *options, "--json")
        assert code == 0, estimator
        assert 0.1 < json.loads(out)["splits"]["test"]["error"]["value"] < 0.5
        assert "scores" in json.loads(out)["splits"]["test"]


def test_overwrite_replaces_a_run_and_keeps_it_on_failure(run, table, tmp_path):
    options = ("--target", "hired", "--protected", "sex", "-o", "r")
    assert run("train", table, *options)[0] == 0
    before = (tmp_path / "r" / "metrics.json").read_bytes()
    assert run("train", table, *options, "--overwrite", "--positive", "maybe")[0] == 2
    assert (tmp_path / "r" / "metrics.json").read_bytes() == before
    assert run("train", table, *options, "--overwrite", "--constraint", "error-parity")[0] == 0
    assert (tmp_path / "r" / "metrics.json").read_bytes() != before
    assert {p.name for p in tmp_path.iterdir()} == {"people.csv", "r"}
