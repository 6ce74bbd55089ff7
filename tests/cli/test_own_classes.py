"""A constraint and a method of the user's own, as module:Class, in every command."""

import json
import sys

import pytest

from fairalm.constraints import CONSTRAINTS, ErrorParity
from fairalm.methods import METHODS, L2Penalty

MODULE = '''
from dataclasses import dataclass
from fairalm import Constraint, L2Penalty
from fairalm.cells import Event

@dataclass(frozen=True, kw_only=True)
class Rejection(Constraint):
    """Equal shares of rejected people."""

    rates = "the share of people not predicted {label}"

    def events(self, y):
        positive = 1.0 * y
        return (Event("all", base=1.0 - positive, sign=2.0 * positive - 1.0),)

@dataclass(frozen=True)
class Gentle(L2Penalty):
    """The squared gap as a small penalty."""

    eta: float = 0.1

@dataclass(frozen=True, kw_only=True)
class Empty(Constraint):
    """Without events."""

@dataclass(frozen=True, kw_only=True)
class Clash(Rejection):
    """Named like another."""

    measure = "deo"

class Stubborn(Rejection):
    def __init__(self):
        pass

number = 7
'''
BASE = ("--target", "hired", "--protected", "sex")
TRUSTED = ("--trusted", "mine.Gentle", "--trusted", "mine.Rejection")
OWN = ("--constraint", "mine:Rejection", "--method", "mine:Gentle", "--tol", "0.02")


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "needy.py").write_text("import nowhere_to_be_found")
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in ("mine", "broken", "needy"):
        sys.modules.pop(name, None)


def test_every_command(run, table, tmp_path):
    pytest.importorskip("vl_convert")
    code, out, err = run("train", table, *BASE, *OWN)
    assert code == 0, err
    assert "Constraint rejection: the share of people not predicted hired = yes may differ" in " ".join(out.split())
    assert "rejection gap <- constraint" in out
    assert "Method gentle on logistic" in out
    folder = tmp_path / "runs" / "people-rejection-gentle"
    metrics = json.loads((folder / "metrics.json").read_text())
    assert (metrics["config"]["constraint"], metrics["config"]["method"]) == ("rejection", "gentle")
    assert metrics["measure"]["key"] == metrics["constraint"]["measure"] == "rejection"
    assert metrics["measure"]["definitions"] == {"rejection, all": [["tn", "fn"], ["tp", "fp", "tn", "fn"]]}
    gap = metrics["splits"]["test"]["rejection"]
    assert gap["value"] == pytest.approx(metrics["splits"]["test"]["ddp"]["value"])
    for command in (("report", folder, "-o", "page.html"), ("card", folder)):
        code, out, err = run(*command)
        assert code == 0, err
        assert "not predicted hired = yes" in " ".join(out.split())
    code, _, err = run("predict", folder, table, "-o", "p.csv")
    assert code == 2
    assert "pass --trusted mine.Gentle --trusted mine.Rejection" in err
    code, _, err = run("predict", folder, table, "-o", "p.csv", *TRUSTED)
    assert code == 0, err
    options = ("--constraint", "mine:Rejection", "--methods", "secant,mine:Gentle", "--seeds", "1", "-o", "c.json")
    code, out, err = run("compare", table, *BASE, *options)
    assert code == 0, err
    assert [row["method"] for row in json.loads((tmp_path / "c.json").read_text())["methods"]] == [
        *("plain", "secant", "gentle")
    ]


def test_the_module_is_found_from_a_process_of_its_own(console, table):
    safe = {"PYTHONSAFEPATH": "1"}  # as the script `fairalm` has it: Python does not look into the current folder
    code, out, err = console("train", table, *BASE, *OWN, "-o", "r", **safe)
    assert code == 0, err
    assert "rejection gap <- constraint" in out
    code, out, err = console("predict", "r", table, "-o", "p.csv", *TRUSTED, **safe)
    assert code == 0, err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--constraint", "mine"), "There is no constraint 'mine'"),
        (("--constraint", "mine:"), "'mine:' names no constraint: write module:Class"),
        (("--method", ":Gentle"), "':Gentle' names no method: write module:Class"),
        (("--constraint", "nowhere.at_all:X"), "There is no module nowhere.at_all in the current folder or in an"),
        (("--constraint", "needy:X"), "The module needy cannot be imported (ModuleNotFoundError: No module named"),
        (("--constraint", "broken:X"), "The module broken cannot be imported (ZeroDivisionError: division by zero)."),
        (("--constraint", "mine:Rejecton"), "There is no class in mine: 'Rejecton', did you mean 'Rejection'?"),
        (("--constraint", "mine:number"), "mine:number is no constraint: it must be a subclass of fairalm.Constraint."),
        (("--constraint", "mine:Gentle"), "mine:Gentle is no constraint: it must be a subclass of fairalm.Constraint."),
        (("--method", "mine:Rejection"), "mine:Rejection is no method: it must be a subclass of fairalm.Method."),
        (("--constraint", "mine:Empty"), "Empty(tol=0.01, target=None) fails (TypeError: Can't instantiate abstract"),
        (("--constraint", "mine:Stubborn"), "Stubborn(tol=0.01, target=None) fails (TypeError: "),
        (("--constraint", "mine:Clash"), "is called 'deo', as another one is"),
        (("--method", "mine:Gentle", "--eta", "-1"), "must be positive"),
    ],
)
def test_each_mistake_is_a_sentence(run, table, tmp_path, options, message):
    code, out, err = run("train", table, *BASE, *options)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
    assert not (tmp_path / "runs").exists()


def test_registered_classes_are_listed_and_have_names(run, table, monkeypatch):
    class Loud(L2Penalty):
        """A loud penalty."""

    class Mistakes(ErrorParity):
        """Equal mistakes."""

    monkeypatch.setitem(METHODS, "loud", Loud)
    monkeypatch.setitem(CONSTRAINTS, "mistakes", Mistakes)
    code, out, _ = run("list")
    assert code == 0
    assert "A loud penalty" in out
    assert "Equal mistakes" in out
    code, out, err = run("train", table, *BASE, "--method", "loud", "--constraint", "mistakes", "--json")
    assert code == 0, err
    assert json.loads(out)["config"]["method"] == "loud"
