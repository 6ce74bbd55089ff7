"""Changes from one model to another on the same rows."""

import numpy as np
import pandas as pd
import pytest

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity, PredictiveParity
from fairalm.exceptions import InputError
from fairalm.measures import RATES, changes, definition_of, group_rates, measure_all, paired_changes
from fairalm.measures.changes import change_of
from fairalm.measures.paired import paired_rates
from fairalm.measures.paired_intervals import PairedCells, rate_changes


def rows(seed=0, n=600, groups=("a", "b", "c")):
    """Labels, predictions of two models that mostly agree, and groups."""
    rng = np.random.default_rng(seed)
    y, group = rng.random(n) < 0.5, rng.choice(groups, n)
    before = np.where(rng.random(n) < 0.25, ~y, y)
    after = np.where(rng.random(n) < 0.1, ~before, before)
    return y.astype(int), before.astype(int), after.astype(int), group


CONSTRAINTS = [
    EqualOpportunity(),
    EqualizedOdds(),
    DemographicParity(),
    PredictiveParity(),
    EqualOpportunity(reference="b"),
    DemographicParity(ratio=0.8),
    DemographicParity(ratio=0.8, reference="c"),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_the_measures(constraint, weighted):
    y, before, after, group = rows()
    given = {"sensitive_features": group, "constraint": constraint}
    given["sample_weight"] = np.random.default_rng(1).lognormal(size=len(y)) if weighted else None
    changes = paired_changes(y, before, after, **given)
    old, new = (measure_all(y, predicted, **given) for predicted in (before, after))
    assert set(changes.measures) == {"error", "dp_ratio", definition_of(constraint).name}
    for name, change in changes.measures.items():
        assert change.value == pytest.approx(new[name].value - old[name].value)
        assert -1 <= change.low < change.value < change.high <= 1
        assert change.n == new[name].n
    rates = [
        group_rates(y, predicted, sensitive_features=group, sample_weight=given["sample_weight"])
        for predicted in (before, after)
    ]
    for code, name in enumerate(rates[0].names):
        assert set(changes.groups[name]) >= set(RATES) - {"base_rate"}
        for rate in ("tpr", "ppv", "error"):
            change = changes.groups[name][rate]
            assert change.value == pytest.approx(rates[1].value(rate)[code] - rates[0].value(rate)[code])
            assert change.low < change.value < change.high


def test_the_interval_is_narrower_than_that_of_different_rows():
    y, before, after, group = rows(n=3000)
    change = paired_changes(y, before, after, sensitive_features=group).measures["error"]
    old, new = (measure_all(y, predicted, sensitive_features=group)["error"] for predicted in (before, after))
    apart = np.hypot(old.high - old.low, new.high - new.low)
    assert change.high - change.low < 0.7 * apart


def test_few_changes_cannot_change_a_gap_by_much():
    """Without a gap, which group is ahead is chance; what a difference can change by is not."""
    rng = np.random.default_rng(0)
    group, y = np.repeat(["a", "b"], 2000), np.ones(4000, dtype=int)
    before = (rng.random(4000) < 0.7).astype(int)
    after = np.where(rng.random(4000) < 0.01, 1 - before, before)
    changes = paired_changes(y, before, after, sensitive_features=group, constraint=EqualOpportunity())
    widest = sum(np.ptp([changes.groups[name]["tpr"].low, changes.groups[name]["tpr"].high]) for name in "ab")
    for name in ("deo", "dp_ratio"):
        change = changes.measures[name]
        assert change.low < 0 < change.high
        assert change.high - change.low < 1.5 * widest


def test_exchanging_the_models_mirrors_every_interval():
    y, before, after, group = rows()
    for constraint in CONSTRAINTS:
        there, back = (
            paired_changes(y, *pair, sensitive_features=group, constraint=constraint)
            for pair in ((before, after), (after, before))
        )
        for name, change in there.measures.items():
            mirrored = back.measures[name]
            assert (-mirrored.value, -mirrored.high, -mirrored.low) == pytest.approx(
                (change.value, change.low, change.high)
            )


def test_a_model_against_itself_changes_nothing_but_is_not_certain():
    y, before, _, group = rows()
    changes = paired_changes(y, before, before, sensitive_features=group, constraint=EqualizedOdds())
    every = [*changes.measures.values(), *(change for row in changes.groups.values() for change in row.values())]
    assert all(change.value == 0 and change.low < 0 < change.high for change in every)
    assert changes.measures["error"].high < 0.01


def test_only_the_rows_that_enter_and_leave_the_numerator_count():
    entered, left, n = 8.0, 2.0, 100.0
    ends = []
    for both in (10.0, 60.0):
        counts = (both + left, n, both + entered, n, both, 0.0)
        cells = PairedCells(*(np.array([count]) for count in counts), np.array([True]))
        ends.append(np.concatenate(rate_changes(cells)))
    assert ends[0] == pytest.approx(ends[1])


def test_equal_weights_change_nothing():
    y, before, after, group = rows()
    given = {"sensitive_features": group, "constraint": EqualizedOdds()}
    plain = paired_changes(y, before, after, **given).to_dict()
    weighted = paired_changes(y, before, after, **given, sample_weight=np.full(len(y), 7.0)).to_dict()
    assert pd.json_normalize(weighted).iloc[0].to_dict() == pytest.approx(pd.json_normalize(plain).iloc[0].to_dict())


def test_separate_attributes():
    y, before, after, group = rows()
    columns = {"letter": group, "half": ["x", "y"] * 300}
    given = {"sensitive_features": columns, "attributes": "separate", "constraint": DemographicParity()}
    changes = paired_changes(y, before, after, **given)
    old, new = (measure_all(y, predicted, **given)["ddp"].value for predicted in (before, after))
    assert changes.measures["ddp"].value == pytest.approx(new - old)
    assert changes.measures["error"].n == 600
    assert list(changes.groups) == ["letter = a", "letter = b", "letter = c", "half = x", "half = y"]


def test_empty_cells_are_undefined_with_a_note():
    y, sex = [1, 1, 1, 0, 0], ["F", "F", "F", "M", "M"]
    changes = paired_changes(y, [1, 0, 1, 0, 1], [1, 1, 1, 0, 0], sensitive_features=sex, constraint=EqualOpportunity())
    assert str(changes.measures["deo"]) == "undefined (0 rows in M, y=1)"
    assert changes.groups["M"]["tpr"].to_dict() == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
        "note": "undefined (0 rows, y=1)",
    }
    assert changes.groups["M"]["selection"].value == -0.5


@pytest.mark.parametrize("name", ["ddp", "dp_ratio"])
def test_very_many_groups_keep_the_widest_contrasts(name, monkeypatch):
    y, before, after, group = rows(n=4000, groups=[f"g{i}" for i in range(25)])
    pair = paired_rates(y, before, after, sensitive_features=group)
    some = change_of(name, pair)
    old, new = (measure_all(y, predicted, sensitive_features=group)[name].value for predicted in (before, after))
    assert some.value == pytest.approx(new - old)
    monkeypatch.setattr(changes, "MOST", 25 * 24)
    every = change_of(name, pair)
    assert (some.low, some.high) == pytest.approx((every.low, every.high), abs=0.02)


def test_an_empty_cell_among_very_many_groups():
    y, before, after, group = rows(n=4000, groups=[f"g{i:02d}" for i in range(25)])
    before[group == "g03"], after[group == "g07"] = 0, 0  # no precision there
    changes = paired_changes(y, before, after, sensitive_features=group, constraint=PredictiveParity())
    change = changes.measures["predictive_parity"]
    assert change.low < change.value < change.high


def test_wrong_rows_are_refused():
    with pytest.raises(InputError, match="1 missing"):
        paired_changes([1, 0], [1, None], [1, 0], sensitive_features=["a", "b"])
    with pytest.raises(InputError, match="one prediction per row"):
        paired_changes([1, 0], [1], [1, 0], sensitive_features=["a", "b"])
    with pytest.raises(InputError, match="one prediction per row"):
        paired_changes([1, 0], [1, 0, 1], [1], sensitive_features=["a", "b"])
