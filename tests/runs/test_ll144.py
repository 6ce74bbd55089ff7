"""The tables of Local Law 144, with the arithmetic of its rule typed out."""

import json

import numpy as np
import pandas as pd
import pytest

from fairalm.exceptions import InputError
from fairalm.runs import Decisions, LocalLaw144, ll144

#: sex and race -> applicants, selected; the empty sex or race is unknown. 2,000 applicants.
APPLICANTS = {
    ("F", "Asian"): (200, 80),
    ("F", "Black"): (250, 75),
    ("F", "White"): (430, 215),
    ("F", "Native"): (20, 4),
    ("M", "Asian"): (220, 110),
    ("M", "Black"): (240, 96),
    ("M", "White"): (560, 336),  # nobody is male and Native
    ("", "Asian"): (30, 12),
    ("M", ""): (40, 21),
    ("", ""): (10, 3),
}
LAW = LocalLaw144(sex="sex", race="race")


def rows_of(applicants):
    rows = []
    for (sex, race), (n, selected) in applicants.items():
        rows += [(sex or None, race or None, "yes" if place < selected else "no") for place in range(n)]
    return pd.DataFrame(rows, columns=["sex", "race", "selected"]).sample(frac=1, random_state=0)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The applicants in a file, in random order."""
    frame = rows_of(APPLICANTS)
    assert len(frame) == 2000
    path = tmp_path_factory.mktemp("law") / "applicants.csv"
    frame.to_csv(path, index=False)
    return str(path)


def by_category(facts, place):
    return {own["category"]: own for own in facts["tables"][place]["categories"]}


def test_the_arithmetic_of_the_rule(table):
    facts = ll144(Decisions(table, decision="selected"), LAW).facts
    sex, race, both = (by_category(facts, place) for place in range(3))
    # applicants and selected by hand: F 200+250+430+20 and 80+75+215+4; M 220+240+560+40 and 110+96+336+21
    assert {name: (own["applicants"], own["selected"]) for name, own in sex.items()} == {
        "F": (900, 374),
        "M": (1060, 563),
    }
    assert sex["F"]["rate"] == 374 / 900
    assert sex["M"]["impact_ratio"] == 1.0
    assert sex["F"]["impact_ratio"] == (374 / 900) / (563 / 1060)
    assert {name: (own["applicants"], own["selected"]) for name, own in race.items()} == {
        "Asian": (200 + 220 + 30, 80 + 110 + 12),
        "Black": (250 + 240, 75 + 96),
        "Native": (20, 4),
        "White": (430 + 560, 215 + 336),
    }
    assert race["Black"]["impact_ratio"] == (171 / 490) / (551 / 990)
    assert race["Native"]["impact_ratio"] == (4 / 20) / (551 / 990)
    assert both["F × Black"]["rate"] == 75 / 250
    assert both["F × Black"]["impact_ratio"] == (75 / 250) / (336 / 560)
    assert [table["unknown"] for table in facts["tables"]] == [30 + 10, 40 + 10, 30 + 40 + 10]
    assert [table["rows"] for table in facts["tables"]] == [1960, 1950, 1920]
    assert facts["data"]["rows"] == 2000


def test_the_intersection_has_every_combination(table):
    both = by_category(ll144(Decisions(table, decision="selected"), LAW).facts, 2)
    assert list(both) == [f"{sex} × {race}" for sex in "FM" for race in ("Asian", "Black", "Native", "White")]
    empty = both["M × Native"]
    assert (empty["applicants"], empty["selected"], empty["rate"], empty["impact_ratio"]) == (0, 0, None, None)


def test_a_category_without_anybody_selected_has_ratio_zero(tmp_path):
    path = tmp_path / "a.csv"
    rows_of(APPLICANTS | {("F", "Native"): (20, 0)}).to_csv(path, index=False)
    both = by_category(ll144(Decisions(str(path), decision="selected"), LAW).facts, 2)
    assert (both["F × Native"]["rate"], both["F × Native"]["impact_ratio"]) == (0.0, 0.0)


def test_categories_under_two_percent_may_be_left_out(table):
    law = LocalLaw144(sex="sex", race="race", leave_out_below=0.02, reason="Too few.")
    facts = ll144(Decisions(table, decision="selected"), law).facts
    _, race, both = (by_category(facts, place) for place in range(3))
    native = race["Native"]  # 20 of 1,950 are 1.03 %
    assert (native["left_out"], native["applicants"], native["rate"], native["impact_ratio"]) == (True, 20, 0.2, None)
    assert both["F × Native"]["left_out"]
    assert not both["M × Native"]["left_out"]  # there is nobody to leave out
    assert race["Black"]["impact_ratio"] == (171 / 490) / (551 / 990)
    assert facts["reason"] == "Too few."


@pytest.mark.parametrize("n", [7, 6])
def test_exactly_two_percent_is_not_less(tmp_path, n):
    path = tmp_path / "a.csv"
    applicants = {("F", "x"): (n, n), ("F", "y"): (350 - n - 100, 50), ("M", "y"): (100, 50)}
    rows_of(applicants).to_csv(path, index=False)
    law = LocalLaw144(sex="sex", race="race", leave_out_below=0.02, reason="Too few.")
    race = by_category(ll144(Decisions(str(path), decision="selected"), law).facts, 1)
    assert race["x"]["left_out"] == (n == 6)
    # the highest rate is that of the categories which are not left out
    assert race["y"]["impact_ratio"] == (1.0 if n == 6 else (100 / (350 - n)) / 1.0)


def test_scores_are_counted_above_the_median_of_the_whole_sample(tmp_path):
    frame = rows_of(APPLICANTS)
    n_above = int((frame["selected"] == "yes").sum())
    assert n_above == 952
    # 952 score 3, 100 score 2 and the others 1: of 2,000 scores the middle two are both 2, and a 2 is not above
    score = np.where(frame["selected"] == "yes", 3, 1)
    score[np.flatnonzero(score == 1)[:100]] = 2
    frame.assign(score=score).drop(columns="selected").to_csv(tmp_path / "s.csv", index=False)
    facts = ll144(Decisions(str(tmp_path / "s.csv"), score="score"), LAW).facts
    assert (facts["rate"], facts["median"]) == ("scoring", 2.0)
    by_decision = tmp_path / "d.csv"
    frame.to_csv(by_decision, index=False)
    decided = ll144(Decisions(str(by_decision), decision="selected"), LAW).facts
    assert facts["tables"] == decided["tables"]


def test_unknown_values_are_named(tmp_path):
    frame = rows_of(APPLICANTS).fillna("Not given")
    frame.to_csv(tmp_path / "a.csv", index=False)
    given = Decisions(str(tmp_path / "a.csv"), decision="selected", unknown="Not given")
    assert [table["unknown"] for table in ll144(given, LAW).facts["tables"]] == [40, 50, 80]
    with pytest.raises(InputError, match="unknown='Declined' is no value of a protected column: sex, race"):
        ll144(Decisions(given.data, decision="selected", unknown="Declined"), LAW)


def test_the_folder(table, tmp_path):
    done = ll144(Decisions(table, decision="selected"), LAW)
    done.save(tmp_path / "law")
    assert json.loads((tmp_path / "law" / "ll144.json").read_text()) == done.facts
    written = pd.read_csv(tmp_path / "law" / "ll144.csv")
    assert written.columns.tolist() == [
        "table", "sex", "race_ethnicity", "applicants", "selected", "selection_rate", "impact_ratio", "left_out",
    ]  # fmt: skip
    assert written["table"].value_counts().to_dict() == {
        "sex": 2, "sex, unknown": 1, "race": 4, "race, unknown": 1, "intersection": 8, "intersection, unknown": 1,
    }  # fmt: skip
    assert written.query("sex == 'F' and race_ethnicity == 'Black'")["impact_ratio"].item() == 0.3 / 0.6


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({"leave_out_below": 0.05, "reason": "x"}, "must be above 0 and at most 0.02"),
        ({"leave_out_below": 0.02}, "leave_out_below and reason go together"),
        ({"reason": "x"}, "leave_out_below and reason go together"),
        ({"audit_date": "31.3.2026"}, "audit_date must be a date such as 2026-03-31; got '31.3.2026'"),
    ],
)
def test_what_the_rule_does_not_allow(law, message):
    with pytest.raises(InputError, match=message):
        LocalLaw144(sex="sex", race="race", **law)


@pytest.mark.parametrize(
    ("given", "law", "message"),
    [
        ({"decision": "selected", "score": "x"}, LAW, "pass decision or score, not both"),
        ({"decision": "selected", "weight": "w"}, LAW, "weight is not for the tables of Local Law 144"),
        ({"decision": "selected", "protected": "sex"}, LAW, "protected is not for .*: sex and race name the columns"),
        ({"decision": "selected"}, LocalLaw144(sex="sex"), "name that of the sex with sex, that of race/ethnicity"),
        ({"decision": "selected"}, LocalLaw144(sex="sex", race="sex"), "The tables need two columns"),
        ({"decision": "selected"}, LocalLaw144(sex="sex", race="rase"), "There is no column 'rase'"),
    ],
)
def test_settings_that_have_no_place(table, given, law, message):
    with pytest.raises(InputError, match=message):
        ll144(Decisions(table, **given), law)
