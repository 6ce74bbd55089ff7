"""Coverage is enumerated over every pair of counts, so the requirement is checked exactly."""

import itertools

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

from fairalm.exceptions import InputError
from fairalm.measures import difference_interval, range_interval, rate_interval, ratio_interval

SIZES, RATES = (10, 30, 300), (0.02, 0.2, 0.5)
Z = norm.ppf(0.975)


def wilson(k, n):
    centre, half = k + Z**2 / 2, Z * np.sqrt(k * (n - k) / n + Z**2 / 4)
    return (centre - half) / (n + Z**2), (centre + half) / (n + Z**2)


def newcombe_width(k0, n0, k1, n1):
    p0, p1, (l0, u0), (l1, u1) = k0 / n0, k1 / n1, wilson(k0, n0), wilson(k1, n1)
    return np.hypot(p0 - l0, u1 - p1) + np.hypot(u0 - p0, p1 - l1)


def covers(low, truth, high):
    return (low <= truth + 1e-12) & (truth <= high + 1e-12)


@pytest.mark.parametrize(("n0", "n1"), list(itertools.product(SIZES, repeat=2)))
def test_difference_interval_coverage_and_width(n0, n1):
    k0, k1 = np.arange(n0 + 1)[:, None], np.arange(n1 + 1)[None]
    low, high = difference_interval(k0, n0, k1, n1)
    reference = newcombe_width(k0, n0, k1, n1)
    for p0, p1 in itertools.product(RATES, repeat=2):
        weight0, weight1 = binom.pmf(k0[:, 0], n0, p0), binom.pmf(k1[0], n1, p1)
        coverage = weight0 @ covers(low, p0 - p1, high) @ weight1
        assert coverage >= 0.93
        if min(n0 * p0 * (1 - p0), n1 * p1 * (1 - p1)) >= 3:
            assert coverage <= 0.98
        assert weight0 @ (high - low) @ weight1 <= 1.1 * (weight0 @ reference @ weight1)


def test_rate_interval_is_the_union_of_wilson_and_jeffreys():
    k, n = np.arange(1, 20), 20
    low, high = rate_interval(k, n)
    wilson_low, wilson_high = wilson(k, n)
    np.testing.assert_allclose(low, np.minimum(wilson_low, beta.ppf(0.025, k + 0.5, n - k + 0.5)))
    np.testing.assert_allclose(high, np.maximum(wilson_high, beta.ppf(0.975, k + 0.5, n - k + 0.5)))


def test_rate_interval_at_the_ends():
    low, high = rate_interval([0, 5, 0], [5, 5, 0])
    assert low[0] == 0
    assert 0 < high[0] < 1
    assert high[1] == 1
    assert low[1] == pytest.approx(1 - high[0])
    assert np.isnan([low[2], high[2]]).all()


def test_large_counts_agree_with_the_normal_interval():
    low, high = difference_interval(300_000, 1_000_000, 200_000, 1_000_000)
    half = Z * np.sqrt(0.3 * 0.7 / 1e6 + 0.2 * 0.8 / 1e6)
    assert low == pytest.approx(0.1 - half, abs=1e-6)
    assert high == pytest.approx(0.1 + half, abs=1e-6)


def test_difference_interval_is_antisymmetric():
    low, high = difference_interval(3, 11, 25, 40)
    swapped_low, swapped_high = difference_interval(25, 40, 3, 11)
    assert (low, high) == pytest.approx((-swapped_high, -swapped_low))


@pytest.mark.parametrize(("k0", "k1"), [(12, 20), (20, 12), (15, 16), (0, 0), (30, 0)])
def test_range_of_two_groups_is_the_folded_difference(k0, k1):
    low, high = difference_interval(k0, 30, k1, 50)
    folded = (max(low, -high, 0), min(max(high, -low), 1))
    assert range_interval([k0, k1], [30, 50]) == pytest.approx(folded)


def test_range_lower_end_is_at_sidaks_level_and_upper_end_is_not():
    k, n = [80, 40, 60], [100, 120, 90]
    low, high = range_interval(k, n)
    assert low == pytest.approx(difference_interval(80, 100, 40, 120, level=0.95 ** (1 / 3))[0])
    assert high == pytest.approx(difference_interval(80, 100, 40, 120)[1])


def test_range_leaves_out_empty_cells_and_events():
    two = range_interval([8, 3], [20, 20])
    assert range_interval([8, 0, 3], [20, 0, 20]) == two
    assert range_interval([[8, 3], [4, 0]], [[20, 20], [9, 0]]) == two
    assert np.isnan(range_interval([8, 0], [20, 0])).all()
    assert np.isnan(ratio_interval([8, 0], [20, 0])).all()


def test_range_over_events_is_for_the_worst_event():
    k, n = [[50, 48], [90, 20]], [[100, 100], [100, 100]]
    low, high = range_interval(k, n)
    assert low == pytest.approx(difference_interval(90, 100, 20, 100, level=0.95**0.5)[0])
    assert high == pytest.approx(difference_interval(90, 100, 20, 100)[1])


def test_range_is_vectorised_over_leading_axes():
    k = np.array([[[5, 9, 2]], [[1, 1, 1]]])
    n = np.array([[[20, 20, 20]], [[10, 0, 10]]])
    low, high = range_interval(k, n)
    for i in range(2):
        assert (low[i], high[i]) == pytest.approx(range_interval(k[i, 0], n[i, 0]))


@pytest.mark.parametrize("n_groups", [3, 5, 10])
@pytest.mark.parametrize("n", [10, 30, 100])
def test_range_rejects_equal_rates_rarely(n, n_groups):
    """All rates equal: exact, through the joint law of the smallest and the largest of K counts."""
    low_count, high_count = np.triu_indices(n + 1, 1)
    low, _ = difference_interval(high_count, n, low_count, n, level=0.95 ** (2 / n_groups / (n_groups - 1)))
    for p in (0.02, 0.1, 0.2, 0.35, 0.5):
        cdf = np.concatenate([[0], binom.cdf(np.arange(n + 1), n, p)])

        def within(a, b, cdf=cdf):
            return np.clip(cdf[b + 1] - cdf[a], 0, None) ** n_groups

        both = within(low_count, high_count) - within(low_count + 1, high_count)
        both -= within(low_count, high_count - 1) - within(low_count + 1, high_count - 1)
        assert 1 - both[low > 1e-12].sum() >= 0.93


CELLS = [
    (10,) * 5,
    (30,) * 5,
    (300,) * 5,
    (10, 30, 300, 300, 300),
    (10, 10, 10, 10, 300),
    (300, 30, 10, 10, 30),
]
SPREAD = [(0.02, 0.2, 0.2, 0.2, 0.5), (0.5, 0.2, 0.2, 0.2, 0.02), (0.2, 0.2, 0.5, 0.5, 0.5)]


@pytest.mark.parametrize("n", CELLS, ids=str)
def test_range_of_five_groups_covers(n):
    rng = np.random.default_rng(0)
    for p in [(rate,) * 5 for rate in RATES] + SPREAD:
        k = rng.binomial(n, p, size=(2000, 5))
        low, high = range_interval(k[:, None], n)
        assert covers(low, max(p) - min(p), high).mean() >= 0.93, p


def test_range_over_two_events_covers():
    rng = np.random.default_rng(1)
    n = np.array([[30, 100], [10, 300]])
    for p in ([[0.2, 0.2], [0.5, 0.5]], [[0.2, 0.5], [0.5, 0.4]], [[0.3, 0.5], [0.1, 0.3]]):
        k = rng.binomial(n, p, size=(4000, 2, 2))
        low, high = range_interval(k, n)
        assert covers(low, np.ptp(p, axis=1).max(), high).mean() >= 0.93, p


@pytest.mark.parametrize(("n0", "n1"), list(itertools.product(SIZES, repeat=2)))
def test_ratio_interval_covers(n0, n1):
    k0, k1 = np.meshgrid(np.arange(n0 + 1), np.arange(n1 + 1), indexing="ij")
    low, high = ratio_interval(np.stack([k0, k1], axis=-1)[..., None, :], [n0, n1])
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    for p0, p1 in itertools.product((*RATES, 0.98), repeat=2):
        weight0, weight1 = binom.pmf(k0[:, 0], n0, p0), binom.pmf(k1[0], n1, p1)
        assert weight0 @ covers(low, min(p0, p1) / max(p0, p1), high) @ weight1 >= 0.93


def test_ratio_ends_solve_the_quadratic():
    """Lower end r of p0/p1: (p0 - r p1)^2 = (p0 - l0)^2 + r^2 (u1 - p1)^2."""
    (l0, l1), (u0, u1) = rate_interval([10, 40], [50, 60])
    p0, p1 = 10 / 50, 40 / 60
    low, high = ratio_interval([10, 40], [50, 60])
    assert (p0 - low * p1) ** 2 == pytest.approx((p0 - l0) ** 2 + (low * (u1 - p1)) ** 2)
    assert (p0 - high * p1) ** 2 == pytest.approx((u0 - p0) ** 2 + (high * (p1 - l1)) ** 2)


def test_ratio_without_successes_says_nothing():
    assert ratio_interval([0, 0], [20, 30]) == (0, 1)
    low, high = ratio_interval([0, 15], [20, 30])
    assert low == 0
    assert 0 < high < 1


def test_ratio_of_five_groups_covers():
    rng = np.random.default_rng(2)
    for n, p in itertools.product(CELLS[3:], [(0.2,) * 5, (0.5,) * 5, *SPREAD]):
        k = rng.binomial(n, p, size=(1000, 5))
        low, high = ratio_interval(k[:, None], n)
        assert covers(low, min(p) / max(p), high).mean() >= 0.93, (n, p)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_level_outside_the_unit_interval_is_refused(level):
    with pytest.raises(InputError, match="`level` must lie between 0 and 1"):
        rate_interval(3, 10, level=level)


def test_a_higher_level_gives_a_wider_interval():
    narrow, wide = range_interval([5, 9, 2], [20, 20, 20], 0.8), range_interval([5, 9, 2], [20, 20, 20], 0.99)
    assert wide[0] < narrow[0]
    assert narrow[1] < wide[1]
