"""The real page in a real browser."""

import json
import re
import statistics

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import fairalm
from fairalm.datasets import preprocess
from fairalm.exceptions import InputError
from fairalm.measures import measure_all
from fairalm.measures.text import with_interval
from fairalm.report.facts import gather
from fairalm.report.page import page as page_text
from fairalm.runs import Source
from fairalm.runs.choices import make_estimator
from tests.report.conftest import assert_fits_in_print

POINTS = "#chart-tradeoff [class*=points] path"
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def people(trained):
    """Test people as the run had them: features, labels, groups."""
    config = json.loads((trained / "config.json").read_text())
    everyone = Source(config["data"], "hired", ("sex",)).read()
    train, test = everyone.split(0.3, 0)
    return everyone, train, test


def matrices(page):
    """Group -> the four counts as they stand on the page."""
    found = {}
    for box in page.locator("#matrices table").all():
        cells = [cell.replace(",", "") for cell in box.locator("tbody td").all_inner_texts()]
        found[box.locator("caption").inner_text()] = [int(cell) for cell in cells]
    return found


def crossed(y, predicted, groups):
    """The same from the rows."""
    table = pd.crosstab([groups, y], predicted).reindex(columns=["yes", "no"], fill_value=0)
    return {g: [*table.loc[(g, "yes")].tolist(), *table.loc[(g, "no")].tolist()] for g in np.unique(groups)}


def test_the_answer_and_the_choice(show, trained, people):
    everyone, train, test = people
    page = show(trained)
    facts = gather([trained])
    assert page.locator("h1").text_content() == facts["title"]
    assert page.locator("#lead").inner_text() == facts["verdict"]["lead"]

    y, groups, X = everyone.labels[test], everyone.group_names[test].astype(str), everyone.X.iloc[test]
    fair = fairalm.load(trained / "model.skops")
    page.locator("#closer summary").click()
    assert matrices(page) == crossed(y, fair.predict(X), groups)
    plain = make_pipeline(preprocess(everyone.X), make_estimator("logistic", 0))
    plain.fit(everyone.X.iloc[train], everyone.labels[train])
    expected = crossed(y, plain.predict(X), groups)
    assert expected != matrices(page)

    page.get_by_role("button", name="plain model").focus()  # by keyboard
    page.keyboard.press("Enter")
    assert page.locator("#chosen-name").inner_text() == "Plain model"
    assert matrices(page) == expected
    assert page.get_by_role("button", name="plain model").get_attribute("aria-pressed") == "true"


def test_a_point_of_the_chart_is_a_model(show, compared):
    page = show(compared)
    name = gather([compared])["models"][0]["name"]
    page.locator(POINTS).first.click()  # by mouse
    assert page.locator("#chosen-name").inner_text().lower() == name
    assert page.locator("#closer").get_attribute("open") is not None
    page.locator(POINTS).first.hover()
    assert page.locator("#tip").inner_text().startswith(f"{name}: gap")
    labels = page.locator("#chart-tradeoff .mark-text.role-mark text").all_text_contents()
    assert "fair model (secant), seed 0" in labels
    assert len(labels) > 3


@pytest.mark.parametrize("name", ["trained", "frontier", "compared"])
def test_five_questions_have_their_answers_on_the_first_screen(show, request, name):
    page = show(request.getfixturevalue(name), width=1280)
    for part in ("#lead", *(f"#answers dd:nth-of-type({n})" for n in range(1, 6))):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800
        assert len(page.locator(part).inner_text()) > 10


def change_cells(page, where, run, plain):
    """Group -> the cells of a table of changes; and what they must be, from the two entries under ``splits``."""
    rows = page.locator(f"{where} tbody tr").all()
    found = {
        row.locator("th").inner_text(): [" ".join(t.split()) for t in row.locator("td").all_inner_texts()]
        for row in rows
    }
    expected = {}
    for name, group in run["test"]["groups"].items():
        before = plain["test"]["groups"][name]["rates"]
        figures = [[group["rates"][rate][key] for key in ("value", "low", "high")] for rate in ("tpr", "selection")]
        starts = [f"{100 * before[rate]['value']:.1f} %" for rate in ("tpr", "selection")]
        expected[name] = [f"{start} → {with_interval(*figure)}" for start, figure in zip(starts, figures, strict=True)]
    return found, expected


def test_each_group_from_the_plain_model_to_the_fair_one(show, trained):
    metrics = json.loads((trained / "metrics.json").read_text())
    page = show(metrics)
    page.locator("#closer summary").click()
    found, expected = change_cells(page, "#chosen-changes", metrics["splits"], metrics["plain"]["splits"])
    assert found == expected
    tables = page.locator("#changed table")
    assert tables.count() == 2
    assert tables.first.locator("caption").inner_text().startswith("Among people with hired = yes, the share found")
    for place, rate in enumerate(("tpr", "selection")):
        for row, name in zip(tables.nth(place).locator("tbody tr").all(), "FM", strict=True):
            said = " ".join(row.locator("td").last.inner_text().split())
            change = metrics["changes"]["groups"][name][rate]
            assert said.startswith(expected[name][place])
            assert f"change {100 * change['value']:+.1f} [{100 * change['low']:+.1f}" in said
            ends = [metrics[key]["splits"] if key else metrics["splits"] for key in ("plain", "")]
            x = [splits["test"]["groups"][name]["rates"][rate]["value"] for splits in ends]
            shaft = row.locator(".shaft")
            drawn = [float(shaft.get_attribute(end).rstrip("%")) for end in ("x1", "x2")]
            assert drawn[1] / drawn[0] == pytest.approx(x[1] / x[0], rel=1e-3)
    page.locator("#threshold").focus()
    page.keyboard.press("Home")  # the plain model's own decisions, to this model at a threshold
    moved, _ = change_cells(page, "#chosen-changes", metrics["splits"], metrics["plain"]["splits"])
    assert moved["F"][0].split(" → ")[0] == expected["F"][0].split(" → ")[0]
    tpr = page.locator("#chosen-rates tbody tr").first.locator("td").nth(2).inner_text().strip()
    assert moved["F"][0].split(" → ")[1] == tpr != expected["F"][0].split(" → ")[1]
    page.get_by_role("button", name="plain model").click()
    assert page.locator("#chosen-changes table").count() == 0
    assert page.locator("#changed table").count() == 2


def test_the_chosen_model_is_compared_with_the_plain_one_of_its_split(show, compared):
    metrics = json.loads(compared.read_text())
    page = show(compared)
    runs = {(run["method"], run["seed"]): run["splits"] for run in metrics["runs"]}
    page.get_by_role("button", name="reweight), seed 1").click()
    found, expected = change_cells(page, "#chosen-changes", runs["reweight", 1], runs["plain", 1])
    assert found == expected


def test_without_a_plain_model_nothing_is_compared(show, trained):
    metrics = json.loads((trained / "metrics.json").read_text())
    del metrics["plain"]
    page = show(metrics)
    assert page.locator("#changed .shaft").count() == 0
    assert page.locator("#changed .interval").count() == 4
    assert page.locator("#chosen-changes table").count() == 0


def test_warnings_stand_beside_the_verdict(show, trained):
    metrics = json.loads((trained / "metrics.json").read_text())
    metrics["training"]["warnings"] = ["The <b>TPR</b> falls.", "And more."]
    page = show(metrics)
    for where in ("#answer", "#chosen"):
        assert page.locator(f"{where} .warning").all_text_contents() == [
            "Warning in training: The <b>TPR</b> falls.",
            "Warning in training: And more.",
        ]
    assert "Warning in training: The &lt;b&gt;TPR&lt;/b&gt; falls." in page_text(gather([metrics]))  # without scripts
    page.get_by_role("button", name="plain model").click()
    assert page.locator("#chosen .warning").count() == 0
    assert page.locator("#answer .warning").count() == 2


def test_thirteen_groups_on_a_phone(show, many_groups):
    names = set(json.loads((many_groups / "metrics.json").read_text())["splits"]["test"]["groups"])
    page = show(many_groups, width=390)
    assert page.locator("#changed table").count() == 3  # TPR, FPR, selection
    for table in page.locator("#changed table").all():
        assert set(table.locator("tbody th").all_inner_texts()) == names
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ends = "[...document.querySelectorAll('td, th, dd, p, svg.arrow')].map((e) => e.getBoundingClientRect().right)"
    assert page.evaluate(f"Math.max(...{ends})") <= 390


@pytest.mark.parametrize(("name", "most"), [("compared", 4), ("frontier", 4), ("trained", 3)])
def test_print(show, request, name, most, tmp_path):
    page = show(request.getfixturevalue(name))
    content = page.pdf(format="A4")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", content)) <= most
    assert_fits_in_print(page)
    for part in ("#lead", "#answers", "#models table", "#rates table", "#limits", "#done table"):
        assert page.locator(part).first.is_visible()
    for part in ("#theme", "#matrices"):
        assert page.locator(part).is_hidden()


@pytest.mark.parametrize(
    "constraint", ["equal-opportunity", "equalized-odds", "demographic-parity", "predictive-parity"]
)
def test_slider_is_the_measure_at_that_threshold(show, trained, people, constraint):
    everyone, _, test = people
    metrics = json.loads((trained / "metrics.json").read_text())
    metrics["config"]["constraint"] = constraint  # the same model, judged by another constraint
    page = show(metrics)
    page.locator("#closer summary").click()
    measure = gather([metrics])["constraint"]["key"]
    model = fairalm.load(trained / "model.skops")
    y, groups = everyone.labels[test], everyone.group_names[test].astype(str)
    scores = model.predict_proba(everyone.X.iloc[test])[:, 1]
    slider = page.locator("#threshold")
    n_stops = int(slider.get_attribute("max")) + 1
    assert n_stops > 3
    own = matrices(page)
    slider.focus()
    page.keyboard.press("Home")
    for stop in range(n_stops):
        if stop:
            page.keyboard.press("ArrowRight")
        threshold = gather([metrics])["models"][0]["scores"]["edges"][stop]
        predicted = np.where(scores >= threshold, "yes", "no")
        if stop or n_stops // 2:  # Home moved it
            found = measure_all(y, predicted, sensitive_features=groups, target="yes")[measure].value
            assert float(page.locator("#threshold-gap").get_attribute("data-gap")) == pytest.approx(found, abs=1e-12)
            assert f"{100 * found:.1f} %" in page.locator("#threshold-gap").inner_text()
            assert matrices(page) == crossed(y, predicted, groups)
            assert str(threshold) in slider.get_attribute("aria-valuetext")
    page.get_by_role("button", name="Its own decisions").click()
    assert matrices(page) == own


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("nasty", 390, "light"),
        ("frontier", 390, "dark"),
        ("many_groups", 390, "light"),
        ("compared", 390, "dark"),
        ("compared", 1000, "light"),
        ("trained", 1000, "dark"),
    ],
)
def test_no_overflow_and_accessible(show, request, name, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = show(request.getfixturevalue(name), width=width, scheme=scheme)
    while (closed := page.locator("details:not([open]) > summary")).count():
        closed.first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) == (scheme == "dark")
    found = axe.Axe().run(page).response["violations"]
    assert found == [], [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in found]


def test_theme_can_be_changed(show, trained):
    page = show(trained)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_names_are_text(show, nasty):
    metrics = json.loads((nasty / "metrics.json").read_text())
    page = show(nasty)
    names = list(metrics["splits"]["test"]["groups"])
    assert len(names) == 4
    for where in ("#people tbody th", "#rates tbody th", "#matrices caption", "#changed table:first-child tbody th"):
        assert page.locator(where).all_text_contents() == names
    assert "<script>alert(1)</script>" in page.locator("#done").text_content()
    assert "<script>alert(1)</script>" in page.locator("h1").inner_text()
    assert page.evaluate("document.scripts.length") == 4
    assert page.locator("b").count() == 0


def test_two_hundred_models_are_soon_there(show, compared, many):
    facts = gather([many])
    assert len(facts["models"]) == 200
    assert len(page_text(facts).encode()) < MOST_BYTES
    times = {}
    for run in (compared, many):
        page, times[run] = show(run), []
        for _ in range(3):
            page.reload()
            page.wait_for_selector("html[data-ready]", state="attached")
            times[run].append(float(page.get_attribute("html", "data-ready")))
    assert statistics.median(times[many]) <= 3 * statistics.median(times[compared]), times
    page.get_by_text("The 200 models as a list").click()
    page.locator("#models button").last.click()
    assert page.locator("#chosen-name").inner_text().lower() == facts["models"][-1]["name"]


def test_small_cells_are_rounded(show, nasty):
    page = show(nasty, min_cell=400)
    assert page.locator("#small").is_visible()
    assert "rounded to the nearest 400" in page.locator("#small").inner_text()
    page.locator("#closer summary").click()
    assert page.locator("#no-slider").is_visible()


def test_one_stop_is_no_slider(show, trained):
    metrics = json.loads((trained / "metrics.json").read_text())
    for splits in (metrics["splits"], metrics["plain"]["splits"]):
        binned = splits["test"]["scores"]
        middle = len(binned["edges"]) // 2
        binned["edges"] = [binned["edges"][place] for place in (0, middle, -1)]
        for counts in binned["counts"].values():
            counts |= {label: [sum(row[:middle]), sum(row[middle:])] for label, row in counts.items()}
    assert len(gather([metrics])["models"][0]["scores"]["edges"]) == 1
    page = show(metrics)
    page.locator("#closer summary").click()
    assert page.locator("#threshold").is_hidden()
    assert page.locator("#no-slider").is_visible()


def test_heat_maps(show, trained, tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (8, 8), "red").save(tmp_path / "sheet.png")
    share = {"value": 0.31, "low": 0.2, "high": 0.4, "n": 50, "n_min": 50}
    leak = {"fair": {"overlap": share, "chance": share}}
    (tmp_path / "cam.json").write_text(json.dumps({"data": {"images": 50}, "leak": leak, "focus": {}}))
    (tmp_path / "cam.json").rename(tmp_path / "kept.json")
    leak["fair"]["chance"] = {**share, "words": 1}
    (tmp_path / "cam.json").write_text(json.dumps({"data": {"images": 50}, "leak": leak, "focus": {}}))
    with pytest.raises(InputError, match=r"cam\.json cannot be used: at leak\.fair\.chance"):
        show(trained, maps=tmp_path)
    (tmp_path / "kept.json").rename(tmp_path / "cam.json")
    page = show(trained, maps=tmp_path)
    assert page.evaluate("document.querySelector('#maps img').naturalWidth") == 8
    assert "31.0 % [20.0, 40.0]" in page.locator("#maps").inner_text()
