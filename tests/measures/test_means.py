import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairalm.exceptions import InputError
from fairalm.measures import rate_interval
from fairalm.measures.means import differences_of, mean_interval, means_of


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_mean_interval_is_students(level):
    values = np.random.default_rng(0).normal(size=7)
    low, high = stats.t.interval(level, 6, values.mean(), stats.sem(values))
    assert mean_interval(values, level) == pytest.approx((values.mean(), low, high))


def test_one_number_has_no_interval_and_none_is_refused():
    mean, low, high = mean_interval([0.3])
    assert mean == 0.3
    assert np.isnan([low, high]).all()
    with pytest.raises(InputError, match="at least one number"):
        mean_interval([])


def test_columns_of_numbers_shares_and_gaps_in_the_table():
    table = pd.DataFrame({"error": [0.1, 0.2, 0.4], "failed": [True, False, False], "deo": [0.1, np.nan, 0.2]})
    means = means_of(table, note="three seeds")
    assert (means["error"].value, means["error"].low, means["error"].high) == mean_interval(table["error"])
    assert (means["failed"].low, means["failed"].high) == rate_interval(1, 3)
    assert means["error"].note == means["failed"].note == "three seeds"
    assert str(means["deo"]) == "undefined in 1 of 3 rows"
    alone = means_of(table[:1])["error"]
    assert (alone.value, alone.low, alone.note) == (0.1, None, "one row: no interval")
    with pytest.raises(InputError, match="at least one row"):
        means_of(table[:0])


def test_differences_are_paired():
    rng = np.random.default_rng(0)
    first = pd.DataFrame({"error": rng.normal(size=20)})
    second = first + rng.normal(0.1, 0.01, size=(20, 1))
    change = differences_of(second, first)["error"]
    assert change.low < 0.1 < change.high < 0.12
    with pytest.raises(InputError, match="same columns and rows"):
        differences_of(first, second[:5])


def test_means_of_shares_stay_inside():
    table = pd.DataFrame({"error": [0.0, 0.01, 0.05], "signed": [0.0, 0.01, 0.05], "right": [0.9, 1.0, 1.0]})
    means = means_of(table, shares=("error", "right"))
    assert (means["error"].low, means["right"].high) == (0, 1)
    assert means["signed"].low < 0
    assert means["error"].high == means["signed"].high
