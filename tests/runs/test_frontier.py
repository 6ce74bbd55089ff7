"""The frontier as a run, called from Python."""

import json

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import fairalm
from fairalm import InputError
from fairalm.report.facts import gather
from fairalm.runs import Choice, FrontierSettings, Settings, Source, predict, run

pytestmark = pytest.mark.filterwarnings("ignore::fairalm.exceptions.FairALMWarning")


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 1500)
    skill = rng.normal(size=1500) + 0.8 * (sex == "M")
    hired = np.where(skill + 0.7 * rng.normal(size=1500) > 0, "yes", "no")
    path = tmp_path_factory.mktemp("data") / "people.csv"
    pd.DataFrame({"skill": skill.round(3), "sex": sex, "hired": hired}).to_csv(path, index=False)
    return str(path)


def test_saved_loaded_and_predicted_at_another_tolerance(table, tmp_path):
    done = run(Source(table, "hired", "sex"), FrontierSettings(tol=0.02))
    done.save(tmp_path / "run")
    model = fairalm.load(tmp_path / "run" / "model.skops")
    X = pd.read_csv(table)[["skill"]]
    np.testing.assert_array_equal(predict(tmp_path / "run", table)["prediction"], done.fair.model.predict(X))
    other = predict(tmp_path / "run", table, Choice(tol=0.15))
    np.testing.assert_array_equal(other["prediction"], model.at(tol=0.15).predict(X))
    assert list(other.columns) == ["skill", "sex", "hired", "prediction", "score"]
    is_same = other["prediction"] == predict(tmp_path / "run", table)["prediction"]
    assert not is_same.all()
    kept = json.loads((tmp_path / "run" / "metrics.json").read_text())["frontier"]
    assert kept["chosen"]["error"] == done.fair.model.error_


def test_the_plain_model_is_that_of_the_frontier(table):
    done = run(Source(table, "hired", "sex"), FrontierSettings(estimator="boosting", folds=2))
    X = pd.read_csv(table)[["skill"]]
    np.testing.assert_array_equal(done.plain.model.predict(X), done.fair.model.estimator_.predict(X))
    assert done.fair.model.n_folds == 2


def test_settings_by_name_have_the_defaults_of_the_frontier(table):
    settings = Settings(method="frontier")
    assert settings.dual_signal == "crossfit"
    assert FrontierSettings.of(settings) == FrontierSettings()
    done = run(Source(table, "hired", "sex"), settings)
    assert done.config["folds"] == 5
    assert done.config["floor"] is None


def test_the_curve_is_under_what_is_asked(table):
    source = Source(table, "hired", "sex")
    free = run(source, FrontierSettings(constraint="demographic-parity")).curve
    fixed = run(source, FrontierSettings(constraint="demographic-parity", acceptance=0.3)).curve
    floored = run(source, FrontierSettings(constraint="demographic-parity", floor="plain")).curve
    assert np.ptp(free.table["selection"]) > np.ptp(fixed.table["selection"])
    assert fixed.chosen["selection"] == pytest.approx(0.3, abs=0.01)
    plain = free.baselines.set_index("model").loc["plain"]
    for group in "FM":
        assert (floored.table[f"selection_{group}"] > plain[f"selection_{group}"] - 0.03).all()


def test_python_spells_its_parameters():
    for call, message in (
        (lambda: FrontierSettings(acceptance=2), "acceptance must lie"),
        (lambda: FrontierSettings(folds=1), "folds must be 2 or more; got 1"),
        (lambda: FrontierSettings(estimator="resnet18"), "not for estimator='resnet18', which is a net"),
        (lambda: Settings(method="frontier", eta=1.0), "eta is not for method='frontier'"),
        (lambda: Choice(floor="x"), "floor must be 'plain' or a rate"),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert message in str(error.value)


def test_the_curve_of_small_cells_is_of_rounded_counts(table, tmp_path):
    people = pd.read_csv(table)
    few = people[(people["sex"] == "F") & (people["hired"] == "yes")].index[12:]  # under ten to train on
    people.drop(few).to_csv(tmp_path / "few.csv", index=False)
    run(Source(str(tmp_path / "few.csv"), "hired", "sex"), FrontierSettings(tol=0.3, folds=2)).save(tmp_path / "few")
    facts = gather([tmp_path / "few"], min_cell=10)["frontier"]
    exact = gather([tmp_path / "few"], min_cell=1)["frontier"]
    shown, true = ([row["gap"]["value"] for row in own["rows"]] for own in (facts, exact))
    assert shown != true
