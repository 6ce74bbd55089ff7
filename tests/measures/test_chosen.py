"""The interval of a measure that a model was chosen by."""

import json

import numpy as np
import pytest

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity
from fairalm.exceptions import InputError
from fairalm.measures import chosen_measure, describe, group_rates, measure_of, rates_entry, splits_entry

RNG = np.random.default_rng(0)
Y, PREDICTED, GROUP = (RNG.integers(2, size=400) for _ in range(3))
WEIGHT = RNG.lognormal(size=400)


@pytest.mark.parametrize("constraint", [EqualizedOdds(), DemographicParity(ratio=0.8), EqualOpportunity(reference="1")])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_an_entry_from_json_gives_the_measure_again(constraint, weight):
    given = {"sensitive_features": GROUP.astype(str), "sample_weight": weight}
    entry = json.loads(json.dumps(splits_entry(Y, PREDICTED, constraint=constraint, **given)))
    described = json.loads(json.dumps(describe(constraint, "label")))
    measure = chosen_measure(entry, described, 1)
    for which in (constraint, described):
        assert vars(chosen_measure(entry, which, 1)) == vars(measure)
    stored = entry[measure.name]
    assert (measure.value, measure.low, measure.high) == pytest.approx((stored["value"], stored["low"], stored["high"]))


def test_only_the_end_of_a_worse_model_moves():
    rates = group_rates(Y, PREDICTED, sensitive_features=GROUP)
    for name in ("deo", "dp_ratio"):
        plain, chosen = measure_of(name, rates), measure_of(name, rates, n_models=20)
        strict = measure_of(name, rates, level=0.95 ** (1 / 20))
        expected = (strict.low, plain.high) if name == "dp_ratio" else (plain.low, strict.high)
        assert (chosen.low, chosen.high) == expected
        assert chosen.value == plain.value


def test_separate_attributes_are_read_back():
    columns = {"sex": GROUP, "half": [0, 1] * 200}
    rates = group_rates(Y, PREDICTED, sensitive_features=columns, attributes="separate")
    assert vars(chosen_measure(rates_entry(rates), "ddp", 5)) == vars(measure_of("ddp", rates, n_models=5))


def test_no_models_are_refused():
    with pytest.raises(InputError, match="1 or more; got 0"):
        chosen_measure(splits_entry(Y, PREDICTED, sensitive_features=GROUP), "deo", 0)


def test_the_smallest_of_twenty_gaps_is_covered():
    """Twenty models with a true gap of 10 points; the one that looks best is chosen, 200 times."""
    rng, n = np.random.default_rng(0), np.array([400, 400])
    covered = {1: 0, 20: 0}
    for _ in range(200):
        k = rng.binomial(n, [0.6, 0.5], (20, 2))
        best = k[abs(k[:, 0] - k[:, 1]).argmin()]
        y = np.repeat([1, 0, 1, 0], [best[0], n[0] - best[0], best[1], n[1] - best[1]])
        rates = group_rates(y, y, sensitive_features=np.repeat([0, 1], n), target=1)
        for n_models in covered:
            measure = measure_of("ddp", rates, n_models=n_models)
            covered[n_models] += measure.low <= 0.1 <= measure.high
    assert covered[1] < 140
    assert covered[20] >= 186
