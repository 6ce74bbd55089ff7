"""The sentences of the verdict, every branch."""

import copy
import json

import pytest

from fairalm.report.answers import attribute_sentence
from fairalm.report.facts import gather
from fairalm.report.question import groups_in_words, question
from fairalm.report.verdict import (
    RateChange,
    direction,
    error_sentence,
    gap_sentence,
    levelling_sentence,
    limit_in_words,
    rates_sentence,
)

FELL, ROSE = {"value": -0.095, "low": -0.139, "high": -0.051}, {"value": 0.01, "low": 0.004, "high": 0.016}
BOTH = "Both groups are found less than before."
SAME, UNCLEAR = {"value": 0.0, "low": -0.003, "high": 0.003}, {"value": -0.02, "low": -0.06, "high": 0.02}


def figure(value, low=None, high=None, digits=1):
    return {"value": value, "low": low, "high": high, "digits": digits, "text": "hidden"}


def change(ends, digits=1):
    return {**ends, "digits": digits}


@pytest.mark.parametrize(("ends", "words"), [(FELL, "fell"), (ROSE, "rose"), (SAME, "did not change")])
def test_a_change_is_one_if_its_interval_excludes_zero(ends, words):
    assert direction(ends) == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (-0.01, 0.01, "did not change"),
        (-0.011, 0.01, "may have changed"),
        (-0.01, 0.011, "may have changed"),
        (0.0, 0.005, "did not change"),
    ],
)
def test_no_change_is_said_only_if_the_interval_is_narrow(low, high, words):
    assert direction({"value": 0.0, "low": low, "high": high}) == words


@pytest.mark.parametrize(
    ("before", "moved", "words"),
    [
        (figure(0.105), change(FELL), "fell from 10.5 to 1.0 points (change -9.5 [-13.9, -5.1])"),
        (figure(0.105), change(ROSE), "rose from 10.5 to 1.0 points (change +1.0 [+0.4, +1.6])"),
        (figure(0.01), change(SAME), "did not change (1.0 points; change +0.0 [-0.3, +0.3])"),
        (figure(0.03), change(UNCLEAR), "may have changed: from 3.0 to 1.0 points (change -2.0 [-6.0, +2.0])"),
        (figure(0.105), None, "went from 10.5 to 1.0 points"),
        (figure(0.0101), None, "stayed at 1.0 points"),
        (figure(None), None, "is 1.0 points"),
        (None, None, "is 1.0 points"),
        (figure(0.11, digits=0), change(FELL, 0), "fell from 11 to 1 points (change -10 [-14, -5])"),
    ],
)
def test_the_gap(before, moved, words):
    said = gap_sentence("the gap between a and b", figure(0.01, 0.0, 0.055), before, moved, "birds")
    assert said == f"The gap between a and b {words}; on new birds it is at most 5.5 points."


def test_a_gap_that_is_hidden_or_has_no_interval():
    assert gap_sentence("the gap", figure(None), figure(0.1), None, "people") == "The gap is hidden."
    assert gap_sentence("the gap", figure(0.01), None, None, "people") == "The gap is 1.0 points."


def test_a_ratio_is_one_minus_its_gap():
    said = gap_sentence("the ratio", figure(0.2, 0.1, 0.3), figure(0.5), change(FELL), "loans", is_ratio=True)
    assert said == "The ratio rose from 0.50 to 0.80 (change +0.10 [+0.05, +0.14]); on new loans it is at least 0.70."
    assert limit_in_words({"kind": "shortfall", "tol": 0.2}) == "at least 0.8"
    assert limit_in_words({"kind": "difference", "tol": 0.05}) == "at most 5 points"


def test_the_error():
    start = "The share of wrong decisions (error)"
    tiny = {"value": -0.00003, "low": -0.003, "high": 0.003}
    assert error_sentence(figure(0.152), figure(0.152), change(tiny)) == (
        f"{start} did not change (15.2 %; change +0.0 [-0.3, +0.3])."
    )
    assert error_sentence(figure(0.16), figure(0.15), change(ROSE)) == (
        f"{start} rose from 15.0 to 16.0 % (change +1.0 [+0.4, +1.6])."
    )
    assert error_sentence(figure(None), None, None) == f"{start} is hidden."


def test_rates_of_few_groups_are_named_and_of_many_the_ends():
    few = [RateChange("women", 0.55, 0.62), RateChange("men", 0.66, 0.63)]
    assert rates_sentence("TPR", few) == "TPR: women from 55.0 to 62.0 %, men from 66.0 to 63.0 %."
    assert rates_sentence("TPR", [RateChange("a", None, 0.5), RateChange("b", None, None)]) == "TPR: a 50.0 %."
    assert rates_sentence("TPR", [RateChange("a", None, None)]) == ""
    many = [RateChange(f"g{n}", n / 10, 0.5 + n / 100) for n in range(7)]
    assert rates_sentence("TPR", many) == (
        "TPR: 0.0 (g0) to 60.0 % (g6) under the plain model, 50.0 (g0) to 56.0 % (g6) under the fair model."
    )
    alone = [each._replace(before=None) for each in many]
    assert rates_sentence("TPR", alone) == "TPR: 50.0 (g0) to 56.0 % (g6)."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            [RateChange("a", 0.5, 0.4, FELL), RateChange("b", 0.6, 0.5, UNCLEAR)],
            "Both groups are found less than before.",
        ),
        ([RateChange("a", 0.5, 0.4, UNCLEAR), RateChange("b", 0.6, 0.5, UNCLEAR)], ""),  # may be chance
        ([RateChange("a", 0.5, 0.4), RateChange("b", 0.6, 0.5)], BOTH),
        ([RateChange("a", 0.5, 0.497), RateChange("b", 0.6, 0.5)], ""),  # without interval, too little
        ([RateChange("a", 0.5, 0.6), RateChange("b", 0.6, 0.5)], ""),
        ([RateChange("a", 0.5, 0.4)], ""),
        ([RateChange(name, 0.5, 0.4, FELL) for name in "abc"], "Every group is found less than before."),
        (
            [*(RateChange(name, 0.5, 0.4, FELL) for name in "abc"), RateChange("d", None, None)],
            "Every group whose rate is shown is found less than before.",
        ),
    ],
)
def test_levelling_down_is_said(changes, said):
    assert levelling_sentence("found less", changes) == said


WORDS = {"rows": "birds", "label": "y = {rows}", "groups": "a and b", "constraint": "mine"}


@pytest.mark.parametrize(
    ("rates", "asked"),
    [
        (["fnr"], "x: among birds with y = {rows}, does the model find a and b equally often?"),
        (["fpr"], "x: among birds without y = {rows}, does the model wrongly select a and b equally often?"),
        (["fnr", "fpr"], "x: does the model find a and b equally often, and select them wrongly equally often?"),
        (["selection"], "x: does the model predict y = {rows} equally often for a and b?"),
        (["error"], "x: is the model wrong equally often for a and b?"),
        (["fdr"], "x: among birds predicted y = {rows}, is the model right equally often for a and b?"),
        (["mine, all"], "x: does the model treat a and b alike (mine)?"),
    ],
)
def test_the_title_is_the_question(rates, asked):
    assert question("x", rates, **WORDS) == asked


@pytest.mark.parametrize(
    ("protected", "attributes", "words"),
    [
        (["sex"], [["Female", "Male"]], "Female and Male"),
        (["sex"], [["F", "M"]], "sex F and sex M"),
        (["married"], [["False", "True"]], "married False and married True"),
        (["race"], [["a", "b", "c"]], "the 3 groups of race"),
        (["sex", "race"], [["F", "M"], ["x", "y"]], "the groups of sex and of race"),
    ],
)
def test_groups_in_words(protected, attributes, words):
    assert groups_in_words({"protected": protected}, attributes) == words


@pytest.mark.parametrize(
    ("config", "start"),
    [
        ({"with_protected": True}, "No: the model uses sex."),
        ({"with_protected": False}, "Yes: the model does not use sex"),
        ({"with_protected": False, "image_column": "image"}, "Yes: the model sees the images"),
        ({}, "The run does not record"),
    ],
)
def test_whether_the_attribute_is_needed(config, start):
    assert attribute_sentence({"protected": ["sex"], **config}).startswith(start)


@pytest.fixture
def metrics(trained):
    return json.loads((trained / "metrics.json").read_text())


def test_the_verdict_of_a_run_has_its_paired_changes(metrics):
    facts = gather([metrics])
    verdict, changes = facts["verdict"], metrics["changes"]
    for part, key in (("gap", "deo"), ("error", "error")):
        for end in ("value", "low", "high"):
            assert facts["models"][0]["change"][part][end] == pytest.approx(changes[key][end], abs=1e-5)
    assert direction(changes["deo"]) in verdict["lead"]
    assert "on new people it is at most" in verdict["lead"]
    assert verdict["text"].startswith(verdict["lead"])
    assert [each["question"] for each in verdict["answers"]] == [
        "Who is worse off?",
        "By how much?",
        "Is it chance?",
        "What does the fair model cost?",
        "May I use it without the attribute?",
    ]
    assert all(each["answer"] for each in verdict["answers"])
    del metrics["changes"]
    assert "went from" in gather([metrics])["verdict"]["lead"]


def test_changes_are_left_out_if_counts_are_rounded(metrics):
    few = copy.deepcopy(metrics)
    few["splits"]["test"]["groups"]["F"]["fn"] = 3
    few["plain"]["splits"]["test"]["groups"]["F"] |= {"fn": 3, "tp": few["splits"]["test"]["groups"]["F"]["tp"]}
    facts = gather([few])
    assert facts["models"][0]["change"] is None
    assert "change " not in facts["verdict"]["text"]


@pytest.mark.parametrize(("times", "is_said"), [(9.9, True), (10.1, False)])
def test_a_forecast_only_if_it_is_worth_having(metrics, times, is_said):
    gap = 0.01 + 0.05 / times**0.5
    metrics["splits"]["test"]["deo"] |= {"value": gap, "low": 0.0, "high": gap + 0.05, "n_min": 300}
    verdict = gather([metrics])["verdict"]
    assert ("would settle it" in verdict["text"]) == is_said
    assert "Cannot tell: the interval reaches" in verdict["text"]


def test_rows_have_a_word(metrics):
    metrics["config"] |= {"rows_are": "birds", "target": "people", "positive": "people"}
    metrics["data"]["name"] = "people.csv"
    metrics["measure"]["sentence"] = "Among people with people = people, the share the model misses may differ."
    facts = gather([metrics])
    assert facts["constraint"]["sentence"].startswith("Among birds with people = people, the share")
    said = " ".join([facts["title"], facts["verdict"]["text"], *facts["limits"]])
    said = said.replace("people = people", "").replace("people.csv", "")
    assert "birds" in said
    assert "people" not in said
