"""Another point for `predict`, and the models that the curve is compared with."""

import numpy as np
import pytest

from fairalm import EqualOpportunity, FrontierClassifier
from fairalm.measures import measure_all


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 1200)
    X = rng.normal(size=(1200, 2)) + 0.7 * (group == "a")[:, None]
    y = (X[:, 0] + rng.normal(size=1200) > 0.3).astype(int)
    return X, y, group


@pytest.fixture
def fitted(data):
    X, y, group = data
    return FrontierClassifier(constraint=EqualOpportunity(tol=0.02), random_state=0).fit(X, y, sensitive_features=group)


def test_predict_uses_the_point_that_was_chosen(fitted, data):
    X = data[0]
    before, other = fitted.predict(X), fitted.at(tol=0.5, cost_fn=3)
    assert fitted.use(tol=0.5, cost_fn=3) is fitted
    np.testing.assert_array_equal(fitted.predict(X), other.predict(X))
    assert (fitted.error_, fitted.gap_, fitted.certificate_) == (other.error_, other.gap_, other.certificate_)
    assert not np.array_equal(before, fitted.predict(X))
    np.testing.assert_array_equal(fitted.use().predict(X), before)


def test_baselines(fitted, data):
    X, y, group = data
    table = fitted.baselines_.set_index("model")
    assert list(table.index) == ["plain", "everyone", "nobody"]
    for name, predicted in (("everyone", np.ones_like(y)), ("nobody", np.zeros_like(y))):
        measured = measure_all(y, predicted, sensitive_features=group)
        assert table.loc[name, "error"] == pytest.approx(measured["error"].value)
        assert (table.loc[name, "gap_low"], table.loc[name, "gap_high"]) == pytest.approx(
            (measured["deo"].low, measured["deo"].high)
        )
    assert table.loc["plain", "error"] == pytest.approx((fitted.estimator_.predict(X) != y).mean(), abs=0.02)
    assert set(table.columns) < set(fitted.frontier_.columns)
