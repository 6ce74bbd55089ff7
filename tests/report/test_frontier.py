"""The curve of a frontier on the page, in the card and as a picture."""

import json

import pandas as pd
import pytest

from fairalm.report.card import model_card
from fairalm.report.facts import gather
from fairalm.report.figures import write_figure, write_figures
from fairalm.report.frontier import CHOSEN, CONSTANT, CURVE, PLAIN


@pytest.fixture
def metrics(frontier):
    return json.loads((frontier / "metrics.json").read_text())


def test_the_facts_are_the_figures_of_the_run(frontier, metrics):
    facts = gather([frontier])["frontier"]
    table = pd.read_csv(frontier / "frontier.csv").set_index("tol")
    rows = {row["name"]: row for row in facts["rows"]}
    assert rows["10 points"]["gap"]["value"] == table.loc[0.1, "gap"]
    assert rows["5 points (chosen)"]["error"]["value"] == metrics["training"]["error"]
    assert facts["rows"][0]["kind"] == PLAIN
    assert [row["kind"] for row in facts["rows"][-2:]] == [CONSTANT] * 2
    drawn = facts["drawn"]
    assert len({(mark["gap"], mark["error"]) for mark in drawn["curve"]}) == len(drawn["curve"]) <= 20
    assert [mark["kind"] for mark in drawn["chosen"]] == [CHOSEN]
    assert {mark["kind"] for mark in drawn["curve"]} == {CURVE, CHOSEN}


def test_other_runs_have_none(trained, compared):
    assert gather([trained])["frontier"] is None
    assert gather([compared])["frontier"] is None


def test_a_curve_beside_another_run(trained, frontier):
    assert gather([trained, frontier])["frontier"] is not None


def test_a_constant_far_above_is_named_instead(metrics):
    for row in metrics["frontier"]["baselines"][1:]:
        row |= {"error": 0.95, "error_low": 0.94, "error_high": 0.96}
    facts = gather([metrics])["frontier"]
    assert CONSTANT not in {mark["kind"] for mark in facts["drawn"]["models"]}
    assert facts["outside"] == [f"hired = yes for {who}, error 95.0 % [94.0, 96.0]" for who in ("everyone", "nobody")]


def test_labels_stand_apart(frontier):
    curve = gather([frontier])["frontier"]["drawn"]
    labelled = [mark for mark in curve["curve"] if mark["label"]]
    (chosen,) = curve["chosen"]
    assert all((mark["gap"], mark["error"]) != (chosen["gap"], chosen["error"]) for mark in labelled)


def test_the_page(show, frontier, trained):
    page = show(frontier)
    section = page.locator("#frontier")
    assert section.locator("svg").count() == 1
    assert "From the plain model to the chosen point" in section.inner_text()
    page.locator("#frontier summary").click()
    assert "5 points (chosen)" in page.locator("#frontier-table").inner_text()
    assert show(trained).locator("#frontier").count() == 0


def test_the_card_and_the_figures(frontier, tmp_path):
    facts = gather([frontier])
    assert "no classifier within the limits" in model_card(facts)
    names = {path.name for path in write_figures(tmp_path, facts)}
    assert {"frontier.png", "frontier.pdf"} < names
    write_figure(tmp_path / "one.png", facts, "frontier", title="A title")
    assert (tmp_path / "one.png").read_bytes()[1:4] == b"PNG"
