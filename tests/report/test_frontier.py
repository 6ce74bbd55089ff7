"""The curve of a frontier on the page, in the card and as a picture."""

import json

import pandas as pd
import pytest

from fairalm.report.card import model_card
from fairalm.report.facts import gather
from fairalm.report.figures import figure_names, write_figure, write_figures
from fairalm.report.frontier import CHOSEN, CONSTANT, CURVE, PLAIN


@pytest.fixture
def metrics(frontier):
    return json.loads((frontier / "metrics.json").read_text())


def test_the_facts_are_the_figures_of_the_run(frontier, metrics):
    facts = gather([frontier])["frontier"]
    table = pd.read_csv(frontier / "frontier.csv").set_index("tol")
    rows = {row["name"]: row for row in facts["rows"]}
    assert rows["10 points"]["gap"]["value"] == pytest.approx(table.loc[0.1, "gap"])
    assert rows["5 points (chosen)"]["error"]["value"] == pytest.approx(metrics["training"]["error"])
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


def test_no_label_stands_on_a_point_with_another(frontier):
    drawn = gather([frontier])["frontier"]["drawn"]
    places = [(mark["gap"], mark["error"]) for mark in drawn["labelled"]]
    assert len(set(places)) == len(places)
    assert [mark["label"] for mark in drawn["labelled"]][:2] == ["5 points (chosen)", "plain model"]


def test_rates_of_each_group_along_the_curve(frontier, metrics):
    table = pd.read_csv(frontier / "frontier.csv").set_index("tol")
    rows = {row["name"]: row for row in gather([frontier])["frontier"]["rows"]}
    for group in rows["10 points"]["groups"]:
        for rate, shown in group["rates"].items():
            assert shown["of_1000"] == round(1000 * table.loc[0.1, f"{rate}_{group['name']}"])
    kept = metrics["frontier"]["points"][0]["groups"]
    assert set(kept) == {"F", "M"}
    assert set(kept["F"]) == {"tpr", "fpr", "selection"}


def test_small_counts_along_the_curve_are_rounded(metrics):
    group = metrics["splits"]["train"]["groups"]["F"]
    n = group["tp"] + group["fn"]
    found = []
    for missed in (1, 2, 3, 4):
        for point in metrics["frontier"]["points"]:
            point["groups"]["F"]["tpr"] = 1 - missed / n
            point["error"] = point["gap"] = missed / n  # follow from it: must not be shown as they are
        found.append(gather([metrics])["frontier"])
    assert all(facts == found[0] for facts in found)
    rates = next(row for row in found[0]["rows"] if row["kind"] == CURVE)["groups"][0]["rates"]
    assert rates["tpr"]["value"] == 1.0


def test_the_page(show, frontier, trained):
    page = show(frontier)
    section = page.locator("#frontier")
    assert section.locator("svg.marks").count() == 1
    assert "From the plain model to the chosen point" in section.inner_text()
    rows = [row for row in gather([frontier])["frontier"]["rows"] if row["kind"] in (CURVE, CHOSEN)]
    before = gather([frontier])["frontier"]["rows"][0]
    slider = page.locator("#stop")
    assert int(slider.get_attribute("max")) == len(rows) - 1
    slider.focus()
    page.keyboard.press("Home")
    for place, row in enumerate(rows):
        if place:
            page.keyboard.press("ArrowRight")
        assert row["name"] in slider.get_attribute("aria-valuetext")
        said = page.locator("#gains").inner_text()
        for own, plain in zip(row["groups"], before["groups"], strict=True):
            for rate in ("tpr", "selection"):
                a, b = plain["rates"][rate]["of_1000"], own["rates"][rate]["of_1000"]
                assert f"{a:,} → {b:,}" in said
                assert a == b or f"{abs(b - a):,} {'more' if b > a else 'fewer'}" in said
    page.locator("#frontier summary").click()
    assert "5 points (chosen)" in page.locator("#frontier-table").inner_text()
    assert show(trained).locator("#frontier").count() == 0


def test_a_curve_of_one_point_has_no_slider(show, metrics):
    metrics["frontier"]["points"] = []
    page = show(metrics)
    assert page.locator("#stop").is_hidden()
    assert page.locator("#gains table").count() == 2


def test_the_card_and_the_figures(frontier, tmp_path):
    pytest.importorskip("huggingface_hub")
    facts = gather([frontier])
    assert "no classifier within the limits" in model_card(facts)
    names = set(figure_names(facts))
    write_figures({name: tmp_path / name for name in names}, facts)
    assert {"frontier.png", "frontier.pdf"} < names
    write_figure(tmp_path / "one.png", facts, "frontier", title="A title")
    assert (tmp_path / "one.png").read_bytes()[1:4] == b"PNG"
