"""Measures of more than two labels."""

import numpy as np
import pytest

from fairalm import DemographicParity, InputError
from fairalm.measures import group_rates, label_rates, measure_all, measure_of

RNG = np.random.default_rng(0)
TRUE, PRED, GROUP = (RNG.integers(n, size=900) for n in (3, 3, 4))


def test_each_label_against_the_rest():
    rates = label_rates(TRUE, PRED, sensitive_features=GROUP)
    for label, own in rates.each.items():
        alone = group_rates(label == TRUE, label == PRED, sensitive_features=GROUP, target=True)
        for name in ("tp", "fp", "tn", "fn"):
            np.testing.assert_array_equal(getattr(own, name), getattr(alone, name))


def test_the_worst_label_counts():
    rates = label_rates(TRUE, PRED, sensitive_features=GROUP)
    found = measure_all(TRUE, PRED, sensitive_features=GROUP)
    assert found["error"].value == np.mean(TRUE != PRED)
    errors = [np.mean((TRUE != PRED)[s == GROUP]) for s in range(4)]
    assert found["error_parity"].value == pytest.approx(max(errors) - min(errors))
    for name in ("deo", "ddp", "equalized_odds", "predictive_parity"):
        each = [measure_of(name, own) for own in rates.each.values()]
        assert found[name].value == max(own.value for own in each)
        assert found[name].high == max(own.high for own in each)  # any label may be the worst
        assert found[name].low <= max(own.low for own in each)
        assert found[name].n <= 900
    assert found["dp_ratio"].value == min(measure_of("dp_ratio", own).value for own in rates.each.values())


def test_named_labels_and_weights():
    some = measure_all(TRUE, PRED, sensitive_features=GROUP, target=[0, 2], sample_weight=np.full(900, 3.0))
    each = [measure_of("ddp", group_rates(k == TRUE, k == PRED, sensitive_features=GROUP)).value for k in (0, 2)]
    assert some["ddp"].value == pytest.approx(max(each))
    only = measure_of(DemographicParity(reference=1), label_rates(TRUE, PRED, sensitive_features=GROUP, target=1))
    assert 0 <= only.value <= 1


@pytest.mark.parametrize(
    ("true", "pred", "target", "message"),
    [
        ([0, 1, 2], [0.2, 0.7, 1.0], None, "pass predicted labels, not scores"),
        (list("abc"), list("abc"), "d", "is not a label: there are 'a', 'b', 'c'"),
        ([0, 1, 2], list("abc"), None, "mix int and str"),
    ],
)
def test_refused(true, pred, target, message):
    with pytest.raises(InputError, match=message):
        measure_all(true, pred, sensitive_features=[0, 1, 0], target=target)
