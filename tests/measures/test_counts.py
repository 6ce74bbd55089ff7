"""A table of counts gives the figures of the rows, whatever the batches."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairalm.datasets import FrameTable
from fairalm.exceptions import InputError
from fairalm.measures import Counts, Tally, group_rates, measure_all, measures_of
from fairalm.measures.totals import Totals

WEIGHTS = st.floats(1e-200, 1e200) | st.sampled_from([1.0, 0.1, 1 / 3])


@given(st.lists(st.tuples(WEIGHTS, st.integers(0, 2)), min_size=1, max_size=30))
def test_totals_are_exact(rows):
    weight, codes = np.array([w for w, _ in rows]), np.array([code for _, code in rows])
    totals = Totals.of(weight, codes, 3)
    for code in range(3):
        assert totals.sums[code] == sum(Fraction(w) for w, own in rows if own == code)
        squares = sum(Fraction(w) ** 2 for w, own in rows if own == code)
        assert abs(totals.squares[code] - squares) <= squares / 2**52
    together = totals.by(np.zeros(3, np.int64), 1)
    assert together.sums[0] == sum(totals.sums)
    assert together.unit == weight.max()


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 500
    table = pd.DataFrame(
        {
            "y": rng.choice(["no", "yes"], n),
            "h": rng.choice(["no", "yes"], n),
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice([1, 2, 3], n, p=[0.6, 0.37, 0.03]),
            "w": rng.lognormal(0, 1, n),
        }
    )
    return table.assign(w=table["w"].where(table.index % 9 > 0, 0.0))


def tallied(frame, sizes, weight=None):
    tally, table = Tally("y", "h", ["sex", "race"], weight), FrameTable(frame)
    starts = [0, *np.cumsum(sizes, dtype=int)]
    for start, end in zip(starts, [*starts[1:], len(frame)], strict=True):
        for batch in FrameTable(frame.iloc[start:end]).batches(tally.columns, weight):
            tally.add(*batch)
    return tally.counts(table.typed)


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 200), max_size=20),
    weight=st.sampled_from([None, "w"]),
    seed=st.integers(0, 5),
    chosen=st.fixed_dictionaries(
        {"attributes": st.sampled_from(["crossed", "separate"]), "merge_below": st.sampled_from([None, 40])}
    ),
)
def test_neither_batches_nor_order_change_a_figure(people, sizes, weight, seed, chosen):
    counts = tallied(people.sample(frac=1, random_state=seed), sizes, weight)
    groups = counts.groups(**chosen)
    kept = people if weight is None else people[people["w"] > 0]
    one = tallied(kept, [], weight)
    assert measures_of(counts.rates(groups)) == measures_of(one.rates(one.groups(**chosen)))
    if chosen["merge_below"] is None:
        rows = {"sensitive_features": people[["sex", "race"]], "sample_weight": None if weight is None else people["w"]}
        expected = measure_all(people["y"], people["h"], attributes=chosen["attributes"], **rows)
        assert measures_of(counts.rates(groups)) == expected
    assert counts.n_rows == len(kept)
    assert counts.sorted_table().to_csv(index=False) == one.sorted_table().to_csv(index=False)


def test_groups_are_merged_and_left_out_by_rows(people):
    holes = people.assign(race=people["race"].where(people.index % 4 > 0))
    counts = tallied(holes, [100] * 5)
    with pytest.raises(InputError, match=r"125 of 500 rows have no value in the protected column \(race\)"):
        counts.groups()
    groups = counts.groups(missing="drop", merge_below=40)
    assert int(groups.sizes.sum()) == 375
    own = holes["race"].notna()
    alone = pd.crosstab(holes["sex"][own], holes["race"][own])
    assert groups.names[-1] == "other"
    assert groups.sizes[-1] == alone.to_numpy()[alone.to_numpy() < 40].sum()
    separate = counts.groups(missing="group", attributes="separate")
    assert separate.apart[0].sizes.tolist() == [(holes["sex"] == sex).sum() for sex in "FM"]


def test_wrong_weights_are_counted_over_all_batches(people):
    wrong = people.assign(w=np.where(people.index % 100 == 99, -1.0, people["w"]))
    with pytest.raises(InputError, match=r"Column 'w' has 5 negative values, the first is -1\.0"):
        tallied(wrong, [90] * 6, "w")
    with pytest.raises(InputError, match="Column 'w' is zero for every row"):
        tallied(people.assign(w=0), [90] * 6, "w")
    with pytest.raises(InputError, match="Column 'w' must hold numbers: could not convert string to float: 'x'"):
        tallied(people.assign(w=np.where(people.index == 400, "x", "1")), [90] * 6, "w")


def test_the_rates_of_a_table_are_those_of_its_rows(people):
    counts = tallied(people, [7] * 80)
    rates = counts.rates(counts.groups(), "no")
    expected = group_rates(people["y"], people["h"], sensitive_features=people[["sex", "race"]], target="no")
    assert rates.tp.tolist() == expected.tp.tolist()
    assert rates.names == expected.names


def test_counts_of_your_own_are_checked():
    table = pd.DataFrame({"y": [1, 0], "h": [1, 1], "s": ["a", "b"]}, index=[7, 3])
    assert Counts(table, pd.Series([3, 4]), "y", "h", ("s",)).n_rows == 7
    for rows in ([3, 0], [3, 4.5], [3]):
        with pytest.raises(InputError, match="`rows` must have a whole number from 1 for each of the 2 lines"):
            Counts(table, rows, "y", "h", ("s",))
    with pytest.raises(InputError, match="There is no column 'sex'"):
        Counts(table, [3, 4], "y", "h", ("sex",))
