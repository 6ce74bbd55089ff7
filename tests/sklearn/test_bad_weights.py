"""Weights that stand for no number of people are refused before any fit, by every classifier alike."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairalm import FairALMClassifier, FrontierClassifier, InputError
from fairalm.boost import FairLGBMClassifier

rng = np.random.default_rng(0)
N = 400
X = rng.normal(size=(N, 3))
group = rng.integers(0, 2, N)
y = (X[:, 0] + 0.5 * group + rng.normal(size=N) > 0).astype(int)
first = np.arange(N) < 5

CLASSIFIERS = {
    "algorithm 1": FairALMClassifier(LogisticRegression()),
    "frontier": FrontierClassifier(LogisticRegression()),
    "boosting": FairLGBMClassifier(),
}


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.where(first, -1.0, 1.0), "5 negative values"),
        (np.where(first, np.nan, 1.0), "5 missing or infinite values"),
        (np.where(first, np.inf, 1.0), "5 missing or infinite values"),
        (np.zeros(N), "zero for every row"),
        (np.full(N, 1e308), "more than a float can hold"),
        (np.ones(N - 1), f"has {N - 1} rows"),
        (np.ones((N, 1)), "must be one column"),
        (["heavy"] * N, "must hold numbers"),
    ],
)
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_bad_weights_are_refused(kind, weight, message):
    if kind == "boosting":
        pytest.importorskip("lightgbm")
    before = np.array(weight)
    with pytest.raises(InputError, match=message):
        CLASSIFIERS[kind].fit(X, y, sensitive_features=group, sample_weight=weight)
    np.testing.assert_array_equal(weight, before)


@pytest.mark.parametrize("kind", ["algorithm 1", "frontier"])
def test_a_group_whose_rows_all_weigh_nothing_is_empty(kind):
    with pytest.raises(InputError, match="Group '1' has no rows with y=1"):
        CLASSIFIERS[kind].fit(X, y, sensitive_features=group, sample_weight=1.0 * (group == 0))
