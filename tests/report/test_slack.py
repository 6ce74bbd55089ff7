"""Several attributes: what the sums over one attribute's groups say about those of another."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from fairalm.measures import measure_all
from fairalm.report.facts import gather
from fairalm.report.rounding import rounded
from fairalm.report.slack import are_loose


def test_a_count_is_loose_if_three_values_have_the_same_sums():
    """Against all tables with the same rounded numbers and the same sum, one by one."""
    rng = np.random.default_rng(0)
    n_tight = 0
    for _ in range(300):
        sizes = [*rng.integers(20, 40, 2).tolist(), int(rng.integers(1, 10))]
        parts = [int(rng.integers(0, size + 1)) for size in sizes]
        near = [[n for n in range(60) if rounded(n, 10) == rounded(size, 10)] for size in sizes]
        same = [table for table in itertools.product(*near) if sum(table) == sum(sizes)]
        if are_loose(sizes, [parts], 10, 10):
            assert len({table[2] for table in same}) >= 3
        else:
            n_tight += 1
    assert n_tight < 150


def test_tight_sums_withhold_all_figures(apart):
    metrics = json.loads((apart / "metrics.json").read_text())
    for splits in (metrics["splits"], metrics["plain"]["splits"]):
        for entry in splits.values():
            sizes = {"race = x": 104, "race = y": 204, "race = z": 4}  # all at the upper ends of their tens
            for name, n in sizes.items():
                entry["groups"][name] |= {"tp": n - 2, "fn": 2, "tn": 50, "fp": 50}
    facts = gather([metrics])
    assert "would reveal it" in facts["privacy"][-1]
    assert facts["models"][0]["gap"]["text"] == "left out"
    assert all(count is None for group in facts["models"][0]["groups"] for count in group["counts"].values())
    assert all(group["total"] is None for group in facts["people"]["groups"])


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
