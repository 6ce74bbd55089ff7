"""The command lda."""

import json

import numpy as np
import pandas as pd
import pytest

ARGS = ("--target", "hired", "--protected", "sex", "--reference", "M", "--estimator", "logistic")
FOUND = (*ARGS, "--acceptance", "0.5", "--margin", "0.15", "--ratio", "0.7")
pytestmark = pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")


@pytest.fixture
def applicants(tmp_path):
    """People of whom one group lives in other towns, and seldom has the same skill."""
    rng = np.random.default_rng(0)
    n = 3000
    sex = rng.choice(["F", "M"], n, p=[0.4, 0.6])
    skill, town = rng.normal(size=n), np.where(sex == "M", 1.0, -1.0) + 0.6 * rng.normal(size=n)
    hired = np.where(skill + 0.4 * town + 0.7 * rng.normal(size=n) > 0, "yes", "no")
    columns = {"skill": skill.round(3), "town": town.round(3), "sex": sex, "hired": hired}
    pd.DataFrame(columns).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_found(run, applicants, tmp_path):
    pytest.importorskip("vl_convert")
    code, out, err = run("lda", applicants, *FOUND, "-o", "r")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert "A less discriminatory alternative was found." in text
    assert "750 rows that the search had not seen" in text
    assert "within the margin of 15 points stated in advance" in text
    assert "no rule on these features" in text
    assert max(map(len, out.splitlines()[:-2])) <= 80
    names = {path.name for path in (tmp_path / "r").iterdir()}
    assert names == {"model.skops", "config.json", "lda.json", "log.csv", "manifest.json", "table.csv", "lda.html"}
    content = json.loads((tmp_path / "r" / "lda.json").read_text())
    chosen, change = content["splits"]["judge"]["chosen"]["bad_rate"], content["changes"]["bad_rate"]
    assert f"{100 * chosen['value']:.1f} % [{100 * chosen['low']:.1f}, {100 * chosen['high']:.1f}]" in text
    assert f"{100 * change['value']:+.2f} [{100 * change['low']:+.2f}, {100 * change['high']:+.2f}]" in text
    assert len(pd.read_csv(tmp_path / "r" / "log.csv")) == len(content["splits"]["choose"])
    table = pd.read_csv(tmp_path / "r" / "table.csv")
    assert {"auc", "ks", "bad_rate", "acceptance", "ratio of F"} <= set(table["measure"])
    assert table["low"].notna().all()

    code, out, err = run("predict", "r", applicants, "-o", "p.csv")
    assert (code, err) == (0, "")
    assert (pd.read_csv(tmp_path / "p.csv")["prediction"] == "yes").mean() == pytest.approx(0.5, abs=0.03)


def test_none_found(run, applicants, tmp_path):
    code, out, _ = run("lda", applicants, *ARGS, "--acceptance", "0.5", "--margin", "0", "-o", "r")
    text = " ".join(out.split())
    assert code == 0
    assert "No less discriminatory alternative was found." in text
    assert "because of a bad rate not surely within the margin" in text
    assert "alone exceeds the margin, so no rule reaches that ratio within it" in text
    assert "It says nothing about other features" in text
    assert not (tmp_path / "r" / "model.skops").exists()
    code, _, err = run("predict", "r", applicants, "-o", "p.csv")
    assert code == 2
    assert "no model" in err


def test_json_and_overwrite(run, applicants, tmp_path):
    pytest.importorskip("vl_convert")
    code, out, _ = run("lda", applicants, *FOUND, "--json")
    assert code == 0
    content = json.loads(out)
    assert content["run"] == "runs/people-lda"
    assert content["config"]["margin"] == 0.15
    assert content["command"].startswith("fairalm lda")
    code, _, err = run("lda", applicants, *FOUND)
    assert (code, "--overwrite" in err) == (2, True)
    code, _, err = run("report", "runs/people-lda", "-o", "page.html")
    assert code == 2
    assert "lda.html" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*ARGS, "--acceptance", "1.5"), "--acceptance must lie between 0 and 1; got 1.5."),
        (ARGS, "with --acceptance, or name a column of present decisions, with --incumbent"),
        ((*ARGS[:4], "--acceptance", "0.5"), "Name the group that the others are compared with, --reference: F, M."),
        ((*ARGS[:4], "--acceptance", "0.5", "--reference", "N"), "There is no group 'N'"),
        ((*ARGS, "--acceptance", "0.5", "--estimator", "mlp"), "There is no estimator with probabilities 'mlp'"),
        ((*ARGS, "--acceptance", "0.5", "--choose-size", "0.8"), "--choose-size 0.8 and --test-size 0.25 leave no row"),
        ((*ARGS, "--incumbent", "approved"), "There is no column 'approved'"),
        ((*ARGS, "--acceptance", "0.5", "--missing", "guess"), "--missing must be one of error, drop, group, unknown"),
        ((*ARGS, "--acceptance", "0.5", "--positive", "maybe"), "--positive maybe is not a label of 'hired'"),
    ],
)
def test_errors_name_the_option(run, applicants, tmp_path, options, message):
    code, out, err = run("lda", applicants, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "runs").exists()


def test_weights_are_no_option(run, applicants):
    code, _, err = run("lda", applicants, *FOUND, "--weight", "skill")
    assert code == 2
    assert "No such option: --weight" in err
