"""``--weight``: rows that stand for several people each."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import fairalm
from fairalm.datasets import preprocess
from fairalm.measures import measure_all
from fairalm.report.facts import gather
from fairalm.runs import Source, compare
from fairalm.runs.choices import make_estimator

BASE = ("--target", "hired", "--protected", "sex")


@pytest.fixture
def weighted(people, tmp_path):
    people["w"] = np.random.default_rng(1).lognormal(0, 1, len(people)).round(4) * np.where(people["skill"] > 0, 2, 1)
    people.to_csv(tmp_path / "people.csv", index=False)
    people.iloc[:400].to_csv(tmp_path / "train.csv", index=False)
    people.iloc[400:].to_csv(tmp_path / "test.csv", index=False)
    return people


def read(path):
    return json.loads(path.read_text())


def measured(frame, predicted, **options):
    return measure_all(frame["hired"], predicted, sensitive_features=frame["sex"], target="yes", **options)


@pytest.mark.parametrize("estimator", ["logistic", "tree", "boosting", "naive-bayes", "linear-svm"])
def test_weights_count_in_fits_and_figures(run, weighted, tmp_path, estimator):
    options = ("--test", "test.csv", "--weight", "w", "--estimator", estimator, "--tol", "0.05")
    code, out, _ = run("train", "train.csv", *BASE, *options, "--dual-signal", "train", "-o", "r")
    assert code == 0
    assert "Each row counts by its weight, w" in out
    share = np.average(weighted["sex"] == "F", weights=weighted["w"])
    assert f"{100 * share:.1f} %" in next(line for line in out.splitlines() if line.startswith("  F "))
    metrics, (train, test) = read(tmp_path / "r" / "metrics.json"), (weighted[:400], weighted[400:])
    features = ["skill", "town"]
    assert list(metrics["config"]["features"]) == features  # the weight is none

    weight = train["w"] / train["w"].mean()
    model = make_pipeline(preprocess(train[features]), make_estimator(estimator, 0))
    model.fit(train[features], train["hired"], **{f"{model.steps[-1][0]}__sample_weight": weight})
    expected = measured(test, model.predict(test[features]), sample_weight=test["w"])
    assert metrics["plain"]["splits"]["test"]["deo"] == expected["deo"].to_dict()
    fair = fairalm.load(tmp_path / "r" / "model.skops")
    expected = measured(test, fair.predict(test[features]), sample_weight=test["w"])
    assert metrics["splits"]["test"]["deo"] == expected["deo"].to_dict()
    assert metrics["splits"]["test"]["error"]["n"] == 200
    inside = measured(train, fair.predict(train[features]), sample_weight=train["w"], train=True)
    assert metrics["training"]["error"] == pytest.approx(inside["error"].value)
    assert metrics["training"]["gap"] == pytest.approx(inside["deo"].value)
    for group, labels in metrics["data"]["weights"].items():
        rows = weighted[(weighted["sex"] == group) & (weighted["hired"] == "yes")]
        assert labels["yes"] == pytest.approx(rows["w"].sum())
        assert metrics["data"]["groups"][group]["yes"] == len(rows)


def test_the_unit_of_the_weights_does_not_change_the_run(run, weighted, tmp_path):
    weighted.assign(w=1000 * weighted["w"]).to_csv(tmp_path / "large.csv", index=False)
    for file in ("people", "large"):
        assert run("train", f"{file}.csv", *BASE, "--weight", "w", "-o", file)[0] == 0
    one, other = (read(tmp_path / file / "metrics.json")["splits"]["test"]["deo"] for file in ("people", "large"))
    assert one["value"] == pytest.approx(other["value"])
    assert one["high"] == pytest.approx(other["high"])


def test_rows_of_weight_zero_are_as_if_they_were_not_there(run, weighted, tmp_path):
    nobody = weighted.index % 3 == 0
    weighted.assign(w=weighted["w"].where(~nobody, 0)).to_csv(tmp_path / "zero.csv", index=False)
    weighted[~nobody].to_csv(tmp_path / "less.csv", index=False)
    for file in ("zero", "less"):
        assert run("train", f"{file}.csv", *BASE, "--weight", "w", "-o", file)[0] == 0
    one, other = (read(tmp_path / file / "metrics.json") for file in ("zero", "less"))
    assert one["splits"] == other["splits"]
    assert one["data"]["rows"] == 400


def test_audit(run, weighted, tmp_path):
    table = weighted.assign(said=np.where(weighted["skill"] > 0.1, "yes", "no"))
    table.to_csv(tmp_path / "said.csv", index=False)
    options = ("said.csv", *BASE, "--decision", "said", "--weight", "w", "--tol", "0.05")
    code, out, _ = run("audit", *options, "-o", "a")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "Each row counts by its weight, w" in out
    expected = measured(table, table["said"], sample_weight=table["w"])
    assert str(expected["deo"]) in out
    metrics = read(tmp_path / "a" / "audit.json")
    assert metrics["outcomes"][0]["deo"] == expected["deo"].to_dict()
    assert metrics["config"]["weight"] == "w"
    women = metrics["outcomes"][0]["groups"]["F"]["rates"]["selection"]
    line = next(line for line in out.split("rates, %")[-1].splitlines() if line.startswith("  F "))
    assert f"{100 * women['value']:.0f} [{100 * women['low']:.0f},{100 * women['high']:.0f}]" in line


def test_an_audit_leaves_rows_of_weight_zero_out(run, weighted, tmp_path):
    nobody = weighted.index % 3 == 0
    weighted.assign(w=weighted["w"].where(~nobody, 0)).to_csv(tmp_path / "zero.csv", index=False)
    weighted[~nobody].to_csv(tmp_path / "less.csv", index=False)
    options = (*BASE, "--decision", "hired", "--weight", "w", "--no-files")
    (_, one, _), (_, other, _) = (run("audit", f"{file}.csv", *options) for file in ("zero", "less"))
    assert one.replace("zero", "less") == other
    assert one.startswith("400 people in zero.csv.")


def test_the_page_shows_weighted_rates(run, weighted, tmp_path):
    assert run("train", "people.csv", *BASE, "--weight", "w", "-o", "r")[0] == 0
    metrics = read(tmp_path / "r" / "metrics.json")
    facts = gather([tmp_path / "r"], min_cell=1)
    model = facts["models"][facts["headline"]]
    for group in model["groups"]:
        own = metrics["splits"]["test"]["groups"][group["name"]]["rates"]["tpr"]
        assert group["rates"]["tpr"]["value"] == pytest.approx(own["value"], abs=1e-5)
        assert group["rates"]["tpr"]["low"] == pytest.approx(own["low"], abs=1e-5)
    assert model["scores"] is None  # the slider counts rows
    assert any("counts by its weight, w" in limit for limit in facts["limits"])
    women = facts["people"]["groups"][0]
    rows = weighted[weighted["sex"] == "F"]
    assert women["base_rate"] == pytest.approx(np.average(rows["hired"] == "yes", weights=rows["w"]))
    assert women["total"] == len(rows)
    coarse = gather([tmp_path / "r"], min_cell=12)
    assert "because rows have weights" in coarse["privacy"][-1]
    assert all(group["rates"]["tpr"] is None for group in coarse["models"][facts["headline"]]["groups"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--weight", "ww"), "There is no column 'ww', did you mean 'w'?"),
        (("--weight", "sex"), "Column 'sex' is named twice: --weight must be a column of its own."),
        (("--weight", "w", "--drop", "w"), "There is no column 'w'"),
        (("--weight", "town"), "Column 'town' must hold numbers"),
        (("--weight", "skill"), "negative values, the first is"),
        (("--weight", "hole"), "Column 'hole' has 1 missing or infinite value, the first is nan"),
        (("--weight", "zero"), "Column 'zero' is zero for every row"),
        (
            ("--weight", "w", "--estimator", "mlp"),
            "--weight is not for --estimator mlp, which is trained without weights",
        ),
    ],
)
def test_mistakes(run, weighted, tmp_path, options, message):
    weighted.assign(hole=weighted["w"].where(weighted.index > 0), zero=0).to_csv(tmp_path / "p.csv", index=False)
    code, out, err = run("train", "p.csv", *BASE, *options, "-o", "r")
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "r").exists()
    if options[-1] not in ("mlp", "sex", "w"):
        code, out, err = run("audit", "p.csv", *BASE, "--decision", "hired", *options)
        assert (code, out) == (2, "")
        assert message in err


def test_comparisons_take_neither_weights_nor_separate_attributes(weighted, tmp_path):
    data = str(tmp_path / "people.csv")
    with pytest.raises(fairalm.InputError, match="weight is not for comparing"):
        compare(Source(data, "hired", "sex", weight="w"), methods=["secant"], seeds=[0])
    with pytest.raises(fairalm.InputError, match="attributes is not for comparing"):
        compare(Source(data, "hired", ["sex", "town"], attributes="separate"), methods=["secant"], seeds=[0])
