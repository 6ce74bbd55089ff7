"""What is asked, as limits: met by exactly the rates that meet it."""

import itertools
import re

import numpy as np
import pytest

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity, ErrorParity, InputError, PredictiveEquality
from fairalm.frontier.joint import Rates, slopes_of
from fairalm.frontier.limits import Asked, Limits, check_comparable, floor_of

GRID = np.round(np.linspace(0, 1, 6), 3)


def rates_as_sums(constraint, n_groups):
    """Rates such that the sums are the shares predicted as the target, event by event."""
    slopes = np.array(slopes_of(constraint))
    n_events = len(slopes)
    table = np.zeros((n_events, n_groups, n_events * n_groups))
    for event, group in itertools.product(range(n_events), range(n_groups)):
        table[event, group, event * n_groups + group] = slopes[event]
    constants = np.repeat((slopes < 0)[:, None] * 1.0, n_groups, axis=1)
    return Rates(constants, table, slopes)


def is_met(constraint, shares, names, blocks=()):
    limits = Limits(len(shares))
    limits.compare(constraint, rates_as_sums(constraint, len(shares) // len(slopes_of(constraint))), names, blocks)
    matrix, bounds = limits.arrays()
    return bool((matrix @ np.asarray(shares) <= bounds + 1e-9).all())


def all_shares(n):
    return list(itertools.product(GRID, repeat=n))


# One typed formula for each way to ask.


@pytest.mark.parametrize("constraint", [DemographicParity, EqualOpportunity, PredictiveEquality])
def test_any_two_groups(constraint):
    for a, b, c in all_shares(3):
        assert is_met(constraint(tol=0.2), (a, b, c), "abc") == (max(a, b, c) - min(a, b, c) <= 0.2 + 1e-9)


@pytest.mark.parametrize("constraint", [DemographicParity, EqualOpportunity, PredictiveEquality])
def test_a_ratio_between_any_two_groups(constraint):
    for a, b, c in all_shares(3):
        assert is_met(constraint(ratio=0.5), (a, b, c), "abc") == (min(a, b, c) >= 0.5 * max(a, b, c) - 1e-9)


@pytest.mark.parametrize("constraint", [DemographicParity, EqualOpportunity])
def test_a_ratio_with_a_reference(constraint):
    """The others may be above it, and far from one another."""
    for a, b, c in all_shares(3):
        assert is_met(constraint(ratio=0.5, reference="b"), (a, b, c), "abc") == (min(a, c) >= 0.5 * b - 1e-9)


@pytest.mark.parametrize("constraint", [DemographicParity, EqualOpportunity])
def test_a_difference_from_a_reference(constraint):
    for a, b, c in all_shares(3):
        expected = max(abs(a - b), abs(c - b)) <= 0.2 + 1e-9
        assert is_met(constraint(tol=0.2, reference="b"), (a, b, c), "abc") == expected


@pytest.mark.parametrize("constraint", [DemographicParity, EqualOpportunity, PredictiveEquality])
def test_one_sided(constraint):
    """Whatever the rate counts, only a share predicted as the target below the reference's breaks the limit."""
    for a, b, c in all_shares(3):
        expected = min(a, c) >= b - 0.2 - 1e-9
        assert is_met(constraint(tol=0.2, reference="b", one_sided=True), (a, b, c), "abc") == expected


def test_both_events_of_equalized_odds():
    for shares in itertools.product(GRID[::2], repeat=4):
        expected = abs(shares[0] - shares[1]) <= 0.2 and abs(shares[2] - shares[3]) <= 0.2
        assert is_met(EqualizedOdds(tol=0.2), shares, "ab") == expected


def test_attributes_one_by_one():
    for a, b, c, d in itertools.product(GRID[::2], repeat=4):
        assert is_met(DemographicParity(tol=0.2), (a, b, c, d), "abcd", (2, 2)) == (max(abs(a - b), abs(c - d)) <= 0.2)


def test_a_reference_leaves_the_groups_of_other_attributes_bounded():
    ratio = DemographicParity(ratio=0.5, reference="b")
    for a, b, c, d in itertools.product(GRID[::2], repeat=4):
        expected = a >= 0.5 * b - 1e-9 and min(c, d) >= 0.5 * max(c, d) - 1e-9
        assert is_met(ratio, (a, b, c, d), "abcd", (2, 2)) == expected


def test_a_reference_may_be_any_label():
    assert is_met(DemographicParity(tol=0.1, reference=2), (0.0, 0.5, 0.5), [1, 2, 3]) is False
    assert is_met(DemographicParity(tol=0.1, reference=2), (0.5, 0.5, 0.5), [1, 2, 3]) is True


def test_a_floor():
    for constraint in (DemographicParity(tol=1.0), EqualOpportunity(tol=1.0)):
        rates = rates_as_sums(constraint, 2)
        limits = Limits(2)
        limits.raise_to(rates, np.array([[0.4, np.nan]]))
        matrix, bounds = limits.arrays()
        for shares in all_shares(2):
            assert (matrix @ shares <= bounds + 1e-9).all() == (shares[0] >= 0.4)


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (DemographicParity(), [[0.2, 0.7]]),
        (EqualOpportunity(), [[0.8, 0.3]]),  # of the TPR: 1 - FNR
        (EqualizedOdds(), [[0.8, 0.3], [np.nan, np.nan]]),  # a higher FPR helps nobody
        (PredictiveEquality(), [[np.nan, np.nan]]),
    ],
)
def test_the_plain_models_rates_as_a_floor(constraint, expected):
    rates = rates_as_sums(constraint, 2)
    plain = np.array([[0.2, 0.7]] * len(rates.slopes))
    asked = Asked(constraints=(constraint, DemographicParity()), floor="plain")
    np.testing.assert_allclose(floor_of(asked, constraint, rates, plain), expected)
    number = floor_of(Asked(constraints=(constraint, DemographicParity()), floor=0.4), constraint, rates, plain)
    np.testing.assert_array_equal(number[np.isfinite(number)], 0.4)
    np.testing.assert_array_equal(np.isnan(number), np.isnan(expected))
    assert np.isnan(floor_of(Asked(constraints=(constraint,)), constraint, rates, plain)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"acceptance": -0.1}, "acceptance must lie in [0, 1]; got -0.1"),
        ({"acceptance": float("nan")}, "acceptance must lie in [0, 1]; got nan"),
        ({"cost_fp": 0}, "cost_fp must be positive; got 0"),
        ({"cost_fn": float("inf")}, "cost_fn must be positive; got inf"),
        ({"floor": "Plain"}, "floor must be 'plain' or a rate; got 'Plain'"),
        ({"floor": 1.2}, "floor must lie in [0, 1]; got 1.2"),
        ({"floor": float("nan")}, "floor must lie in [0, 1]; got nan"),
    ],
)
def test_what_cannot_be_asked(settings, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Asked(constraints=(EqualOpportunity(),), **settings)


def test_a_floor_needs_a_rate_of_the_target():
    with pytest.raises(InputError, match="ErrorParity and PredictiveEquality has no rate that floor could hold up"):
        Asked(constraints=(ErrorParity(), PredictiveEquality()), floor=0.1)
    Asked(constraints=(ErrorParity(), EqualOpportunity()), floor=0.1)


def test_what_cannot_be_compared():
    with pytest.raises(InputError, match="There is no group 'wite', did you mean 'white'"):
        check_comparable(DemographicParity(reference="wite"), ["black", "white"])
    with pytest.raises(InputError, match="ErrorParity does not compare shares predicted as the target"):
        check_comparable(ErrorParity(ratio=0.8), ["black", "white"])
    check_comparable(EqualizedOdds(ratio=0.8, reference="white"), ["black", "white"])
