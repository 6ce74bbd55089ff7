"""The page of an audit in a real browser, and what it must not show."""

import json

import numpy as np
import pandas as pd
import pytest

from fairalm.measures import rate_interval
from fairalm.report.audit_facts import audit_facts
from fairalm.report.audit_page import audit_page
from fairalm.report.audit_words import answer, chance, question
from fairalm.report.ll144_page import ll144_page
from fairalm.runs import Decisions, LocalLaw144, audit, ll144
from tests.report.conftest import assert_fits_in_print


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Audits by name: of decisions only, of thirteen groups, and of everything."""
    rng = np.random.default_rng(0)
    n = 4000
    sex = rng.choice(["Female", "Male"], n)
    team = rng.choice([f"</script> team {i:02}" for i in range(13)], n)
    chosen = np.where(rng.random(n) < 0.5 - 0.15 * (sex == "Female"), "yes", "no")
    score = (rng.normal(size=n) + 0.3 * (sex == "Male")).round(2)
    frame = pd.DataFrame(
        {"sex": sex, "team": team, "chosen": chosen, "good": rng.choice(["no", "yes"], n), "score": score}
    )
    path = str(tmp_path_factory.mktemp("page") / "p.csv")
    frame.to_csv(path, index=False)
    everything = Decisions(
        path, ["sex", "team"], decision="chosen", target="good", score="score", attributes="separate"
    )
    return {
        "decisions": audit(Decisions(path, "sex", decision="chosen")).facts,
        "thirteen": audit(Decisions(path, "team", decision="chosen")).facts,
        "everything": audit(everything).facts,
        "law": ll144(Decisions(path, decision="chosen"), LocalLaw144(sex="sex", race="team")).facts,
    }


@pytest.fixture
def open_page(browser, tmp_path):
    """Open a page with the network off; any word on the console is an error."""
    messages, contexts = [], []

    def call(text, *, width=1000, scheme="light", is_ready=True):
        file = tmp_path / f"{len(contexts)}.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(file.as_uri())
        if is_ready:
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield call
    for context in contexts:
        context.close()
    assert messages == []


@pytest.mark.slow
def test_the_question_and_its_answer(open_page, audited):
    facts = audited["decisions"]
    page = open_page(audit_page(facts, min_cell=10))
    assert page.locator("h1").inner_text() == "Are Female and Male selected at the same rate?" == question(facts)
    (table,) = facts["selection"]
    said = page.locator("#lead").inner_text()
    assert said == answer("selection", table)
    assert said.startswith("Not the same. Female are selected at ")
    rows = page.locator(".arrows tbody tr")
    women = " ".join(rows.first.inner_text().split())
    own = table["groups"]["Female"]
    assert f"{own['selected']:,} of {own['n']:,}" in women
    assert f"{own['against']['ratio']:.2f}" in women
    assert f"by chance: {chance(own['against']['p_holm'])}" in women
    assert "reference" in rows.nth(1).inner_text()
    assert page.locator(".arrows .limit").count() == 2
    assert page.locator("#outcomes, #thresholds").count() == 0


@pytest.mark.slow
def test_everything(open_page, audited):
    page = open_page(audit_page(audited["everything"], min_cell=10))
    assert page.locator("#tables section").count() == 4
    assert page.locator("#outcome-tables details").count() == 2
    assert page.locator("#threshold-tables svg").count() == 1  # thirteen lines cannot be told apart
    entry = audited["everything"]["outcomes"][0]
    assert f"{100 * entry['groups']['Female']['rates']['tpr']['value']:.1f} %" in page.locator("#outcomes").inner_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("thirteen", 390, "light"), ("everything", 1280, "light"), ("everything", 390, "dark"), ("law", 390, "dark")],
)
def test_for_everybody(open_page, audited, name, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    text = ll144_page(audited[name]) if name == "law" else audit_page(audited[name], min_cell=10)
    page = open_page(text, width=width, scheme=scheme, is_ready=name != "law")
    while (closed := page.locator("details:not([open]) > summary")).count():
        closed.first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = axe.Axe().run(page).response["violations"]
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    assert serious == [], [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in serious]


CELLS = {
    ("F", "a"): (300, 150),
    ("F", "b"): (205, 103),
    ("F", "c"): (7, 4),
    ("M", "a"): (284, 131),
    ("M", "b"): (210, 3),
    ("M", "c"): (90, 41),
}


def audit_of(tmp_path, cells, **given):
    rows = [(sex, race, int(place < k)) for (sex, race), (n, k) in cells.items() for place in range(n)]
    pd.DataFrame(rows, columns=["sex", "race", "h"]).to_csv(tmp_path / "p.csv", index=False)
    return audit(Decisions(str(tmp_path / "p.csv"), ["sex", "race"], decision="h", **given)).facts


def test_small_counts_are_rounded_and_sums_are_those_of_rounded_counts(tmp_path):
    page = audit_facts(audit_of(tmp_path, CELLS), 10)
    sex, race, crossed = ({group["name"]: group for group in table["groups"]} for table in page["tables"])
    assert crossed["F × c"]["counts"] == "about 0 of 10"
    assert crossed["F × c"]["rate_text"][0] == "0 % to 80 %"  # 0 of 14 to 4 of 5
    assert sex["F"]["counts"] == "about 250 of 520"  # 150 + 100 + 0 of 300 + 210 + 10
    assert race["c"]["counts"] == "about 40 of 100"
    assert page["about"].startswith("About 1,100 people")
    assert page["rounded_to"] == 10
    assert "sha256" not in json.dumps(page)


def test_whatever_the_small_counts_the_page_is_the_same(tmp_path):
    pages = {
        audit_page(audit_of(tmp_path, CELLS | {("F", "c"): (n, k), ("M", "b"): (210, few)}), min_cell=10)
        for n, k, few in ((7, 4, 3), (9, 1, 4), (14, 2, 1))
    }
    assert len(pages) == 1


def test_groups_that_cannot_be_compared_are_said_to_be_so(tmp_path):
    cells = {("F", "a"): (25, 9), ("F", "b"): (30, 12), ("M", "a"): (40, 20), ("M", "b"): (22, 11)}
    facts = audit_facts(audit_of(tmp_path, cells), 10)
    assert {table["answer"].split(".")[0] for table in facts["tables"]} == {"Cannot be shown"}
    assert all(" % to " in group["rate_text"][0] for group in facts["tables"][0]["groups"])


def test_tables_whose_groups_cannot_be_matched_are_left_out(tmp_path):
    cells = {(sex.replace("F", "F × x"), race): counts for (sex, race), counts in CELLS.items()}
    facts = audit_facts(audit_of(tmp_path, cells), 10)
    assert [table["attribute"] for table in facts["tables"]] == ["sex", "race"]
    assert "cannot be matched" in facts["privacy"][-1]


@pytest.mark.parametrize("given", [{"decision": "h"}, {"decision": "label"}])
def test_crossed_groups_that_are_merged_have_a_page_without_their_columns(tmp_path, given):
    rows = [(*groups, int(place < k)) for groups, (n, k) in CELLS.items() for place in range(n)]
    frame = pd.DataFrame(rows, columns=["sex", "race", "h"])
    frame["label"] = np.arange(len(frame)) % 3
    frame.to_csv(tmp_path / "p.csv", index=False)
    more = {"attributes": "crossed", "merge_below": 100}
    facts = audit_facts(audit(Decisions(str(tmp_path / "p.csv"), ["sex", "race"], **given, **more)).facts, 40)
    assert [table["attribute"] for table in facts["tables"]] == ["sex × race"]
    assert "other" in {group["name"] for group in facts["tables"][0]["groups"]}


def test_attributes_on_their_own_that_would_reveal_a_count_are_left_out(tmp_path):
    # who leaves the four of b must join another group, and each has as many as its rounded number allows
    tight = {("F", "a"): (304, 152), ("M", "a"): (200, 100), ("M", "b"): (4, 2), ("M", None): (4, 2)}
    facts = audit_facts(audit_of(tmp_path, tight, attributes="separate"), 10)
    assert [table["attribute"] for table in facts["tables"]] == ["sex"]
    assert facts["privacy"][-1].startswith("Left out: the tables of all columns but sex")


def test_figures_by_weight_are_left_out(tmp_path):
    rows = [(sex, int(place < k), 2.5) for sex, (n, k) in {"F": (300, 4), "M": (400, 90)}.items() for place in range(n)]
    pd.DataFrame(rows, columns=["sex", "h", "w"]).to_csv(tmp_path / "w.csv", index=False)
    facts = audit_facts(audit(Decisions(str(tmp_path / "w.csv"), "sex", decision="h", weight="w")).facts, 10)
    assert {group["rate_text"][0] for group in facts["tables"][0]["groups"]} == {"left out"}
    assert "rows have weights" in facts["privacy"][-1]


@pytest.mark.parametrize("name", ["decisions", "thirteen", "everything"])
def test_print(open_page, audited, name):
    assert_fits_in_print(open_page(audit_page(audited[name], min_cell=10)))


LABELS = ["very low", "low", "medium", "high", "very high"]


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Audits of five labels and four groups: a large table, a small one with outcomes, and one crossed with sex."""
    rng, n = np.random.default_rng(0), 4000
    race = rng.choice(["Asian", "Black", "Hispanic", "</script>White"], n, p=[0.1, 0.2, 0.2, 0.5])
    true = rng.choice(LABELS, n, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    grade = np.where(rng.random(n) < 0.8 - 0.3 * (race == "Black"), true, rng.choice(LABELS, n))
    frame = pd.DataFrame({"race": race, "sex": rng.choice(["F", "M"], n), "true": true, "grade": grade})
    folder = tmp_path_factory.mktemp("labelled")
    frame.to_csv(folder / "large.csv", index=False)
    frame.head(700).to_csv(folder / "small.csv", index=False)
    given = {"decision": "grade", "target": "true"}
    return {
        "large": audit(Decisions(str(folder / "large.csv"), "race", **given)).facts,
        "small": audit(Decisions(str(folder / "small.csv"), "race", **given)).facts,
        "crossed": audit(Decisions(str(folder / "large.csv"), ["race", "sex"], decision="grade")).facts,
    }


@pytest.mark.slow
def test_several_labels(open_page, labelled):
    facts = labelled["large"]
    page = open_page(audit_page(facts, min_cell=1))
    assert page.locator("h1").inner_text() == "Do all groups of race get each label of grade equally often?"
    (worst,) = facts["labels"]
    said = page.locator("#lead").inner_text()
    assert f"The label with the largest difference is grade = {worst['difference']['label']}, which " in said
    table = page.locator(".arrows")
    headings = table.locator("tr.label").all_inner_texts()
    assert [text.split("\n")[0] for text in headings] == [f"grade = {label}" for label in sorted(LABELS)]
    assert all("against 5 points: " in text for text in headings)
    rows = table.locator("tbody tr:not(.label)").all_inner_texts()
    assert len(rows) == 5 * 4
    own = facts["selection"][1]["groups"]["Black"]
    assert f"{own['selected']:,} of {own['n']:,}" in rows[6]
    assert f"{100 * own['rate']['value']:.1f} %" in rows[6]
    assert page.locator(".limit").count() == 0  # no four-fifths
    shown = page.locator("#outcomes").inner_text()
    assert f"{100 * facts['outcomes'][1]['groups']['Black']['rates']['tpr']['value']:.1f} %" in shown
    assert f"{100 * worst['errors']['Black']['value']:.1f} %" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width", "scheme"), [("large", 390, "light"), ("small", 390, "dark"), ("crossed", 1280, "light")]
)
def test_several_labels_for_everybody(open_page, labelled, name, width, scheme):
    test_for_everybody(open_page, labelled, name, width, scheme)
    page = open_page(audit_page(labelled[name], min_cell=10), width=width)
    cells = "[...document.querySelectorAll('td, tbody th')]"
    cut = f"{cells}.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent)"
    assert page.evaluate(cut) == []


@pytest.mark.parametrize("name", ["large", "small"])
def test_several_labels_in_print(open_page, labelled, name):
    assert_fits_in_print(open_page(audit_page(labelled[name], min_cell=10)))


LABELLED = {"a": {"A": 200, "B": 150, "C": 50, "D": 30}, "b": {"A": 1230, "B": 7, "C": 621, "D": 3}}


def labels_of(tmp_path, cells, **given):
    rows = [(group, label) for group, counts in cells.items() for label, n in counts.items() for _ in range(n)]
    pd.DataFrame(rows, columns=["g", "h"]).to_csv(tmp_path / "p.csv", index=False)
    return audit(Decisions(str(tmp_path / "p.csv"), "g", decision="h", **given)).facts


def test_the_size_of_a_group_is_the_sum_of_its_rounded_labels(tmp_path):
    facts = audit_facts(labels_of(tmp_path, LABELLED), 10)
    (table,) = facts["tables"]
    counts = [(group["name"], group["counts"]) for group in table["groups"]]
    assert counts[:2] == [("a", "about 200 of 430"), ("b", "about 1,230 of 1,860")]  # of 1,861: 1,230 + 10 + 620 + 0
    assert counts[2:4] == [("a", "about 150 of 430"), ("b", "about 10 of 1,860")]
    low, high = rate_interval(5, 5 + 1862)[0], rate_interval(14, 14 + 1835)[1]  # of the three others, 12 more, 15 fewer
    assert table["groups"][3]["rate_text"] == ["1 %", f"[{100 * low:.0f}, {100 * high:.0f}]"]
    assert facts["about"].startswith("About 2,290 people")


def test_whatever_the_small_label_the_page_is_the_same(tmp_path):
    pages = {
        audit_page(labels_of(tmp_path, LABELLED | {"b": {"A": 1230 + a, "B": few, "C": 621, "D": 3}}), min_cell=10)
        for few, a in ((5, 0), (7, 1), (9, -3), (14, 1))
    }
    assert len(pages) == 1


def test_outcomes_are_left_out_where_the_sums_of_wrong_labels_would_reveal_one(tmp_path):
    wrong = {"AB": 1, "AC": 4, "BA": 2, "BC": 3, "CA": 2, "CB": 3}  # should have the first and have the second
    right = {"AA": 2000, "BB": 2000, "CC": 2000}
    rows = [(group, *pair) for group in "ab" for pair, n in {**wrong, **right}.items() for _ in range(n)]

    def shown(rows):
        pd.DataFrame(rows, columns=["g", "y", "h"]).to_csv(tmp_path / "p.csv", index=False)
        return audit_facts(audit(Decisions(str(tmp_path / "p.csv"), "g", decision="h", target="y")).facts, 10)

    # 5 of each label are wrong, the fewest that are shown as 10; 4 have A and 4 B wrongly, the most that are shown as 0
    assert shown(rows)["outcomes"] == []
    assert shown(rows)["privacy"][-1].startswith("Left out: the outcomes, because sums over labels")
    assert shown(rows)["tables"][0]["groups"][0]["counts"] == "about 2,000 of 6,010"  # 2,004, 2,004 and 2,007
    assert shown([*rows, *[(group, "A", "C") for group in "aabb"]])["outcomes"]  # 7 of A: two could have been others
