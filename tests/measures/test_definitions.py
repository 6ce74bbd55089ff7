"""Measures of any constraint, also of one that is defined here."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from fairalm import EqualizedOdds, EqualOpportunity, PredictiveParity
from fairalm.cells import Event
from fairalm.constraints import CONSTRAINTS, Constraint
from fairalm.exceptions import InputError
from fairalm.measures import (
    MEASURES,
    RATES,
    definition_of,
    describe,
    group_rates,
    make_gap_scorer,
    measure_all,
    measure_of,
    range_interval,
    splits_entry,
)
from fairalm.measures.compared import FEW


@dataclass(frozen=True, kw_only=True)
class RejectedRight(Constraint):
    """Equal shares of right decisions among rejected people."""

    def events(self, y):
        positive = 1.0 * y
        return (
            Event("rejected", base=1.0 - positive, sign=positive - 1.0, over_base=1 - positive, over_sign=2 * y - 1),
        )


@dataclass(frozen=True, kw_only=True)
class Rejection(Constraint):
    """Equal shares of rejected people, and equal error among those with the target."""

    def events(self, y):
        positive = 1.0 * y
        return (Event("all", base=1.0 - positive, sign=2.0 * positive - 1.0), Event("y=target", mask=y))


@dataclass(frozen=True, kw_only=True)
class Costs(Constraint):
    """Equal mean cost, where missing the target costs five."""

    def events(self, y):
        return (Event("all", sign=1.0 + 4.0 * y),)


@dataclass(frozen=True, kw_only=True)
class Error(Constraint):
    """A name that is taken."""

    def events(self, y):
        return (Event("y=target", mask=y),)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, 400), rng.integers(0, 2, 400), rng.choice(["F", "M", "X"], 400)


def test_built_in_constraints_are_the_registered_measures(rows):
    rates = group_rates(rows[0], rows[1], sensitive_features=rows[2])
    expected = {
        "deo": ["fnr"],
        "fpr_gap": ["fpr"],
        "equalized_odds": ["fnr", "fpr"],
        "error_parity": ["error"],
        "ddp": ["selection"],
        "predictive_parity": ["fdr"],
    }
    for constraint in CONSTRAINTS.values():
        definition = definition_of(constraint)
        assert definition is MEASURES[constraint.measure]
        assert definition.rates == {rate: RATES[rate] for rate in expected[constraint.measure]}
        assert definition.title == constraint.title
        for which in (constraint, constraint(tol=0.2)):
            assert measure_of(which, rates) == measure_of(constraint.measure, rates)


def test_own_constraint_is_measured_as_its_events_say(rows):
    y, predicted, group = rows
    measured = measure_all(y, predicted, sensitive_features=group, constraint=Rejection())
    assert list(measured) == [*MEASURES, "rejection"]
    rejected = [np.mean(predicted[group == name] == 0) for name in "FMX"]
    missed = [np.mean(predicted[(group == name) & (y == 1)] == 0) for name in "FMX"]
    ours = measured["rejection"]
    assert ours.value == pytest.approx(max(np.ptp(rejected), np.ptp(missed)))
    k = [[np.sum((group == name) & (predicted == 0)) for name in "FMX"]]
    k += [[np.sum((group == name) & (predicted == 0) & (y == 1)) for name in "FMX"]]
    n = [[np.sum(group == name) for name in "FMX"], [np.sum((group == name) & (y == 1)) for name in "FMX"]]
    assert (ours.low, ours.high) == range_interval(k, n)
    assert list(definition_of(Rejection).rates) == ["rejection, all", "fnr"]


def test_a_rate_over_predictions_is_read_off_its_denominator(rows):
    y, predicted, group = rows
    measure = measure_all(y, predicted, sensitive_features=group, constraint=RejectedRight())["rejected_right"]
    right = [np.mean(y[(group == name) & (predicted == 0)] == 0) for name in "FMX"]
    assert measure.value == pytest.approx(np.ptp(right))
    few = measure_all([1, 0, 0], [0, 0, 1], sensitive_features=list("FMM"), constraint=RejectedRight())
    assert few["rejected_right"].note == "small cell: 1 row in F, not predicted 1; 1 row in M, not predicted 1" + FEW


def test_entry_and_scorer_take_one_too(rows):
    y, predicted, group = rows
    entry = splits_entry(y, predicted, sensitive_features=group, constraint=Rejection(), train=True)
    measured = measure_all(y, predicted, sensitive_features=group, constraint=Rejection(), train=True)
    assert entry["rejection"] == measured["rejection"].to_dict()
    assert splits_entry(y, predicted, sensitive_features=group, constraint=EqualOpportunity()).keys() == {
        *MEASURES,
        "groups",
    }

    class Model:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return predicted

    scorer = make_gap_scorer(Rejection())
    assert scorer(Model(), np.zeros((400, 1)), y, sensitive_features=group) == -measured["rejection"].value


def test_describe_says_all_that_a_page_needs():
    facts = describe(Rejection(tol=0.02), "hired = yes")
    assert (
        json.loads(json.dumps(facts))
        == facts
        == {
            "name": "rejection",
            "key": "rejection",
            "title": "rejection gap",
            "sentence": (
                'Each of the rates in "Equal shares of rejected people, and equal error among those with the target"'
                " may differ between groups by at most 2 points."
            ),
            "kind": "difference",
            "reference": None,
            "rates": ["rejection, all", "fnr"],
            "definitions": {
                "rejection, all": [["tn", "fn"], ["tp", "fp", "tn", "fn"]],
                "fnr": [["fn"], ["tp", "fn"]],
            },
        }
    )
    assert describe(EqualizedOdds(), "a = 1")["rates"] == ["fnr", "fpr"]
    assert describe(PredictiveParity(), "a = 1")["definitions"] == {"fdr": [["fp"], ["tp", "fp"]]}
    assert describe(EqualOpportunity(), "a = {tol}")["sentence"].startswith("Among people with a = {tol}, the share")


def test_what_cannot_be_measured_is_refused(rows):
    with pytest.raises(InputError, match=r"Costs cannot be measured .* 'all' is not a share of rows.*fn 5 of 1"):
        definition_of(Costs())
    with pytest.raises(InputError, match="measure of Error is called 'error', as another one is"):
        measure_all(rows[0], rows[1], sensitive_features=rows[2], constraint=Error())
