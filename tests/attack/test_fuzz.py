"""Short versions of the attacks on inputs and files; ``make attack`` runs the long ones."""

import sys
from random import Random

import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")
pytest.importorskip("captum")

from tools.attack import damage, fuzz, mutate
from tools.attack.case import Case, run_case
from tools.attack.outcome import FAILURES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of its workers as Linux does")


@pytest.mark.parametrize(("attacked", "least"), [(fuzz, 380), (damage, 60)], ids=["fuzz", "damage"])
def test_no_traceback_no_hang_nothing_silent(attacked, least):
    outcomes = list(attacked.attack(full=False, seed=0))
    assert sum(outcome.tries for outcome in outcomes) >= least
    failures = {outcome.what: outcome.failures for outcome in outcomes if outcome.n_failures}
    assert not failures, failures


@pytest.mark.parametrize("alter", [mutate.of_bytes, mutate.of_csv, mutate.of_json])
def test_the_same_generator_gives_the_same_input(alter):
    content = b'[{"a": [1, 2], "b": "c"}]'
    altered = [alter(Random(number), content) for number in range(50)]
    assert altered == [alter(Random(number), content) for number in range(50)]
    assert len({each for each in altered if each != content}) > 25


def test_the_attack_sees_a_traceback_and_a_sentence(tmp_path):
    def bad(case):
        case.call(int, "x")

    def good(case):
        from fairalm.datasets import read_table

        assert case.call(read_table, case.folder / "none.csv") is None
        assert case.command("check", str(case.folder)) == 2

    case = Case("x", 0, 0, tmp_path, tmp_path)
    kind, text = run_case(bad, case)
    assert kind == "traceback"
    assert kind in FAILURES
    assert "ValueError" in text
    assert run_case(good, case) is None
