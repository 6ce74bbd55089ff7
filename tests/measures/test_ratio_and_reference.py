"""The measures of constraints with a ratio or a reference group."""

import numpy as np
import pytest

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity, InputError
from fairalm.measures import (
    definition_of,
    describe,
    group_rates,
    limit_of,
    measure_all,
    measure_of,
    range_interval,
    ratio_interval,
)

NAMES, SELECTED = ("a", "b", "c"), (30, 45, 60)  # of 100 people each, half of whom have the label


@pytest.fixture
def rates():
    y, predicted, group = [], [], []
    for name, n in zip(NAMES, SELECTED, strict=True):
        y += [1] * 50 + [0] * 50
        predicted += [1] * (n // 2) + [0] * (50 - n // 2) + [1] * (n - n // 2) + [0] * (50 - n + n // 2)
        group += [name] * 100
    return group_rates(y, predicted, sensitive_features=group)


def test_a_ratio_of_any_two(rates):
    measure = measure_of(DemographicParity(ratio=0.8), rates)
    low, high = ratio_interval(SELECTED, [100] * 3)
    assert (measure.name, measure.value) == ("ddp_shortfall", pytest.approx(1 - 30 / 60))
    assert (measure.low, measure.high) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize(("reference", "value"), [("a", 0.0), ("b", 1 - 30 / 45), ("c", 1 - 30 / 60)])
def test_a_ratio_to_a_reference(rates, reference, value):
    measure = measure_of(DemographicParity(ratio=0.8, reference=reference), rates)
    assert measure.value == pytest.approx(value)
    assert 0 <= measure.low <= measure.value <= measure.high <= 1


@pytest.mark.parametrize(("reference", "value"), [("a", 0.3), ("b", 0.15), ("c", 0.3)])
def test_a_difference_from_a_reference(rates, reference, value):
    measure = measure_of(DemographicParity(reference=reference), rates)
    assert (measure.name, measure.value) == ("ddp_to_reference", pytest.approx(value))
    assert measure.low <= measure.value <= measure.high
    assert measure.high <= measure_of(DemographicParity(), rates).high


def test_two_groups_have_the_same_interval_with_and_without_a_reference():
    pairs = np.array([[[False, True], [False, False]]])
    assert range_interval([30, 45], [100, 100]) == pytest.approx(
        range_interval([30, 45], [100, 100], pairs=pairs | pairs.swapaxes(1, 2))
    )
    assert ratio_interval([30, 45], [100, 100]) == pytest.approx(ratio_interval([30, 45], [100, 100], pairs=pairs))


def test_the_ratio_is_of_shares_predicted_as_the_target(rates):
    assert list(definition_of(EqualOpportunity(ratio=0.8)).rates) == ["tpr"]
    assert list(definition_of(EqualizedOdds(ratio=0.8)).rates) == ["tpr", "fpr"]
    assert list(definition_of(DemographicParity(ratio=0.8)).rates) == ["selection"]
    assert measure_of(EqualOpportunity(ratio=0.8), rates).value == pytest.approx(1 - 15 / 30)


def test_a_reference_rate_of_zero():
    y, predicted, group = [1, 0] * 20, [1, 0] * 10 + [0, 0] * 10, ["a"] * 20 + ["b"] * 20
    rates = group_rates(y, predicted, sensitive_features=group)
    assert measure_of(DemographicParity(ratio=0.8, reference="b"), rates).value == 0
    assert measure_of(DemographicParity(ratio=0.8), rates).value == 1
    nobody = group_rates(y, [0] * 39 + [0], sensitive_features=group, target=1)
    assert measure_of(DemographicParity(ratio=0.8), nobody).value is None


def test_several_attributes_keep_their_own_pairs():
    rng = np.random.default_rng(0)
    y, columns = rng.integers(0, 2, 400), {"sex": rng.choice(["F", "M"], 400), "age": rng.choice(["old", "young"], 400)}
    predicted = np.where(columns["age"] == "old", y, 1)
    settings = {"sensitive_features": columns, "attributes": "separate"}
    by_age = measure_all(y, predicted, constraint=DemographicParity(), **settings)["ddp"]
    own = measure_all(y, predicted, constraint=DemographicParity(reference="sex = F"), **settings)["ddp_to_reference"]
    assert own.value == pytest.approx(by_age.value)  # of the ages, which the reference has no part in


def test_words_and_limits():
    ratio = DemographicParity(ratio=0.8, reference="a")
    assert limit_of(ratio) == pytest.approx(0.2)
    assert limit_of(DemographicParity(tol=0.03, reference="a")) == 0.03
    facts = describe(ratio, "hired = yes")
    assert facts["sentence"] == "The share predicted hired = yes of each group is at least 0.8 times that of a."
    assert (facts["title"], facts["kind"], facts["reference"]) == ("1 - selection ratio to a", "shortfall", "a")
    sentence = describe(EqualOpportunity(ratio=0.9), "hired = yes")["sentence"]
    assert sentence == "The true positive rate of each group is at least 0.9 times that of any other."
    sentence = describe(DemographicParity(tol=0.05, reference="a"), "hired = yes")["sentence"]
    assert sentence == "The share predicted hired = yes may differ from that of a by at most 5 points."


def test_an_unknown_reference(rates):
    with pytest.raises(InputError, match="There is no group 'd'; there are: a, b, c"):
        measure_of(DemographicParity(reference="d"), rates)
