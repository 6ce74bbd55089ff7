"""The command frontier, and other points of its run through predict."""

import json

import numpy as np
import pandas as pd
import pytest

import fairalm
from fairalm import FrontierClassifier
from fairalm.cli.frontier import SHOWN

ARGS = ("--target", "hired", "--protected", "sex")
pytestmark = pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")


@pytest.fixture
def done(run, table):
    """The run of the command in the folder r, and what it printed."""
    code, out, err = run("frontier", table, *ARGS, "--tol", "0.02", "-o", "r")
    assert code == 0, err
    return out


def test_what_is_printed_and_written(done, tmp_path):
    pytest.importorskip("vl_convert")
    out = done
    assert max(map(len, out.splitlines()[:-3])) <= 80
    assert "2 points <- chosen" in out
    assert "plain model" in out
    assert "hired = yes for" in out
    assert "The gap between" in out
    assert "Asked for: at most 2 points." in " ".join(out.split())
    assert "no classifier within the limits" in " ".join(out.split())
    names = {path.name for path in (tmp_path / "r").iterdir()}
    files = {"model.skops", "config.json", "frontier.csv", "metrics.json", "manifest.json"}
    assert names == files | {"frontier.png", "report.html"}
    assert (tmp_path / "r" / "frontier.png").read_bytes()[1:4] == b"PNG"
    curve = pd.read_csv(tmp_path / "r" / "frontier.csv")
    assert len(curve) == 20
    row = curve[curve["tol"] == 0.05].iloc[0]
    ends = f"[{100 * row['error_low']:.1f}, {100 * row['error_high']:.1f}]"
    if row["error"] != curve["error"].iloc[-1]:  # a point that is the plain model is not printed twice
        assert f"{100 * row['error']:.1f} % {ends}" in out
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["config"]["method"] == "frontier"
    assert metrics["training"]["dual_signal"] == "crossfit"
    assert metrics["training"]["certificate"] < 0.05
    kept = metrics["frontier"]
    assert [point["tol"] for point in kept["points"]] == curve["tol"].tolist()
    assert kept["chosen"]["gap"] == metrics["training"]["gap"]
    assert [row["model"] for row in kept["baselines"]] == ["plain", "everyone", "nobody"]
    assert not any(name.startswith(("tpr_", "weight_")) for name in kept["points"][0])  # no group's own figures


def test_the_saved_model_makes_the_predictions_that_were_measured(done, tmp_path, people):
    model = fairalm.load(tmp_path / "r" / "model.skops")
    assert isinstance(model, FrontierClassifier)
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    cells = [counts for split in metrics["splits"].values() for counts in split["groups"].values()]
    selected = sum(counts["tp"] + counts["fp"] for counts in cells)
    assert int((model.predict(people[["skill", "town"]]) == "yes").sum()) == selected


def test_predict_at_another_point(done, run, table, tmp_path, people):
    model, X = fairalm.load(tmp_path / "r" / "model.skops"), people[["skill", "town"]]
    for number, (options, point) in enumerate(
        [
            ((), {"tol": 0.02}),
            (("--tol", "0.2"), {"tol": 0.2}),
            (("--acceptance", "0.3"), {"tol": 0.02, "acceptance": 0.3}),
            (("--tol", "0.1", "--cost-fn", "3"), {"tol": 0.1, "cost_fn": 3}),
            (("--floor", "plain", "--cost-fp", "2"), {"tol": 0.02, "floor": "plain", "cost_fp": 2}),
            (("--floor", "0.9"), {"tol": 0.02, "floor": 0.9}),
        ]
    ):
        code, _, err = run("predict", "r", table, *options, "-o", f"{number}.csv")
        assert code == 0, err
        predicted = pd.read_csv(tmp_path / f"{number}.csv")["prediction"]
        np.testing.assert_array_equal(predicted, model.at(**point).predict(X))
    share = (pd.read_csv(tmp_path / "2.csv")["prediction"] == "yes").mean()
    assert share == pytest.approx(0.3, abs=0.05)


def test_predict_keeps_what_the_run_was_asked_for(run, table, tmp_path):
    assert run("frontier", table, *ARGS, "--acceptance", "0.3", "-o", "r")[0] == 0
    for options in ((), ("--tol", "0.1")):
        code, out, err = run("predict", "r", table, *options, "-o", "p.csv", "--overwrite", "--json")
        assert code == 0, err
        assert json.loads(out)["share"] == pytest.approx(0.3, abs=0.05)
    curve = pd.read_csv(tmp_path / "r" / "frontier.csv")
    assert curve["selection"].tolist() == pytest.approx([0.3] * len(curve), abs=0.02)


def test_other_runs_have_one_point(run, table):
    assert run("train", table, *ARGS, "-o", "r")[0] == 0
    code, _, err = run("predict", "r", table, "--tol", "0.02", "-o", "p.csv")
    assert code == 2
    assert "--tol 0.02 is for runs of fairalm frontier; this one was trained by 'secant'" in err


def test_a_point_is_checked(done, run, table):
    for options, message in (
        (("--acceptance", "1.5"), "--acceptance must lie"),
        (("--floor", "low"), "--floor must be 'plain' or a rate; got 'low'"),
        (("--tol", "0.1", "--ratio", "0.8"), "Pass --tol or --ratio, not both"),
    ):
        code, _, err = run("predict", "r", table, *options, "-o", "p.csv")
        assert (code, message in err) == (2, True), err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--estimator", "linear-svm"),
            "not for --estimator linear-svm, which gives no probabilities: choose from log",
        ),
        (("--estimator", "mlp"), "not for --estimator mlp, which is a net: choose from logistic"),
        (("--estimator", "last-layer"), "which is a net"),
        (("--acceptance", "1.2"), "--acceptance must lie"),
        (("--cost-fp", "-1"), "--cost-fp must be positive; got -1.0"),
        (("--floor", "2"), "--floor must lie in [0, 1]; got 2.0"),
        (("--floor", "high"), "--floor must be 'plain' or a rate; got 'high'"),
        (("--constraint", "error-parity", "--floor", "plain"), "has no rate that --floor could hold up"),
        (("--constraint", "error-parity", "--ratio", "0.8"), "it has no ratio"),
        (("--constraint", "predictive-parity"), "it has no frontier"),
        (("--ratio", "1.5"), "must lie in (0, 1]"),
        (("--reference", "N"), "There is no group 'N'; there are: F, M."),
    ],
)
def test_errors_come_before_any_work(run, table, tmp_path, monkeypatch, options, message):
    monkeypatch.setattr(FrontierClassifier, "fit", None)  # calling it would be another error
    code, _, err = run("frontier", table, *ARGS, *options, "-o", "r")
    assert code == 2
    assert message in err
    assert not (tmp_path / "r").exists()


def test_limits_that_cannot_be_met_together(run, table):
    code, _, err = run("frontier", table, *ARGS, "--acceptance", "0.05", "--floor", "0.9", "-o", "r")
    assert code == 2
    assert "Pass --acceptance 0." in err


def test_a_ratio_with_a_reference_group(run, table, tmp_path):
    options = ("--constraint", "demographic-parity", "--ratio", "0.8", "--reference", "M")
    code, out, err = run("frontier", table, *ARGS, *options, "-o", "r")
    assert code == 0, err
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    sentence = "The share predicted hired = yes of each group is at least 0.8 times that of M."
    assert metrics["measure"]["sentence"] == sentence
    assert sentence[0].lower() + sentence[1:] in " ".join(out.split())
    assert "1 - selection ratio to M" in out
    rates = {name: group["rates"]["selection"]["value"] for name, group in metrics["splits"]["test"]["groups"].items()}
    assert metrics["constraint"]["tol"] == pytest.approx(0.2)
    gap = metrics["splits"]["test"]["ddp_shortfall"]["value"]
    assert gap == pytest.approx(max(0.0, 1 - rates["F"] / rates["M"]))
    assert list(pd.read_csv(tmp_path / "r" / "frontier.csv")["ratio"])[:2] == [1.0, 0.975]
    assert run("predict", "r", table, "--ratio", "0.99", "-o", "p.csv")[0] == 0
    assert run("predict", "r", table, "--tol", "0.02", "-o", "p2.csv")[0] == 0  # a tolerance replaces a ratio
    code, out, _ = run("card", "r")
    assert code == 0
    assert "ratio 0.8, reference M" in out
    assert "tol " not in out.split("## Fairness")[0]


def test_the_same_seed_gives_the_same_run(run, table, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run("frontier", table, *ARGS, "--seed", seed, "-o", name)[0] == 0
    a, b, c = (json.loads((tmp_path / name / "metrics.json").read_text()) for name in "abc")
    assert a["frontier"] == b["frontier"] != c["frontier"]
    assert a["splits"] == b["splits"] != c["splits"]


def test_train_takes_it_as_a_method(run, table, tmp_path):
    assert run("frontier", table, *ARGS, "--tol", "0.02", "-o", "a")[0] == 0
    code, out, err = run("train", table, *ARGS, "--tol", "0.02", "--method", "frontier", "-o", "b")
    assert code == 0, err
    assert "Written to b: model.skops, config.json, frontier.csv, metrics.json" in out
    a, b = (json.loads((tmp_path / name / "metrics.json").read_text()) for name in "ab")
    assert a["splits"] == b["splits"]
    assert a["frontier"] == b["frontier"]
    assert run("predict", "b", table, "--tol", "0.2", "-o", "p.csv")[0] == 0
    for option in (("--eta", "0.1"), ("--dual-signal", "train"), ("--max-iter", "3"), ("--predictor", "last")):
        code, _, err = run("train", table, *ARGS, "--method", "frontier", *option)
        assert (code, f"{option[0]} is not for --method frontier" in err) == (2, True), err
    code, _, err = run("train", table, *ARGS, "--method", "frontier", "--estimator", "mlp")
    assert (code, "which is a net" in err) == (2, True)


def test_compare_has_it_and_leaves_it_out_where_it_cannot_be(run, table):
    options = ("--seeds", 1, "--methods", "secant,frontier", "--json")
    code, out, _ = run("compare", table, *ARGS, *options)
    assert code == 0
    assert [row["method"] for row in json.loads(out)["methods"]][:3] == ["plain", "secant", "frontier"]
    for other in (("--estimator", "linear-svm"), ("--constraint", "predictive-parity")):
        code, out, err = run("compare", table, *ARGS, *options, *other, "--max-iter", 2)
        assert code == 0
        assert "Warning: left out: frontier (" in err
        assert "frontier" not in [row["method"] for row in json.loads(out)["methods"]]


def test_list_and_help_name_it(run):
    assert "frontier" in run("list")[1]
    assert "frontier" in run("--help")[1]
    out = run("frontier", "--help")[1]
    assert "fairalm predict run new_people.csv --tol 0.05" in out
    for option in ("--floor", "--acceptance", "--reference", "--folds", "--test-size"):
        assert option in out
    assert "linear-svm" not in out


def test_weights_separate_attributes_and_several_groups(run, people, tmp_path):
    people["w"] = np.arange(len(people)) % 3 + 1
    people.to_csv(tmp_path / "p.csv", index=False)
    columns = ("--target", "hired", "--protected", "sex", "--protected", "town")
    for number, options in enumerate(((), ("--attributes", "separate"), ("--weight", "w", "--estimator", "tree"))):
        code, out, err = run("frontier", "p.csv", *columns, *options, "--tol", "0.1", "-o", number)
        assert code == 0, err
        assert "10 points <- chosen" in out
    assert "No picture: it would show counts of fewer than ten people." in " ".join(out.split())  # rows with weights
    assert not (tmp_path / "2" / "frontier.png").exists()


@pytest.mark.parametrize("varied", list(SHOWN))
def test_the_printed_rows_are_on_the_curve(varied):
    from fairalm.frontier.trade_off import RATIOS, TOLERANCES

    assert {100 * value for value in SHOWN[varied]} <= set(TOLERANCES if varied == "tol" else RATIOS)
