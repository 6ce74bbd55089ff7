"""Short versions of the attacks on processes, folders and disks; ``make attack`` runs the long ones."""

import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")

from tools.attack import disk, folders, kills
from tools.attack.__main__ import table, updated
from tools.attack.outcome import Outcome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and preloads a library")


@pytest.mark.parametrize("attacked", [kills, folders, disk], ids=lambda module: module.__name__.split(".")[-1])
def test_nothing_is_damaged_lost_or_left(attacked, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    outcomes = list(attacked.attack(full=False, seed=0))
    assert sum(outcome.tries for outcome in outcomes) >= 4
    failures = {outcome.what: outcome.failures for outcome in outcomes if outcome.n_failures}
    assert not failures, failures


def test_a_failure_is_counted():
    outcome = Outcome("x", 3)
    outcome.fail("lost", "how")
    assert (outcome.n_failures, outcome.cells()[:4]) == (1, ["x", "3", "0", "1"])


def test_new_outcomes_take_the_place_of_their_rows():
    page = "\n".join(["<!-- attack -->", *table([Outcome("a", 3), Outcome("b", 1000)]), "<!-- /attack -->"])
    failed = Outcome("b", 2)
    failed.fail("hang", "how")
    rows = [line.split(" | ")[:6] for line in updated(page, [failed, Outcome("c", 1200)])[2:]]
    assert rows == [
        ["| a", "3", "0", "0", "0", "0"],
        ["| b", "2", "0", "0", "0", "1"],
        ["| c", "1,200", "0", "0", "0", "0"],
        ["| all", "1,205", "0", "0", "0", "1"],
    ]
