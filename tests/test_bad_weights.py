"""Weights that stand for no number of people are refused before any work, at every place that takes weights."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairalm import FairALMClassifier, FrontierClassifier, InputError
from fairalm.boost import FairLGBMClassifier, FairXGBClassifier
from fairalm.measures import deo, group_rates, label_rates, make_gap_scorer, measure_all, paired_changes

rng = np.random.default_rng(0)
N = 400
X = rng.normal(size=(N, 3))
group = rng.integers(0, 2, N)
y = (X[:, 0] + 0.5 * group + rng.normal(size=N) > 0).astype(int)
first = np.arange(N) < 5
predicted = (X[:, 0] > 0).astype(int)

CLASSIFIERS = {
    "algorithm 1": FairALMClassifier(LogisticRegression()),
    "frontier": FrontierClassifier(LogisticRegression()),
    "lightgbm": FairLGBMClassifier(),
    "xgboost": FairXGBClassifier(),
}
MEASURES = {
    "group_rates": lambda **given: group_rates(y, predicted, **given),
    "label_rates": lambda **given: label_rates(y + predicted, y, **given),
    "deo": lambda **given: deo(y, predicted, **given),
    "measure_all": lambda **given: measure_all(y, predicted, **given),
    "paired_changes": lambda **given: paired_changes(y, predicted, 1 - predicted, **given),
    "scorer": lambda **given: make_gap_scorer("deo")(LogisticRegression().fit(X, y), X, y, **given),
}
BAD = [
    (np.where(first, -1.0, 1.0), "5 negative values"),
    (np.where(first, np.nan, 1.0), "5 missing or infinite values"),
    (np.where(first, np.inf, 1.0), "5 missing or infinite values"),
    (np.zeros(N), "zero for every row"),
    (np.ones(N - 1), f"{N - 1} rows"),
    (np.ones((N, 1)), "must be one column"),
    (["heavy"] * N, "must hold numbers"),
]


@pytest.mark.parametrize(("weight", "message"), [*BAD, (np.full(N, 1e308), "more than a float can hold")])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_bad_weights_are_refused(kind, weight, message):
    if kind in ("lightgbm", "xgboost"):
        pytest.importorskip(kind)
    before = np.array(weight)
    with pytest.raises(InputError, match=message):
        CLASSIFIERS[kind].fit(X, y, sensitive_features=group, sample_weight=weight)
    np.testing.assert_array_equal(weight, before)


@pytest.mark.parametrize(("weight", "message"), BAD)
@pytest.mark.parametrize("name", MEASURES)
def test_measures_refuse_bad_weights(name, weight, message):
    with pytest.raises(InputError, match=message):
        MEASURES[name](sensitive_features=group, sample_weight=weight)


@pytest.mark.parametrize("name", MEASURES)
def test_measures_of_vast_weights_are_exact(name):
    vast, ones = (MEASURES[name](sensitive_features=group, sample_weight=np.full(N, w)) for w in (1e308, 1.0))
    assert repr(vast).replace("1e+308", "1.0") == repr(ones)


@pytest.mark.parametrize("kind", ["algorithm 1", "frontier"])
def test_a_group_whose_rows_all_weigh_nothing_is_empty(kind):
    with pytest.raises(InputError, match="Group '1' has no rows with y=1"):
        CLASSIFIERS[kind].fit(X, y, sensitive_features=group, sample_weight=1.0 * (group == 0))
