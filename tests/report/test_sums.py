"""Several attributes: what one attribute's groups would give away about another's."""

import json

import pandas as pd
import pytest

from fairalm.measures import measure_all
from fairalm.report.facts import gather
from fairalm.report.sums import hide_revealing, revealing


def test_a_hidden_count_takes_the_smallest_other_with_it():
    attributes = [["F", "M"], ["x", "y", "z"]]
    assert revealing({"F": 60, "M": 53, "x": 70, "y": 40, "z": None}, attributes) == ["y"]
    assert revealing({"F": 60, "M": 53, "x": 70, "y": 40, "z": 3}, attributes) == []
    assert revealing({"x": 70, "y": 40, "z": None}, [["x", "y", "z"]]) == []  # no other sum is known
    exact = {"tp": (50, 50), "fn": (20, 20), "tn": (30, 30), "fp": (30, 30)}
    shown = {name: dict(exact) for name in "FMxy"} | {"z": exact | {"tp": (44, 52), "fn": (1, 9)}}
    shown["x"]["tp"] = (90, 90)
    hidden = hide_revealing(shown, attributes)
    assert hidden["y"] == exact | {"tp": None, "fn": None}
    assert {name: hidden[name] for name in "FMxz"} == {name: shown[name] for name in "FMxz"}


def test_no_subtraction_gives_a_small_count(apart):
    facts = gather([apart], min_cell=250)
    people = {group["name"]: group["counts"] for group in facts["people"]["groups"]}
    assert people["race = z"] == people["race = y"] == [None, None]
    assert None not in people["race = x"] + people["sex = F"]

    facts = gather([apart], min_cell=100)
    groups = {group["name"]: group["counts"] for group in facts["models"][0]["groups"]}
    assert groups["race = z"] == dict.fromkeys(("tp", "fp", "tn", "fn"))
    for row in (("tp", "fn"), ("tn", "fp")):
        for names in facts["models"][0]["attributes"]:
            inexact = [name for name in names if any(not groups[name][k] or len(set(groups[name][k])) > 1 for k in row)]
            assert len(inexact) != 1, names


def test_the_page_compares_within_attributes(apart, show):
    metrics = json.loads((apart / "metrics.json").read_text())
    assert list(metrics["data"]["groups"]) == ["sex = F", "sex = M", "race = x", "race = y", "race = z"]
    model = gather([apart], min_cell=1)["models"][0]
    assert model["attributes"] == [["sex = F", "sex = M"], ["race = x", "race = y", "race = z"]]
    page = show(apart, min_cell=1)
    page.locator("#closer summary").click()
    names = [name for attribute in model["attributes"] for name in attribute]
    for where in ("#people tbody th", "#rates tbody th", "#matrices caption"):
        assert page.locator(where).all_text_contents() == names
    page.locator("#threshold").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    found = []
    for box in page.locator("#matrices table").all():
        cells = [int(cell.replace(",", "")) for cell in box.locator("tbody td").all_inner_texts()]
        found.append(cells[0] / (cells[0] + cells[1]))
    within = max(max(part) - min(part) for part in (found[:2], found[2:]))
    assert float(page.locator("#threshold-gap").get_attribute("data-gap")) == pytest.approx(within)


def test_the_run_is_measured_within_attributes(apart):
    metrics = json.loads((apart / "metrics.json").read_text())
    audited = json.loads((apart.parent / "apart-audit" / "audit.json").read_text())
    table = pd.read_csv(apart.parent / "apart-predicted.csv")
    for own in audited["outcomes"]:
        expected = measure_all(table["hired"], table["prediction"], sensitive_features=table[own["attribute"]])
        assert own["deo"] == expected["deo"].to_dict()
    assert audited["config"]["attributes"] == metrics["config"]["attributes"] == "separate"
    assert metrics["splits"]["test"]["deo"]["signed"] is None
