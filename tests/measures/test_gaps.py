import json

import numpy as np
import pytest
from sklearn.metrics import precision_score, zero_one_loss

from fairalm import measures
from fairalm._validation import Groups
from fairalm.exceptions import InputError
from fairalm.measures import MEASURES, difference_interval, measure_all, rate_interval, ratio_interval
from fairalm.measures.compared import FEW


def sample(n_groups, n=600, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    y = rng.random(n) < 0.3 + 0.1 * group / n_groups
    return y.astype(int), (rng.random(n) < 0.2 + 0.4 * y + 0.1 * group / n_groups).astype(int), group


def frame_difference(metric, y_true, y_pred, group):
    metrics = pytest.importorskip("fairlearn.metrics")
    return metrics.MetricFrame(metrics=metric, y_true=y_true, y_pred=y_pred, sensitive_features=group).difference()


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_values_agree_with_fairlearn(n_groups, seed):
    y_true, y_pred, group = sample(n_groups, seed=seed)
    metrics = pytest.importorskip("fairlearn.metrics")
    theirs = {
        "deo": metrics.equal_opportunity_difference,
        "fpr_gap": metrics.false_positive_rate_difference,
        "equalized_odds": metrics.equalized_odds_difference,
        "ddp": metrics.demographic_parity_difference,
        "dp_ratio": metrics.demographic_parity_ratio,
        "deo_ratio": metrics.equal_opportunity_ratio,
        "equalized_odds_ratio": metrics.equalized_odds_ratio,
    }
    expected = {name: f(y_true, y_pred, sensitive_features=group) for name, f in theirs.items()}
    expected["error"] = np.mean(y_true != y_pred)
    expected["error_parity"] = frame_difference(zero_one_loss, y_true, y_pred, group)
    expected["predictive_parity"] = frame_difference(precision_score, y_true, y_pred, group)
    ours = measure_all(y_true, y_pred, sensitive_features=group)
    assert ours.keys() == expected.keys() == MEASURES.keys()
    for name, measure in ours.items():
        assert measure.value == pytest.approx(expected[name]), name
        assert measure.low <= measure.value <= measure.high


def test_each_function_is_its_entry_in_measure_all():
    y_true, y_pred, group = sample(3)
    together = measure_all(y_true, y_pred, sensitive_features=group, target=0, level=0.9)
    for name in MEASURES:
        alone = getattr(measures, name)(y_true, y_pred, sensitive_features=group, target=0, level=0.9)
        assert alone == together[name]


def test_signed_gap_is_group_zero_minus_group_one():
    y_true, y_pred, group = sample(2)
    measured = measure_all(y_true, y_pred, sensitive_features=group)
    missed = [np.mean(y_pred[(y_true == 1) & (group == g)] == 0) for g in (0, 1)]
    selected = [np.mean(y_pred[group == g]) for g in (0, 1)]
    assert measured["deo"].signed == pytest.approx(missed[0] - missed[1])
    assert measured["ddp"].signed == pytest.approx(selected[0] - selected[1])
    assert abs(measured["equalized_odds"].signed) == pytest.approx(measured["equalized_odds"].value)
    assert measured["dp_ratio"].signed is None
    assert measure_all(*sample(3)[:2], sensitive_features=sample(3)[2])["ddp"].signed is None


def test_intervals_are_those_of_the_counts():
    y_true, y_pred, group = sample(2)
    rates = measures.group_rates(y_true, y_pred, sensitive_features=group)
    measured = measures.measures_of(rates, level=0.9)
    k, n = rates.counts("fnr")
    low, high = difference_interval(k[0], n[0], k[1], n[1], 0.9)
    assert (measured["deo"].low, measured["deo"].high) == pytest.approx((max(low, -high, 0), max(high, -low)))
    assert (measured["deo"].n, measured["deo"].n_min) == (n.sum(), n.min())
    wrong, everyone = (counts.sum() for counts in rates.counts("error"))
    assert (measured["error"].low, measured["error"].high) == pytest.approx(rate_interval(wrong, everyone, 0.9))
    assert (measured["dp_ratio"].low, measured["dp_ratio"].high) == ratio_interval(*rates.counts("selection"), 0.9)
    assert measured["equalized_odds"].n == len(y_true)


def test_group_order_and_names_do_not_matter():
    y_true, y_pred, group = sample(3)
    renamed = np.array(["z", "m", "a"])[group]
    mine = measures.equalized_odds(y_true, y_pred, sensitive_features=group)
    other = measures.equalized_odds(y_true, y_pred, sensitive_features=renamed)
    assert (mine.value, mine.low, mine.high) == pytest.approx((other.value, other.low, other.high))


def test_training_data_has_no_interval_and_says_so():
    y_true, y_pred, group = sample(3)
    measure = measures.deo(y_true, y_pred, sensitive_features=group, train=True)
    assert (measure.low, measure.high, measure.split) == (None, None, "train")
    assert str(measure) == f"{100 * measure.value:.1f} % (train)"


def test_only_positives_leave_equal_opportunity_defined():
    measured = measure_all([1] * 40, [1, 0] * 20, sensitive_features=["F"] * 20 + ["M"] * 20)
    assert measured["deo"].value == 0
    assert measured["fpr_gap"].value is None
    assert str(measured["fpr_gap"]) == "undefined (0 rows in F, y≠1; 0 rows in M, y≠1)"
    assert measured["equalized_odds"].value is None
    assert measured["fpr_gap"].to_dict()["low"] is None


def test_an_empty_cell_of_two_groups_is_undefined_never_zero():
    measure = measures.deo(["+", "+", "-"], ["+", "-", "-"], sensitive_features=["F", "F", "M"], target="+")
    assert (measure.value, measure.low, measure.high, measure.n) == (None, None, None, 2)
    assert str(measure) == "undefined (0 rows in M, y=+)"


def test_an_empty_cell_of_three_groups_is_left_out_and_named():
    y_true, y_pred, group = sample(2)
    groups = Groups(group.astype(np.int64), ("F", "M", "X"))
    measure = measures.deo(y_true, y_pred, sensitive_features=groups)
    two = measures.deo(y_true, y_pred, sensitive_features=group)
    assert (measure.value, measure.low, measure.high) == (two.value, two.low, two.high)
    assert measure.note == "left out: 0 rows in X, y=1"


def test_small_cells_are_named_and_long_lists_cut():
    y = [1] * 30
    measure = measures.deo(y, y, sensitive_features=["F"] * 4 + ["M"] * 25 + ["X"])
    assert measure.note == "small cell: 4 rows in F, y=1; 1 row in X, y=1" + FEW
    assert (measure.n, measure.n_min) == (30, 1)
    many = measures.deo(y, y, sensitive_features=list("abcdefghij") * 3)
    assert many.note.endswith("3 rows in c, y=1; and 7 more" + FEW)
    assert measures.ddp(y, y, sensitive_features=["F"] * 5 + ["M"] * 25).note == "small cell: 5 rows in F" + FEW
    assert measures.error([1, 0], [1, 0]).note == "small cell: 2 rows" + FEW
    assert measures.ddp(y, y, sensitive_features=["F"] * 10 + ["M"] * 20).note == ""


def test_corners_are_undefined_and_say_why():
    assert str(measures.ddp([1, 0], [1, 1], sensitive_features=["F", "F"])) == "undefined (only one group: F)"
    nobody = measures.dp_ratio([1, 0], [0, 0], sensitive_features=["F", "M"])
    assert str(nobody) == "undefined (every rate is 0)"
    perfect = measures.equalized_odds_ratio([1, 0, 1, 0], [1, 0, 1, 0], sensitive_features=list("FFMM"))
    assert str(perfect) == "undefined (every rate is 0, y≠1)"
    no_rows = Groups(np.empty(0, np.int64), ("F", "M"))
    empty = measure_all([], [], sensitive_features=no_rows, target=1)
    assert {measure.value for measure in empty.values()} == {None}
    assert str(empty["error"]) == "undefined (0 rows)"


def test_to_dict_is_json_and_unknown_measures_are_refused():
    y_true, y_pred, group = sample(2)
    measured = measure_all(y_true, y_pred, sensitive_features=group)
    text = json.dumps({name: measure.to_dict() for name, measure in measured.items()}, allow_nan=False)
    assert {"value", "low", "high", "n", "note"} <= json.loads(text)["deo"].keys()
    rates = measures.group_rates(y_true, y_pred, sensitive_features=group)
    with pytest.raises(InputError, match="no measure 'gap'; choose from error, deo"):
        measures.measure_of("gap", rates)
