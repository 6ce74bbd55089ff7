"""Several attributes, each compared on its own."""

import numpy as np
import pytest

from fairalm import EqualizedOdds, measures
from fairalm._validation import encode_groups
from fairalm.measures import MEASURES, bin_scores, group_rates, make_gap_scorer, measure_all, measure_of, splits_entry
from fairalm.measures.compared import FEW


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    sex, race = rng.choice(["F", "M"], 900), rng.choice(["x", "y", "z"], 900, p=[0.6, 0.3, 0.1])
    y = (rng.random(900) < 0.4).astype(int)
    h = (rng.random(900) < 0.2 + 0.4 * y + 0.1 * (sex == "M") + 0.15 * (race == "z")).astype(int)
    return y, h, {"sex": sex, "race": race}


def test_a_gap_is_the_largest_over_attributes_and_never_between_them(people):
    y, h, columns = people
    together = measure_all(y, h, sensitive_features=columns, attributes="separate")
    alone = {name: measure_all(y, h, sensitive_features=column) for name, column in columns.items()}
    for name, definition in MEASURES.items():
        values = [alone[column][name].value for column in columns]
        if definition.kind == "overall":
            assert (together[name].value, together[name].n) == (np.mean(y != h), 900)
            assert together[name] == alone["sex"][name]
        else:
            worst = min(values) if definition.kind == "ratio" else max(values)
            assert together[name].value == pytest.approx(worst), name
            assert together[name].n == alone["sex"][name].n
            assert together[name].n_min == min(alone[column][name].n_min for column in columns)
            assert together[name].signed is None
            assert together[name].low <= together[name].value <= together[name].high
    crossed = measure_all(y, h, sensitive_features=columns)
    assert crossed["deo"].value > together["deo"].value


def test_attributes_of_very_different_rates_have_no_gap_between_them():
    # among F and M the rate is one half; x and y are at 0.75 and 0.25: only these two differ
    sex, race = np.repeat(["F", "M"], 400), np.tile(np.repeat(["x", "y"], 200), 2)
    h = np.concatenate([np.repeat([1, 0], n) for n in ([150, 50], [50, 150]) * 2])
    y = np.ones(800, int)
    measured = measure_all(y, h, sensitive_features={"sex": sex, "race": race}, attributes="separate")["deo"]
    assert measured.value == 0.5
    alone = measures.deo(y, h, sensitive_features=race)
    assert measured.high == alone.high  # the upper end is that of the widest pair
    assert 0.4 < measured.low < alone.low  # the lower one pays for a second pair


def test_the_order_of_the_columns_does_not_matter(people):
    y, h, columns = people
    swapped = dict(reversed(columns.items()))
    one, two = (measure_all(y, h, sensitive_features=each, attributes="separate") for each in (columns, swapped))
    for name in MEASURES:
        assert (one[name].value, one[name].low, one[name].high) == (two[name].value, two[name].low, two[name].high)


def test_notes_name_the_group_and_its_attribute():
    y = [1] * 40
    columns = {"sex": ["F"] * 20 + ["M"] * 20, "race": ["x"] * 36 + ["y"] * 4}
    groups = encode_groups(columns, attributes="separate")
    assert measures.deo(y, y, sensitive_features=groups).note == "small cell: 4 rows in race = y, y=1" + FEW
    some = groups.take(np.arange(36))
    assert str(measures.deo(y[:36], y[:36], sensitive_features=some)) == "undefined (0 rows in race = y, y=1)"
    single = {"sex": columns["sex"], "race": ["x"] * 40}
    measured = measure_all(y, y, sensitive_features=single, attributes="separate")["ddp"]
    assert str(measured) == "undefined (only one group: race = x)"


def test_every_entry_point_takes_groups_with_attributes(people):
    y, h, columns = people
    groups = encode_groups(columns, attributes="separate")
    rates = group_rates(y, h, sensitive_features=groups)
    assert (rates.names, rates.blocks) == (groups.compared, (2, 3))
    assert (rates.tp + rates.fp + rates.tn + rates.fn).tolist() == [
        *(int((columns["sex"] == name).sum()) for name in "FM"),
        *(int((columns["race"] == name).sum()) for name in "xyz"),
    ]
    entry = splits_entry(y, h, h * 0.5, sensitive_features=groups)
    assert list(entry["groups"]) == list(entry["scores"]["counts"]) == list(groups.compared)
    assert entry["attributes"] == [["sex = F", "sex = M"], ["race = x", "race = y", "race = z"]]
    expected = measure_of(EqualizedOdds(), rates)
    assert entry["equalized_odds"] == expected.to_dict()

    class Fixed:
        def predict(self, X):
            return h

    assert make_gap_scorer("equalized_odds")(Fixed(), y, y, sensitive_features=groups) == -expected.value


def test_scores_are_binned_by_compared_group(people):
    y, _, columns = people
    groups, scores = encode_groups(columns, attributes="separate"), np.linspace(0, 1, 900)
    binned = bin_scores(scores, y == 1, groups)
    for (name, column), value in zip([("sex", "sex"), ("race", "race")], ("F", "z"), strict=True):
        chosen = (columns[column] == value) & (y == 1)
        expected, _ = np.histogram(scores[chosen], binned["edges"])
        assert binned["counts"][f"{name} = {value}"]["target"] == expected.tolist()
