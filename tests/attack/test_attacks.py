"""Short versions of the attacks on processes, folders and disks; ``make attack`` runs the long ones."""

import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")

from tools.attack import disk, folders, kills
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
