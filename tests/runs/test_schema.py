"""metrics.json of every kind of run, against the schema in the package."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from fairalm.cli import app
from fairalm.constraints import EqualOpportunity
from fairalm.files import to_json
from fairalm.runs import FrontierSettings, Settings, Source, compare, metrics_schema, run

CHANGE = {"value": -0.02, "low": -0.05, "high": 0.01, "n": 180}


@pytest.fixture(scope="module")
def validator():
    Draft202012Validator.check_schema(metrics_schema())
    return Draft202012Validator(metrics_schema())


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    sex, race = rng.choice(["F", "M"], 600), rng.choice(["x", "y"], 600)
    skill = rng.normal(size=600) + 0.5 * (sex == "M")
    hired = (skill + 0.7 * rng.normal(size=600) > 0).astype(int)
    frame = pd.DataFrame({"skill": skill, "sex": sex, "race": race, "weight": rng.integers(1, 4, 600), "hired": hired})
    path = tmp_path_factory.mktemp("data") / "people.csv"
    frame.to_csv(path, index=False)
    return str(path)


@pytest.fixture(scope="module")
def trained(table):
    return as_file(run(Source(table, "hired", "sex")).metrics())


class Own(EqualOpportunity):
    """A constraint of one's own."""

    measure = "own_gap"
    name = "own"


def as_file(metrics):
    return json.loads(to_json(metrics))


@pytest.mark.parametrize(
    ("source", "settings"),
    [
        ({"protected": "sex"}, Settings()),
        ({"protected": ["sex", "race"], "attributes": "separate", "weight": "weight"}, Settings()),
        ({"protected": ["sex", "race"]}, Settings("predictive-parity", 0.1, "tree")),
        ({"protected": "sex"}, Settings(Own)),
        ({"protected": "sex"}, FrontierSettings()),
        ({"protected": "sex"}, FrontierSettings("demographic-parity", ratio=0.8, reference="M", floor="plain")),
    ],
)
def test_runs(validator, table, source, settings):
    validator.validate(as_file(run(Source(table, "hired", **source), settings).metrics()))


@pytest.mark.slow  # trains a net
def test_a_net(validator, table):
    pytest.importorskip("torch")
    done = run(Source(table, "hired", "sex"), Settings(estimator="mlp", epochs=2))
    validator.validate(as_file(done.metrics()))


def test_a_comparison(validator, table):
    done = compare(Source(table, "hired", "sex"), methods=["secant", "frontier"], seeds=range(2))
    validator.validate(as_file(done.metrics(done.summary(), {"seeds": 2})))


@pytest.mark.slow  # trains every method
def test_the_demo(validator, tmp_path):
    assert CliRunner().invoke(app, ["demo", "--rows", "1000", "-o", str(tmp_path / "demo")]).exit_code == 0
    validator.validate(json.loads((tmp_path / "demo" / "demo.json").read_text()))


def test_changes(validator, trained):
    metrics = trained | {"changes": {"error": CHANGE, "deo": CHANGE, "groups": {"F": {"tpr": CHANGE}}}}
    validator.validate(metrics)
    metrics["changes"]["groups"]["F"]["tpr"] = -0.02
    assert not validator.is_valid(metrics)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema",), 1),
        (("surprise",), 1),
        (("data", "fingerprint"), "sha256:x"),
        (("data", "rows"), 1.5),
        (("data", "groups", "F", "0"), "12"),
        (("config", "rows_are"), ""),
        (("config", "protected"), "sex"),
        (("config", "positive_guessed"), None),
        (("config", "tol"), 7),
        (("constraint", "verdict"), "perhaps"),
        (("splits", "test", "deo"), 0.1),
        (("splits", "test", "deo", "low"), "0.1"),
        (("splits", "test", "groups", "F", "tp"), -1),
        (("splits", "test", "groups", "F", "rates", "tpr", "n"), None),
        (("training", "warnings"), "one"),
        (("training", "seconds"), -1),
        (("history", "gap"), 0.1),
        (("runs",), []),
    ],
)
def test_what_is_wrong_is_found(validator, trained, place, value):
    validator.validate(trained)
    entry = wrong = copy.deepcopy(trained)
    for key in place[:-1]:
        entry = entry[key]
    entry[place[-1]] = value
    assert not validator.is_valid(wrong)


@pytest.mark.parametrize("key", ["splits", "plain", "training", "config", "versions"])
def test_what_is_absent_is_found(validator, trained, key):
    assert not validator.is_valid({name: trained[name] for name in trained if name != key})
