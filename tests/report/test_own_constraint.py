"""A constraint and a method that fairalm does not know: the page and the card need only what their run records."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairalm import FairALMClassifier, L2Penalty
from fairalm._validation import encode_groups
from fairalm.cells import Event
from fairalm.constraints import Constraint
from fairalm.exceptions import InputError, ToleranceWarning
from fairalm.measures import Measure, describe, measure_of, splits_entry
from fairalm.measures.rates import group_rates
from fairalm.report.card import escape, model_card
from fairalm.report.facts import gather
from fairalm.runs.metrics import data_entry, metrics


@dataclass(frozen=True, kw_only=True)
class Rejection(Constraint):
    """Equal shares of rejected people."""

    rates = "the share of people not predicted {label}"

    def events(self, y):
        positive = 1.0 * y
        return (Event("all", base=1.0 - positive, sign=2.0 * positive - 1.0),)


@dataclass(frozen=True)
class Gentle(L2Penalty):
    """The squared gap as a small penalty."""

    eta: float = 0.1


@pytest.fixture(scope="module")
def test_rows():
    rng = np.random.default_rng(0)
    group = rng.choice(["F", "M"], 2000)
    X = rng.normal(size=(2000, 2)) + 0.4 * (group == "M")[:, None]
    return X, np.where(X.sum(axis=1) + rng.normal(size=2000) > 0, "yes", "no"), group


@pytest.fixture(scope="module")
def run(test_rows):
    """What a run of the two would write, from public functions alone."""
    X, y, group = test_rows
    constraint = Rejection(tol=0.02)
    train, test = np.arange(1000), np.arange(1000, 2000)
    model = FairALMClassifier(LogisticRegression(), constraint=constraint, method=Gentle(), max_iter=3)
    with pytest.warns(ToleranceWarning):  # the penalty is small
        model.fit(X[train], y[train], sensitive_features=group[train])
    splits = {
        part: splits_entry(
            y[rows],
            model.predict(X[rows]),
            model.predict_proba(X[rows])[:, 1],
            sensitive_features=group[rows],
            target="yes",
            constraint=constraint,
            train=part == "train",
        )
        for part, rows in (("train", train), ("test", test))
    }
    frame = pd.DataFrame(X, columns=["a", "b"])
    return metrics(
        data=data_entry("made-up", frame, y, encode_groups(group)),
        config={
            "target": "hired",
            "positive": "yes",
            "protected": ("sex",),
            "constraint": "my_module:Rejection",
            "method": "my_module:Gentle",
            "tol": constraint.tol,
            "seed": 0,
        },
        measure=describe(constraint, "hired = yes"),
        splits=splits,
    ), model


def test_facts_say_what_the_class_says(run):
    pytest.importorskip("huggingface_hub")
    recorded, _ = run
    facts = gather([recorded])
    sentence = "The share of people not predicted hired = yes may differ between groups by at most 2 points."
    assert facts["constraint"] == {
        "name": "rejection",
        "key": "rejection",
        "title": "rejection gap",
        "sentence": sentence,
        "kind": "difference",
        "reference": None,
        "rates": ["rejection, all"],
        "tol": 0.02,
    }
    assert facts["models"][0]["name"] == "fair model (my_module:Gentle)"
    gap = Measure("rejection", **recorded["splits"]["test"]["rejection"])
    assert facts["title"] == "made-up: does the model treat sex F and sex M alike (rejection)?"
    assert f"The gap is {gap}".replace(" %", " points") in facts["verdict"]["text"]
    assert "Asked for: at most 2 points." in facts["verdict"]["text"]
    assert facts["rates"]["rejection, all"]["meaning"] == (
        "true negatives and false negatives, as a share of all people"
    )
    for group in facts["models"][0]["groups"]:
        rejected, selected = (group["rates"][rate]["value"] for rate in ("rejection, all", "selection"))
        assert rejected == pytest.approx(1 - selected, abs=1e-4)
    text = model_card(facts)
    assert escape(sentence) in text
    metadata = text.split("---")[1]
    assert "type: rejection" in metadata
    assert "test rejection gap" in metadata


def test_page_moves_the_threshold_of_its_own_measure(show, run, test_rows):
    recorded, model = run
    page = show(recorded)
    X, y, group = (rows[1000:] for rows in test_rows)
    page.locator("#closer summary").click()
    page.locator("#threshold").focus()
    page.keyboard.press("Home")
    threshold = gather([recorded])["models"][0]["scores"]["edges"][0]
    predicted = np.where(model.predict_proba(X)[:, 1] >= threshold, "yes", "no")
    rates = group_rates(y, predicted, sensitive_features=group, target="yes")
    expected = measure_of(Rejection, rates).value
    assert float(page.locator("#threshold-gap").get_attribute("data-gap")) == pytest.approx(expected, abs=1e-12)
    assert "Gap (rejection gap) at this threshold" in page.locator("#threshold-gap").inner_text()
    assert "rejection, all" in page.locator("#rates").text_content()


def test_what_a_run_does_not_record_is_refused(run, trained):
    recorded, _ = run
    with pytest.raises(InputError, match="trained has the constraint deo, made-up has rejection"):
        gather([recorded, trained])
    with pytest.raises(InputError, match="made-up does not say what 'my_module:Rejection' measures"):
        gather([{key: value for key, value in recorded.items() if key != "measure"}])
