"""Several protected attributes, each on its own, through the classifier."""

import warnings

import numpy as np
import pandas as pd
import pytest

import fairalm
from fairalm import EqualizedOdds, EqualOpportunity, FairALMClassifier, LevellingDownWarning


def people(n=6000, seed=0):
    """Labels that both attributes have at different rates, features that leak them."""
    rng = np.random.default_rng(seed)
    sex, race = rng.integers(2, size=n), rng.integers(3, size=n)
    y = (rng.random(n) < 0.25 + 0.2 * sex + 0.12 * race).astype(int)
    X = np.column_stack([1.5 * y + rng.normal(size=n), sex, race, rng.normal(size=n)])
    frame = pd.DataFrame({"sex": np.where(sex, "M", "F"), "race": np.array(["a", "b", "c"])[race]})
    return X, y, frame


def gaps(y, predicted, frame):
    """Largest difference in the true positive rate between two groups of each column."""
    having = y == 1
    return [np.ptp([predicted[having & (frame[c] == v)].mean() for v in frame[c].unique()]) for c in frame]


@pytest.mark.parametrize("predictor", ["single", "mixture"])
def test_each_attribute_is_within_the_tolerance(predictor):
    X, y, frame = people()
    settings = {"attributes": "separate", "predictor": predictor, "random_state": 0}
    model = FairALMClassifier(constraint=EqualOpportunity(tol=0.03), **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fairalm.FairALMWarning)
        model.fit(X, y, sensitive_features=frame)
    plain = FairALMClassifier(method="unconstrained").fit(X, y, sensitive_features=frame["sex"])
    assert min(gaps(y, plain.predict(X), frame)) > 0.1
    members = sum(w * m.predict(X) for w, m in zip(model.weights_, model.estimators_, strict=True))
    ours = gaps(y, members, frame)
    assert max(ours) == pytest.approx(model.gap_)
    assert model.gap_ <= 0.03 + 1e-9
    assert model.dual_.shape == (1, 5)
    rates = model.rates_["tpr"].to_numpy()
    assert np.ptp(rates[:2]) == pytest.approx(ours[0])
    assert np.ptp(rates[2:]) == pytest.approx(ours[1])
    assert model.history_["gap"][0] == pytest.approx(max(gaps(y, plain.predict(X), frame)))


def test_one_attribute_on_its_own_is_one_attribute():
    X, y, frame = people()
    for column in ("sex", "race"):
        one = FairALMClassifier(constraint=EqualOpportunity(tol=0.03)).fit(X, y, sensitive_features=frame[column])
        same = FairALMClassifier(constraint=EqualOpportunity(tol=0.03), attributes="separate")
        same.fit(X, y, sensitive_features=frame[[column]])
        np.testing.assert_array_equal(one.predict(X), same.predict(X))
        assert one.gap_ == pytest.approx(same.gap_)


def test_order_of_the_attributes_does_not_matter():
    X, y, frame = people()
    models = []
    for columns in (["sex", "race"], ["race", "sex"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LevellingDownWarning)
            model = FairALMClassifier(constraint=EqualizedOdds(tol=0.04), attributes="separate")
            models.append(model.fit(X, y, sensitive_features=frame[columns]))
    assert models[0].gap_ == pytest.approx(models[1].gap_)
    assert models[0].error_ == pytest.approx(models[1].error_)
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
