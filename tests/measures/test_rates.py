import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix

from fairalm._validation import Groups
from fairalm.exceptions import InputError
from fairalm.measures import RATES, deo, group_rates, measure_all, splits_entry


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, 500), rng.integers(0, 2, 500), rng.choice(["a", "b", "c"], 500)


def test_counts_agree_with_scikit_learn(people):
    y_true, y_pred, group = people
    rates = group_rates(y_true, y_pred, sensitive_features=group)
    for code, name in enumerate("abc"):
        mine = [int(counts[code]) for counts in (rates.tn, rates.fp, rates.fn, rates.tp)]
        assert mine == confusion_matrix(y_true[group == name], y_pred[group == name]).ravel().tolist()


@pytest.mark.parametrize("measured", [group_rates, measure_all, splits_entry, deo])
def test_rows_in_another_order(people, measured):
    y_true, y_pred, group = (pd.Series(column, index=range(500, 0, -1)) for column in people)
    measured(y_true, y_pred, sensitive_features=group)
    with pytest.raises(
        InputError, match="y_pred and y_true have different indexes: row 0 is 1 in y_pred, 500 in y_true"
    ):
        measured(y_true, y_pred.sort_index(), sensitive_features=group)
    with pytest.raises(InputError, match="sensitive_features and y_true have different indexes"):
        measured(y_true, y_pred.to_numpy(), sensitive_features=group.sort_index())
    with pytest.raises(InputError, match="sensitive_features and y_pred have different indexes"):
        measured(y_true.tolist(), y_pred, sensitive_features=group.reset_index(drop=True).to_frame())


@pytest.mark.parametrize("measured", [group_rates, measure_all, splits_entry, deo])
def test_an_id_is_no_protected_attribute(people, measured):
    with pytest.raises(InputError, match=r"has 500 groups in 500 rows, 1\.0 rows per group: is it an id?"):
        measured(*people[:2], sensitive_features=np.arange(500))


def test_every_rate_is_the_conditional_mean(people):
    y, h, group = people
    expected = {
        "error": lambda m: (y != h)[m].mean(),
        "selection": lambda m: h[m].mean(),
        "base_rate": lambda m: y[m].mean(),
        "tpr": lambda m: h[m & (y == 1)].mean(),
        "fnr": lambda m: 1 - h[m & (y == 1)].mean(),
        "fpr": lambda m: h[m & (y == 0)].mean(),
        "tnr": lambda m: 1 - h[m & (y == 0)].mean(),
        "ppv": lambda m: y[m & (h == 1)].mean(),
        "fdr": lambda m: 1 - y[m & (h == 1)].mean(),
    }
    rates = group_rates(y, h, sensitive_features=group)
    assert expected.keys() == RATES.keys()
    for name, rate in expected.items():
        np.testing.assert_allclose(rates.value(name), [rate(group == g) for g in "abc"])
        k, n = rates.counts(name)
        np.testing.assert_allclose(rates.value(name), k / n)


def test_target_swaps_positive_and_negative(people):
    y_true, y_pred, group = people
    one = group_rates(y_true, y_pred, sensitive_features=group)
    zero = group_rates(y_true, y_pred, sensitive_features=group, target=0)
    assert one.tp.tolist() == zero.tn.tolist()
    assert one.fp.tolist() == zero.fn.tolist()


@pytest.mark.parametrize("pair", [(0, 1), (-1, 1), ("no", "yes"), (False, True), (1.0, 2.0)])
def test_any_two_labels(people, pair):
    y_true, y_pred, group = people
    labels = np.array(pair)
    rates = group_rates(pd.Series(labels[y_true], index=range(500, 0, -1)), labels[y_pred], sensitive_features=group)
    assert rates.target == pair[1]
    assert rates.tp.tolist() == group_rates(y_true, y_pred, sensitive_features=group).tp.tolist()


@pytest.mark.parametrize(
    ("y_true", "y_pred", "target", "tp"),
    [
        ([1, 1], [1, 1], None, 1),
        ([0, 0], [0, 0], None, 0),
        ([True, True], [1, 1], None, 1),
        (["yes", "yes"], ["yes", "yes"], "yes", 1),
        (["yes", "yes"], ["yes", "yes"], "no", 0),
        ([1, 1], [1, 1], np.int64(1), 1),
    ],
)
def test_a_single_class_is_enough(y_true, y_pred, target, tp):
    rates = group_rates(y_true, y_pred, sensitive_features=["a", "b"], target=target)
    assert rates.tp.tolist() == [tp, tp]


def test_groups_object_keeps_absent_groups_and_drops_marked_rows():
    groups = Groups(np.array([0, 2, -1]), ("a", "b", "c"))
    rates = group_rates([1, 0, 1], [1, 1, 1], sensitive_features=groups)
    assert rates.names == ("a", "b", "c")
    assert (rates.tp.tolist(), rates.fp.tolist()) == ([1, 0, 0], [0, 0, 1])
    assert np.isnan(rates.value("error")[1])


@pytest.mark.parametrize(
    ("y_true", "y_pred", "kwargs", "message"),
    [
        ([1, 0, 1], [1, 0], {}, "y_pred has 2 rows, y_true has 3"),
        ([1, 0], [1, 0], {"sensitive_features": ["a"]}, "has 1 rows, the data has 2"),
        ([1, 0], [1, 0], {"sensitive_features": Groups(np.array([0]), ("a",))}, "has 1 rows, the data has 2"),
        ([1, 0], [1, 0], {"sensitive_features": None}, "`sensitive_features` is missing"),
        ([1, 0], [1, np.nan], {}, "y_pred has 1 missing value"),
        ([None, "a"], ["a", "a"], {}, "y_true has 1 missing value"),
        ([0, 1], [1, 2], {}, r"have 3 \(0, 1, 2\)"),
        ([0, 1], [0.3, 0.7], {}, "pass predicted labels, not scores"),
        ([0, 1], [0, 1], {"target": 2}, r"have 3 \(0, 1, 2\)"),
        ([0, 1], ["0", "1"], {}, "mix int and str"),
        (["a", "a"], ["a", "a"], {}, "the only label is 'a': pass `target`"),
        ([[0], [1]], [0, 1], {}, r"y_true must be one column; got shape \(2, 1\)"),
        ([], [], {}, "there are no rows"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(y_true, y_pred, kwargs, message):
    with pytest.raises(InputError, match=message) as caught:
        group_rates(y_true, y_pred, **{"sensitive_features": ["a", "b"], **kwargs})
    assert "\n" not in str(caught.value)
