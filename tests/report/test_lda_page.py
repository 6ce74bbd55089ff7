"""The page of a search for less discriminatory alternatives, in words and in a real browser."""

import json

import numpy as np
import pandas as pd
import pytest

from fairalm.report.lda_page import lda_facts, lda_page, write_lda_page
from tests.report.conftest import NASTY, call

pytestmark = pytest.mark.filterwarnings("ignore::fairalm.FairALMWarning")
OPTIONS = ("--target", "hired", "--protected", "sex", "--estimator", "logistic", "--acceptance", "0.5")


@pytest.fixture(scope="module")
def found(folder, table):
    call("lda", table, *OPTIONS, "--reference", "M", "--margin", "0.2", "-o", folder / "lda")
    return json.loads((folder / "lda" / "lda.json").read_text())


@pytest.fixture(scope="module")
def small(folder, table):
    """A search in which a group has few rows, and the names are an attack."""
    people = pd.read_csv(table)
    people["sex"] = np.where(people["sex"] == "F", NASTY[3], NASTY[1])
    people.loc[:19, "sex"] = NASTY[0]
    people.to_csv(folder / "small.csv", index=False)
    call("lda", folder / "small.csv", *OPTIONS, "--reference", NASTY[1], "--margin", "0.2", "-o", folder / "few")
    return json.loads((folder / "few" / "lda.json").read_text())


def opened(browser, content, path, **options):
    write_lda_page(path, content)
    context = browser.new_context(offline=True, **options)
    page = context.new_page()
    page.set_default_timeout(60_000)
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    assert messages == []
    return page


def test_the_page_gives_the_answer_first(browser, found, tmp_path):
    page = opened(browser, found, tmp_path / "a.html", viewport={"width": 1280, "height": 900})
    assert page.locator("#lead").inner_text() == "A less discriminatory alternative was found."
    assert "within the margin of 20 points stated in advance" in page.locator("#answer").inner_text()
    box = page.locator("#answer").bounding_box()
    assert box["y"] + box["height"] < 900  # on the first screen
    rows = page.locator("#log tbody tr")
    assert rows.count() == len(found["splits"]["choose"])
    drawn = page.locator("#chart-tried [class*=symbol] path").count()
    assert drawn >= len(found["splits"]["choose"])
    assert page.locator("#figures tbody tr").count() == 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_and_axe(browser, found, tmp_path, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = opened(browser, found, tmp_path / "a.html", viewport={"width": 390, "height": 844}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("summary").click()
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["help"]) for one in found if one["impact"] in ("serious", "critical")] == []


def test_small_groups_are_hidden_and_names_are_text(browser, small, tmp_path):
    assert 0 < small["smallest"][NASTY[0]] < 10
    facts = lda_facts(small)
    assert facts["points"] == []  # the lowest ratio of each model may be that of the small group
    of_small = next(row for row in facts["rows"] if NASTY[0] in row[0][0])
    assert of_small[1] == "hidden (fewer than 10 rows)"
    shown = lda_page(small)
    value = small["splits"]["judge"]["baseline"][f"ratio of {NASTY[0]}"]["value"]
    assert f"{value:.2f} [" not in shown
    assert "hidden (fewer than 10 rows)" in shown
    page = opened(browser, small, tmp_path / "a.html", viewport={"width": 1000, "height": 900})
    assert NASTY[3] in page.locator("#ratios").inner_text()
    assert page.locator("main b").count() == 0


def test_none_found(found):
    none = {
        **found,
        "verdict": "none",
        "chosen": None,
        "changes": None,
        "splits": {**found["splits"], "judge": {"baseline": found["splits"]["judge"]["baseline"]}},
    }
    facts = lda_facts(none)
    assert facts["lead"] == "No less discriminatory alternative was found."
    assert facts["head"] == ["figure", "baseline"]
    assert all(len(row) == 2 for row in facts["rows"])
    assert facts["answers"][0][0] == "Who is worse off?"
