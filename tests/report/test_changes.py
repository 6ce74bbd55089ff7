"""From the plain model to another, group by group."""

import copy
import json

import pytest

from fairalm.report.changes import changed_rates, changes, plain_of
from fairalm.report.chart_data import chart_data
from fairalm.report.facts import gather
from fairalm.report.runs import read_runs
from fairalm.report.specs import specs


@pytest.fixture
def metrics(trained):
    return json.loads((trained / "metrics.json").read_text())


@pytest.mark.parametrize(
    ("constraint", "rates"),
    [
        ("equal-opportunity", ["tpr", "selection"]),
        ("demographic-parity", ["selection", "tpr"]),
        ("predictive-equality", ["tpr", "fpr", "selection"]),
        ("equalized-odds", ["tpr", "fpr", "selection"]),
    ],
)
def test_the_fpr_is_shown_where_the_constraint_is_about_it(metrics, constraint, rates):
    metrics["config"]["constraint"] = constraint
    del metrics["measure"]
    facts = gather([metrics])
    assert facts["changed"] == rates == changed_rates(facts["constraint"]["rates"])
    assert {name for name in specs(facts) if name.startswith("change-")} == {f"change-{rate}" for rate in rates}


def test_a_change_is_that_of_the_two_models(metrics):
    facts = gather([metrics])
    fair, plain = facts["models"]
    assert (fair["plain"], plain["plain"]) == (1, None)
    assert changes(facts, plain, "tpr") == []
    found = changes(facts, fair, "tpr")
    assert [change.group for change in found] == ["F", "M"]
    for change in found:
        before, after = (
            splits["test"]["groups"][change.group] for splits in (metrics["plain"]["splits"], metrics["splits"])
        )
        assert change.before["value"] == pytest.approx(before["tp"] / (before["tp"] + before["fn"]), abs=1e-5)
        assert change.after["value"] == pytest.approx(after["tp"] / (after["tp"] + after["fn"]), abs=1e-5)


def test_each_model_stands_beside_the_plain_model_of_its_split(compared):
    facts = gather([compared])
    for model in facts["models"]:
        if model["kind"] == "plain":
            assert model["plain"] is None
        else:
            beside = facts["models"][model["plain"]]
            assert (beside["kind"], beside["settings"]["seed"]) == ("plain", model["settings"]["seed"])


def test_numbers_go_on_from_run_to_run(trained, frontier):
    assert [model["plain"] for model in gather([trained, frontier])["models"]] == [1, None, 3, None]


def test_a_plain_model_of_other_people_is_not_compared(metrics):
    metrics["plain"]["splits"]["test"]["groups"]["F"]["tp"] += 1
    (run,) = read_runs([metrics])
    assert plain_of(run.models[0], run.models) is None
    facts = gather([metrics])
    assert changes(facts, facts["models"][0], "tpr") == []
    assert not any(name.startswith("change-") for name in specs(facts))


def test_small_counts_are_ranges(metrics):
    """As in the tables of each model: the change says no more than they do."""
    texts = set()
    for missed in (1, 2, 3, 4):
        few = copy.deepcopy(metrics)
        few["splits"]["test"]["groups"]["F"] |= {"tp": 60 - missed, "fn": missed}
        few["plain"]["splits"]["test"]["groups"]["F"] |= {"tp": 40, "fn": 20}
        facts = gather([few])
        of_few, of_many = changes(facts, facts["models"][0], "tpr")
        texts.add(of_few.text)
        assert "%" in of_many.text
        rows = chart_data(facts, "change-tpr")["changes"]
        assert [row["value"] for row in rows if row["group"] == "F"] == [None, 1.0]
    (text,) = texts
    assert text.startswith("56 to 77 % → 100 %")


def test_nobody_in_a_cell(metrics):
    for splits in (metrics["splits"], metrics["plain"]["splits"]):
        splits["test"]["groups"]["F"] |= {"tp": 0, "fn": 0}
    facts = gather([metrics])
    assert changes(facts, facts["models"][0], "tpr")[0].text == "nobody → nobody"
    assert {row["group"] for row in chart_data(facts, "change-tpr")["changes"]} == {"M"}


def test_warnings_of_the_training_are_repeated(metrics, compared):
    metrics["training"]["warnings"] = ["The gap is 3 points."]
    facts = gather([metrics])
    assert facts["verdict"]["warnings"] == ["The gap is 3 points."]
    assert [model["warnings"] for model in facts["models"]] == [["The gap is 3 points."], []]
    several = json.loads(compared.read_text())
    assert all(single["warnings"] == [] or "gap" in single["warnings"][0] for single in several["runs"])
    several["runs"][2]["warnings"] = ["The gap is 4 points."]
    assert gather([several])["models"][2]["warnings"] == ["The gap is 4 points."]


def test_warnings_that_may_reveal_a_count_are_not(metrics):
    texts = ["Fewer than 5 rows with y=1 in 'F' (4)", "One row in the smallest cell is 25.0 points."]
    metrics["training"]["warnings"] = texts
    assert gather([metrics])["verdict"]["warnings"] == texts
    metrics["plain"]["splits"]["train"]["groups"]["F"]["fn"] = 3  # of the plain model: the warning may name its rates
    (said,) = gather([metrics])["verdict"]["warnings"]
    assert said == "2 warnings not shown, because a warning may quote a small count."
    assert gather([metrics], min_cell=1)["verdict"]["warnings"] == texts
