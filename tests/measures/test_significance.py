"""Tests of groups against a reference group."""

import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from fairalm.exceptions import InputError
from fairalm.measures import Against, compare_to_reference, difference_interval, group_rates, holm, quotient_interval
from fairalm.measures.significance import FISHER, NORMAL


def test_two_groups_against_the_formulas():
    reference, (women, men) = compare_to_reference([48, 80], [120, 140])
    assert reference == 1
    assert men is None
    assert women.difference == pytest.approx(48 / 120 - 80 / 140)
    pooled = 128 / 260
    deviation = (pooled * (1 - pooled) * (1 / 120 + 1 / 140)) ** 0.5
    assert women.z == pytest.approx((48 / 120 - 80 / 140) / deviation)
    # Fisher: all tables at most as likely as this one
    likely = hypergeom(260, 128, 120).pmf(np.arange(121))
    assert women.p == pytest.approx(likely[likely <= likely[48] * (1 + 1e-7)].sum())
    assert women.p_holm == women.p
    assert women.test == FISHER
    assert (women.difference_low, women.difference_high) == difference_interval(48, 120, 80, 140)
    assert (women.ratio_low, women.ratio_high) == quotient_interval(48, 120, 80, 140)


def test_holm_step_down():
    assert holm([0.04, 0.01, 0.03, 0.5]) == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    # two p-values of ten are corrected at least as much as by Holm over all ten
    p = np.linspace(0.001, 0.02, 10)
    assert (holm(p[[3, 7]], 10) >= holm(p)[[3, 7]]).all()


def test_a_named_reference_is_corrected_for_the_other_groups_only():
    k, n = [10, 30, 40], [100, 100, 100]
    _, named = compare_to_reference(k, n, 2)
    _, highest = compare_to_reference(k, n)
    assert named[1].p == highest[1].p
    assert named[0].p_holm == pytest.approx(2 * named[0].p)
    assert highest[0].p_holm == pytest.approx(3 * named[0].p)  # one of three pairs


def test_the_largest_of_several_highest_groups_is_the_reference():
    assert compare_to_reference([5, 50, 20], [10, 100, 40])[0] == 1


def test_an_empty_group_has_no_figures():
    reference, (empty, other, highest) = compare_to_reference([0, 2, 8], [0, 10, 10])
    assert reference == 2
    assert highest is None
    assert empty == Against()
    assert set(empty.to_dict().values()) == {None, FISHER}
    assert other.p_holm == other.p


def test_nobody_selected():
    _, groups = compare_to_reference([0, 0], [10, 20])
    assert groups[0].ratio is None
    assert (groups[0].z, groups[0].p) == (0.0, 1.0)


def test_a_ratio_may_be_above_one():
    _, groups = compare_to_reference([9, 3], [10, 10], 1)
    assert groups[0].ratio == pytest.approx(3.0)
    assert groups[0].ratio_low < 3.0 < groups[0].ratio_high
    low, high = quotient_interval(3, 10, 9, 10)
    assert (groups[0].ratio_low, groups[0].ratio_high) == pytest.approx((1 / high, 1 / low))


def test_weights_use_effective_sizes_and_the_normal_tail():
    rng = np.random.default_rng(0)
    selected, group = rng.random(400) < 0.4, rng.random(400) < 0.5
    same, unequal = np.full(400, 3.0), rng.lognormal(size=400)
    plain, equal, weighted = (
        group_rates(selected, selected, sensitive_features=group, sample_weight=weight)
        for weight in (None, same, unequal)
    )
    assert compare_to_reference(*equal.effective("selection"), 0) == compare_to_reference(
        *plain.effective("selection"), 0
    )
    _, (_, other) = compare_to_reference(*weighted.effective("selection"), 0)
    assert other.test == NORMAL
    assert other.p == pytest.approx(math.erfc(abs(other.z) / 2**0.5))


def test_large_counts():
    _, groups = compare_to_reference([3_000_000, 3_010_000], [10_000_000, 10_000_000], 1)
    assert groups[0].p == pytest.approx(1.08e-6, rel=0.01)


@pytest.mark.parametrize(
    ("k", "n", "reference", "message"),
    [
        ([1, 2], [3], None, "one count per group"),
        ([], [], None, "one count per group"),
        ([4], [3], None, "0 <= k <= n"),
        ([-1], [3], None, "0 <= k <= n"),
        ([float("nan")], [3], None, "0 <= k <= n"),
        ([1, 1], [2, 2], 2, "from 0 to 1; got 2"),
        ([1, 0], [2, 0], 1, "no rows"),
        ([0, 0], [0, 0], None, "no rows"),
    ],
)
def test_refused(k, n, reference, message):
    with pytest.raises(InputError, match=message):
        compare_to_reference(k, n, reference)
