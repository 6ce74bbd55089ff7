import json
import re

import numpy as np
import pandas as pd
import pytest

import fairalm
from fairalm.constraints import CONSTRAINTS
from fairalm.datasets import names
from fairalm.manifest import write_manifest
from fairalm.methods import METHODS
from fairalm.models_io import load, save
from fairalm.runs.choices import ESTIMATORS
from fairalm.runs.comparison import COMPARED, fairlearn_methods


def test_version_and_help_through_the_console(console):
    assert console("--version") == (0, f"fairalm {fairalm.__version__}\n", "")
    code, out, _ = console("--help")
    assert code == 0
    assert "Exit codes: 0" in out
    assert "Aborted" not in out


@pytest.mark.parametrize("command", ["demo", "train", "frontier", "predict", "audit", "compare", "list"])
def test_help_teaches(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"  For example:\n    fairalm {command}" in out
    assert "What you get" in out
    assert "--json" in out
    assert max(map(len, out.splitlines())) <= 80


def test_list_names_everything(run):
    code, out, _ = run("list")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for name in (*names(), *CONSTRAINTS, *METHODS, *ESTIMATORS):
        assert f"  {name} " in out
    listed = json.loads(run("list", "--json")[1])
    assert list(listed) == ["data sets", "constraints", "methods", "estimators"]
    assert set(listed["methods"]) == {*METHODS, "frontier"}


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predict_needs_no_protected_column(run, people, tmp_path, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    new = people.drop(columns=["sex", "hired"]).assign(extra=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("predict", "r", "new.csv", "-o", f"out.{suffix}")
    assert (code, err) == (0, "")
    written = pd.read_csv(tmp_path / "out.csv") if suffix == "csv" else pd.read_parquet(tmp_path / "out.parquet")
    assert list(written.columns) == ["skill", "town", "extra", "prediction", "score"]
    model = fairalm.load(tmp_path / "r" / "model.skops")
    assert written["prediction"].tolist() == model.predict(new[["skill", "town"]]).tolist()
    assert np.allclose(written["score"], model.predict_proba(new[["skill", "town"]])[:, 1])
    assert run("predict", "r", "new.csv", "-o", f"out.{suffix}")[0] == 2
    assert run("predict", "r", "new.csv", "-o", f"out.{suffix}", "--overwrite")[0] == 0


@pytest.mark.usefixtures("trained")
def test_predict_says_what_does_not_fit(run, people, tmp_path):
    people.drop(columns="skill").to_csv(tmp_path / "less.csv", index=False)
    people.assign(skill="high").to_csv(tmp_path / "text.csv", index=False)
    people.assign(town=1).to_csv(tmp_path / "numbers.csv", index=False)
    people.assign(score=1).to_csv(tmp_path / "score.csv", index=False)
    for name, message in {
        "less": "lacks the column 'skill'",
        "text": "Column 'skill' of text.csv holds text; in the training table it holds numbers",
        "numbers": "Column 'town' of numbers.csv holds numbers; in the training table it holds text",
        "score": "has a column 'score' already",
    }.items():
        code, _, err = run("predict", "r", f"{name}.csv", "-o", "out.csv")
        assert code == 2
        assert message in err
    assert "is not a run" in run("predict", tmp_path, "less.csv", "-o", "out.csv")[2]
    assert "must end in .csv or .parquet" in run("predict", "r", "people.csv", "-o", "out.xlsx")[2]
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.usefixtures("trained")
def test_predict_refuses_an_unknown_scikit_learn(run, tmp_path, monkeypatch):
    model = load(tmp_path / "r" / "model.skops")
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.__version__", "1.0")
        save(model, tmp_path / "r" / "model.skops")
    write_manifest(tmp_path / "r", data="", settings={})
    code, _, err = run("predict", "r", "people.csv", "-o", "out.csv")
    assert code == 2
    assert "saved with scikit-learn 1.0" in err
    assert "The run was made by: fairalm train" in err
    assert not (tmp_path / "out.csv").exists()


def test_compare_on_seeds(run, table, tmp_path):
    pytest.importorskip("fairlearn")
    options = (
        "--target",
        "hired",
        "--protected",
        "sex",
        "--methods",
        "secant,reweight",
        "--seeds",
        "2",
        "--max-iter",
        "5",
    )
    assert "must end in .csv or .json" in run("compare", table, *options, "-o", ".")[2]
    code, out, err = run("compare", table, *options, "-o", "c.csv")
    assert re.search(r"smallest gap: \S+\. .* allows for the choice among \d methods\.", " ".join(out.split()))
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "needs the protected attribute to predict; the others do not." in " ".join(out.split())
    written = pd.read_csv(tmp_path / "c.csv")
    assert written["method"].tolist() == ["plain", "secant", "reweight", "fairlearn-gradient", "fairlearn-threshold"]
    assert (written.loc[0, "fits_mean"], written.loc[0, "deo_sd"] > 0) == (1, True)
    code, out, _ = run("compare", table, *options, "-o", "d.json", "--json")
    result = json.loads(out)
    assert result == json.loads((tmp_path / "d.json").read_text())
    errors = [single["error"]["value"] for single in result["runs"] if single["method"] == "secant"]
    assert len(errors) == 2
    assert result["methods"][1]["error_mean"] == pytest.approx(np.mean(errors))
    assert result["methods"][1]["error_sd"] == pytest.approx(np.std(errors, ddof=1))
    assert written.loc[1, "error_mean"] == pytest.approx(np.mean(errors))


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_fairlearn_joins_where_it_has_the_constraint(run, table, constraint):
    pytest.importorskip("fairlearn")
    options = ("--target", "hired", "--protected", "sex", "--methods", "unconstrained", "--seeds", "1", "--json")
    code, out, _ = run("compare", table, *options, "--constraint", constraint)
    assert code == 0
    methods = [row["method"] for row in json.loads(out)["methods"][2:]]
    assert methods == fairlearn_methods(CONSTRAINTS[constraint]())
    assert len(methods) == {"predictive-parity": 0, "error-parity": 1}.get(constraint, 2)


def test_compare_leaves_out_what_fairlearn_refuses(run, people, tmp_path):
    pytest.importorskip("fairlearn")
    people.loc[people["sex"] == "F", "hired"] = "yes"  # no women to be wrong about
    people.to_csv(tmp_path / "p.csv", index=False)
    options = ("--target", "hired", "--protected", "sex", "--methods", "secant", "--seeds", "1")
    code, out, err = run("compare", "p.csv", *options)
    assert code == 0
    assert err.startswith("Warning: left out: fairlearn-threshold (Group 'F' has no rows with y=0")
    assert "fairlearn-threshold" not in out


def test_demo_twice(run, tmp_path):
    pytest.importorskip("fairlearn")
    pytest.importorskip("vl_convert")
    for _ in range(2):
        code, out, err = run("demo", "--rows", "1500")
        assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    for method in ("plain", *COMPARED, "fairlearn-gradient", "fairlearn-threshold*"):
        assert any(line.strip().startswith(f"{method} ") for line in lines), method
    assert (tmp_path / "fairalm-demo" / "tradeoff.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads((tmp_path / "fairalm-demo" / "demo.json").read_text())
    assert result["data"]["rows"] == 1500
    plain = result["methods"][0]
    assert f"{100 * plain['deo']['value']:.1f} [{100 * plain['deo']['low']:.1f}" in out


def test_demo_without_vega_and_fairlearn(console, tmp_path):
    for name in ("vl_convert", "fairlearn"):
        (tmp_path / "hidden" / name).mkdir(parents=True)
        (tmp_path / "hidden" / name / "__init__.py").write_text("raise ImportError('not here')")
    code, out, err = console("demo", "--rows", "800", PYTHONPATH=tmp_path / "hidden")
    assert (code, err) == (0, "")
    assert 'pip install "fairalm[report]"' in out
    assert 'pip install "fairalm[compare]"' in out
    assert not (tmp_path / "fairalm-demo" / "tradeoff.png").exists()
