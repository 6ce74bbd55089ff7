"""What the commands do, called from Python."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import fairalm
from fairalm import InputError, L2Penalty
from fairalm.runs import Settings, Source, compare, predict, run
from fairalm.tree_checks import parts_of

pytestmark = pytest.mark.filterwarnings("ignore::fairalm.exceptions.FairALMWarning")


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 600)
    skill = rng.normal(size=600) + 0.5 * (sex == "M")
    hired = np.where(skill + 0.7 * rng.normal(size=600) > 0, "yes", "no")
    frame = pd.DataFrame({"skill": skill.round(3), "sex": sex, "hired": hired})
    frame.assign(said=np.where(skill > 0.2, "yes", "no")).to_csv(tmp_path / "people.csv", index=False)
    return str(tmp_path / "people.csv")


def test_run_save_and_predict(table, tmp_path):
    done = run(Source(table, "hired", "sex", drop="said"), Settings(tol=0.02))
    assert done.fair.measures["deo"].value < done.plain.measures["deo"].value
    done.save(tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert kept["splits"] == done.metrics()["splits"]
    assert kept["command"] == ""
    assert isinstance(fairalm.load(tmp_path / "run" / "model.skops"), fairalm.FairALMClassifier)
    predicted = predict(tmp_path / "run", table)
    assert list(predicted.columns) == ["skill", "sex", "hired", "said", "prediction", "score"]
    with pytest.raises(InputError, match="exists: choose another folder, or pass overwrite=True"):
        done.save(tmp_path / "run")
    done.save(tmp_path / "run", overwrite=True)


def test_predict_refuses_a_model_of_an_unknown_scikit_learn(table, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.__version__", "1.11.0")
        run(Source(table, "hired", "sex"), Settings(max_iter=1), command="fairalm train x.csv").save(tmp_path / "run")
    with pytest.raises(InputError, match=r"scikit-learn 1\.11\.0 .*The run was made by: fairalm train x\.csv"):
        predict(tmp_path / "run", "there-is-no-such-table.csv")  # before the table is looked at


def test_a_model_that_cannot_predict_is_an_error_of_one_sentence(table, tmp_path):
    done = run(Source(table, "hired", "sex"), Settings(max_iter=1))
    for estimator in parts_of(done.fair.model):
        if isinstance(estimator, LogisticRegression) and hasattr(estimator, "coef_"):
            estimator.coef_ = estimator.coef_[:, :1]
    done.save(tmp_path / "run")
    with pytest.raises(InputError, match=r"model\.skops cannot predict these rows \(.*\): train again"):
        predict(tmp_path / "run", table)


def test_a_method_of_your_own_is_a_class(table):
    @dataclass(frozen=True)
    class Gentle(L2Penalty):
        """A small penalty."""

        eta: float = 0.1

    done = compare(Source(table, "hired", "sex"), Settings(tol=0.05), [Gentle, "secant"], seeds=[3])
    assert [row["method"] for row in done.summary()][:3] == ["plain", "gentle", "secant"]
    assert {result.seed for result in done.results} == {3}
    assert Settings(method=Gentle, eta=0.2).to_dict()["method"] == "gentle"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dual_signal": "crossfit", "estimator": "mlp"}, "dual_signal='crossfit' is not for nets"),
        (
            {"method": "secant", "estimator": "mlp"},
            "method='secant' is not for estimator='mlp', which is trained",
        ),
        ({"max_iter": 3, "estimator": "mlp"}, "max_iter is not for estimator='mlp'"),
        ({"method": "l2", "eta": np.inf}, "eta must be a positive number"),
        ({"constraint": dict}, "is no constraint: it must be a subclass of fairalm.Constraint"),
        (
            {"weights": "no.pth", "estimator": "resnet18"},
            "There is no file no.pth: check it, or pass weights='",
        ),
    ],
)
def test_python_spells_its_parameters(settings, message):
    with pytest.raises(InputError) as error:
        Settings(**settings)
    assert message in str(error.value)


def test_what_does_not_go_together(table, tmp_path):
    source = Source(table, "hired", "sex")
    for call, message in (
        (lambda: Source(table, missing="ignore"), "missing must be one of error, drop, group; got 'ignore'"),
        (lambda: run(source, resume=True), "resume=True is not for estimator='logistic'"),
        (lambda: run(source, Settings(estimator="relu3")), "estimator='relu3' is for images"),
        (lambda: run(source, Settings(weights="x")), "weights is not for estimator='logistic', which reads tables"),
        (lambda: run(source, Settings(), checkpoint=tmp_path), "is left from a run that did not end: pass resume=True"),
        (lambda: compare(source, methods=["secant", "secant"]), "methods names a method twice"),
        (lambda: compare(source, methods=["pi-control"]), "method='pi-control' is not for estimator='logistic'"),
        (lambda: compare(source, Settings(estimator="mlp")), "only fairalm train can train"),
        (lambda: Source(table).read(), "name its label with target and its protected column with protected"),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert message in str(error.value)


def test_changes_are_those_from_the_plain_to_the_fair_model(table):
    done = run(Source(table, "hired", "sex", drop="said"), Settings(tol=0.02))
    changes = done.metrics()["changes"]
    assert set(changes) == {"error", "deo", "dp_ratio", "groups"}
    for name in ("error", "deo", "dp_ratio"):
        value = done.fair.measures[name].value - done.plain.measures[name].value
        assert changes[name]["value"] == pytest.approx(value)
    plain, fair = (fit.splits["test"]["groups"]["F"]["rates"]["tpr"] for fit in (done.plain, done.fair))
    assert changes["groups"]["F"]["tpr"]["value"] == pytest.approx(fair["value"] - plain["value"])


def test_compared_models_have_their_changes_and_the_interval_of_a_choice(table):
    done = compare(Source(table, "hired", "sex", drop="said"), methods=["reweight"], seeds=range(2))
    runs = done.metrics(done.summary(), {})["runs"]
    plain = {entry["seed"]: entry for entry in runs if entry["method"] == "plain"}
    for entry in runs:
        assert ("changes" in entry) == (entry["method"] != "plain")
        assert entry["if_chosen"]["high"] > entry["deo"]["high"]
        assert entry["if_chosen"]["low"] == entry["deo"]["low"]
        if "changes" in entry:
            value = entry["deo"]["value"] - plain[entry["seed"]]["deo"]["value"]
            assert entry["changes"]["deo"]["value"] == pytest.approx(value)
