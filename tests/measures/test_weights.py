"""Rows that stand for several people each."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, zero_one_loss
from sklearn.model_selection import cross_validate

import sklearn
from fairalm import measures
from fairalm._validation import Groups
from fairalm.exceptions import InputError
from fairalm.measures import MEASURES, RATES, group_rates, make_gap_scorer, measure_all, rate_interval, splits_entry
from fairalm.measures.compared import FEW


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    group, y = rng.choice(["a", "b", "c"], 600), rng.integers(0, 2, 600)
    return y, np.where(rng.random(600) < 0.7, y, 1 - y), group, rng.lognormal(0, 0.8, 600)


def figures(measure):
    return measure.value, measure.low, measure.high, measure.n, measure.n_min, measure.signed, measure.note


def test_rates_are_weighted_means(people):
    y, h, group, w = people
    rates = group_rates(y, h, sensitive_features=group, sample_weight=w)
    for code, name in enumerate("abc"):
        own = group == name
        tn, fp, fn, tp = confusion_matrix(y[own], h[own], sample_weight=w[own]).ravel()
        assert rates.value("tpr")[code] == pytest.approx(tp / (tp + fn))
        assert rates.value("fdr")[code] == pytest.approx(fp / (tp + fp))
        assert rates.value("selection")[code] == pytest.approx((tp + fp) / w[own].sum())
        assert rates.tp[code] == ((y == 1) & (h == 1) & own).sum()  # counts are of rows
    error = measures.error(y, h, sample_weight=w)
    assert error.value == pytest.approx(zero_one_loss(y, h, sample_weight=w))
    assert error.n == 600


def test_the_interval_is_that_of_kishs_effective_size(people):
    y, h, group, w = people
    rates = group_rates(y, h, sensitive_features=group, sample_weight=w)
    k, n = rates.effective("tpr")
    for code, name in enumerate("abc"):
        own = w[(group == name) & (y == 1)]
        assert n[code] == pytest.approx(own.sum() ** 2 / (own**2).sum())
        assert k[code] == pytest.approx(n[code] * rates.value("tpr")[code])
    entry = splits_entry(y, h, sensitive_features=group, sample_weight=w)
    shown = entry["groups"]["b"]["rates"]["tpr"]
    assert (shown["low"], shown["high"]) == pytest.approx(rate_interval(k[1], n[1]))
    size = w.sum() ** 2 / (w**2).sum()
    low, high = rate_interval(entry["error"]["value"] * size, size)
    assert (entry["error"]["low"], entry["error"]["high"]) == pytest.approx((low, high))


@pytest.mark.parametrize("unit", [1, 2, 0.1, 1 / 3, 1e-9, 1e200])
@pytest.mark.parametrize("attributes", ["crossed", "separate"])
def test_equal_weights_change_no_figure(people, unit, attributes):
    y, h, group, _ = people
    columns = {"group": group, "half": np.arange(600) % 2}
    plain = measure_all(y, h, sensitive_features=columns, attributes=attributes)
    equal = measure_all(y, h, sensitive_features=columns, attributes=attributes, sample_weight=np.full(600, unit))
    for name in MEASURES:
        assert figures(equal[name]) == figures(plain[name]), name  # exactly


@pytest.mark.parametrize("unit", [1000, 1e-6])
def test_the_unit_of_weights_does_not_matter(people, unit):
    y, h, group, w = people
    one, other = (measure_all(y, h, sensitive_features=group, sample_weight=each) for each in (w, unit * w))
    for name in MEASURES:
        assert (one[name].value, one[name].low, one[name].high) == pytest.approx(
            (other[name].value, other[name].low, other[name].high), rel=1e-9
        )


def test_uneven_weights_widen_the_interval(people):
    y, h, group, w = people
    plain, weighted = (measures.deo(y, h, sensitive_features=group, sample_weight=each) for each in (None, w))
    assert weighted.high - weighted.low > 1.2 * (plain.high - plain.low)
    assert (weighted.n, weighted.n_min) == (plain.n, plain.n_min)


def test_rows_of_weight_zero_are_left_out(people):
    y, h, group, w = people
    w = np.where(np.arange(600) < 100, 0.0, w)
    all_rows = measure_all(y, h, sensitive_features=group, sample_weight=w)
    fewer = measure_all(y[100:], h[100:], sensitive_features=group[100:], sample_weight=w[100:])
    assert all_rows == fewer
    gone = measures.deo(y, h, sensitive_features=group, sample_weight=np.where(group == "c", 0, w))
    assert gone.note.startswith("left out: 0 rows in c")
    marked = Groups(np.where(np.arange(600) < 100, -1, 0) + (group == "b") * (np.arange(600) >= 100), ("x", "b"))
    assert measures.ddp(y, h, sensitive_features=marked, sample_weight=w).n == 500


def test_a_cell_that_a_few_rows_outweigh_is_called_small():
    y, group = np.ones(60, int), np.repeat(["F", "M"], 30)
    w = np.where(np.arange(60) < 2, 1000.0, 1.0)
    measure = measures.deo(y, y, sensitive_features=group, sample_weight=w)
    assert measure.note == "small cell: 30 rows (worth 2 by their weights) in F, y=1" + FEW
    few = measures.error(y[:30], y[:30], sample_weight=w[:30])
    assert few.note == "small cell: 30 rows (worth 2 by their weights)" + FEW


def test_the_entry_has_rows_and_sums_of_weights(people):
    y, h, group, w = people
    entry = json.loads(json.dumps(splits_entry(y, h, h * 0.5, sensitive_features=group, sample_weight=w)))
    own = (group == "a") & (y == 1)
    assert entry["groups"]["a"]["tp"] == (own & (h == 1)).sum()
    assert entry["groups"]["a"]["weights"]["fn"] == pytest.approx(w[own & (h == 0)].sum())
    assert entry["groups"]["a"]["rates"].keys() == RATES.keys()
    assert entry["groups"]["a"]["rates"]["tpr"]["n"] == own.sum()
    assert entry["deo"] == measures.deo(y, h, sensitive_features=group, sample_weight=w).to_dict()
    assert "weights" not in splits_entry(y, h, sensitive_features=group)["groups"]["a"]


def test_scorers_take_weights_directly_and_by_routing(people):
    y, h, group, w = people
    X = np.column_stack([h, np.arange(600) % 7])
    model = LogisticRegression().fit(X, y)
    expected = measures.ddp(y, model.predict(X), sensitive_features=group, sample_weight=w).value
    assert make_gap_scorer("ddp")(model, X, y, sensitive_features=group, sample_weight=w) == -expected
    with sklearn.config_context(enable_metadata_routing=True):
        routed = LogisticRegression().set_fit_request(sample_weight=True)
        params = {"sensitive_features": group, "sample_weight": w}
        scores = cross_validate(routed, X, y, scoring={"ddp": make_gap_scorer("ddp")}, params=params, cv=2)
        unweighted = cross_validate(
            routed, X, y, scoring={"ddp": make_gap_scorer("ddp")}, params=params | {"sample_weight": np.ones(600)}, cv=2
        )
    assert not np.allclose(scores["test_ddp"], unweighted["test_ddp"])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1], "`sample_weight` has 2 rows, the data has 3: pass one weight per row"),
        ([1, -1, -2], "has 2 negative values, the first is -1.0: a weight says how many people"),
        ([1, np.nan, 1], "has 1 missing or infinite value, the first is nan"),
        ([1, np.inf, 1], "has 1 missing or infinite value, the first is inf"),
        ([0, 0, 0], "is zero for every row"),
        (["a", "b", "c"], "must hold numbers"),
        ([[1], [1], [1]], r"must be one column; got shape \(3, 1\)"),
        (pd.Series([1, None, 2]), "has 1 missing or infinite value"),
    ],
)
@pytest.mark.parametrize("measure", [measures.ddp, splits_entry, measure_all, group_rates])
def test_bad_weights_are_refused(weight, message, measure):
    with pytest.raises(InputError, match=message):
        measure([1, 0, 1], [1, 0, 0], sensitive_features=["a", "b", "a"], sample_weight=weight)


def test_weights_in_another_order_are_refused(people):
    y, h, group, w = people
    shuffled = pd.Series(w).sample(frac=1, random_state=0)
    for measure in (measures.ddp, splits_entry):
        with pytest.raises(InputError, match="sample_weight and y_true have different indexes"):
            measure(pd.Series(y), h, sensitive_features=group, sample_weight=shuffled)
