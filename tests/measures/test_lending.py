"""Figures of lending: against counts, and paired changes against a bootstrap and the truth."""

import numpy as np
import pytest
from scipy.special import ndtr

from fairalm import InputError
from fairalm.measures import quotient_interval, rate_interval
from fairalm.measures.lending import (
    acceptance,
    acceptance_change,
    bad_rate,
    bad_rate_change,
    impact_ratio,
    impact_ratio_change,
)


def applicants(rng, n):
    """Group, bad, and which rows two models accept: the second favours the group a little."""
    group = rng.random(n) < 0.2
    skill = rng.normal(size=n) - 0.5 * group
    bad = rng.random(n) < ndtr(-1.3 - 0.8 * skill)
    before, after = skill > -0.95, skill + 0.4 * group + 0.15 * rng.normal(size=n) > -0.87
    return group, bad, before, after


def test_from_counts():
    group, bad, before, _ = applicants(np.random.default_rng(0), 1000)
    k, n = int((bad & before).sum()), int(before.sum())
    measure = bad_rate(bad, before)
    assert (measure.value, measure.low, measure.high) == (k / n, *rate_interval(k, n))
    assert acceptance(before).value == n / 1000
    ratio = impact_ratio(before, group, ~group)
    counts = before[group].sum(), group.sum(), before[~group].sum(), (~group).sum()
    assert ratio.value == pytest.approx(before[group].mean() / before[~group].mean())
    assert (ratio.low, ratio.high) == quotient_interval(*counts)


def test_changes_are_differences_and_as_wide_as_a_bootstrap_says():
    rng = np.random.default_rng(1)
    group, bad, before, after = applicants(rng, 4000)
    changes = {
        "bad": (bad_rate_change(bad, before, after), lambda i: bad[i][after[i]].mean() - bad[i][before[i]].mean()),
        "ratio": (
            impact_ratio_change(before, after, group, ~group),
            lambda i: (
                impact_ratio(after[i], group[i], ~group[i]).value - impact_ratio(before[i], group[i], ~group[i]).value
            ),
        ),
        "share": (acceptance_change(before, after), lambda i: after[i].mean() - before[i].mean()),
    }
    resampled = rng.integers(0, 4000, (300, 4000))
    for change, difference in changes.values():
        assert change.value == pytest.approx(difference(np.arange(4000)))
        spread = np.std([difference(rows) for rows in resampled])
        assert (change.high - change.low) / 2 / 1.96 == pytest.approx(spread, rel=0.15)
    assert changes["bad"][0].n_min == int((before != after).sum())


def test_the_same_decisions_do_not_change():
    group, bad, before, _ = applicants(np.random.default_rng(2), 500)
    change = bad_rate_change(bad, before, before)
    assert change.value == 0
    assert change.low < 0 < change.high  # one row could still differ
    assert impact_ratio_change(before, before, group, ~group).value == 0


@pytest.mark.parametrize("n", [250, 2000])
def test_intervals_of_changes_cover(n):
    rng = np.random.default_rng(3)
    group, bad, before, after = applicants(rng, 400_000)
    truth = bad_rate_change(bad, before, after).value, impact_ratio_change(before, after, group, ~group).value
    hits = np.zeros(2)
    for _ in range(400):
        i = rng.integers(0, len(bad), n)
        found = (
            bad_rate_change(bad[i], before[i], after[i]),
            impact_ratio_change(before[i], after[i], group[i], ~group[i]),
        )
        hits += [own.low <= true <= own.high for own, true in zip(found, truth, strict=True)]
    assert (hits / 400 >= 0.92).all()
    assert (hits / 400 <= 0.995).all()


def test_what_is_undefined():
    nobody, some = np.zeros(4, bool), np.array([True, True, False, False])
    assert bad_rate(some, nobody).note == "undefined (0 rows)"
    assert impact_ratio(some, nobody, ~nobody).note == "undefined (0 rows in the group)"
    assert impact_ratio(some, some, ~some).note == "undefined (nobody of the reference is accepted)"
    assert bad_rate_change(some, nobody, some).value is None
    assert impact_ratio_change(some, some, nobody, some).value is None
    assert acceptance_change([], []).value is None
    with pytest.raises(InputError, match="one per row"):
        bad_rate([1, 0], [True])
    with pytest.raises(InputError, match="True or False"):
        acceptance([0.2, 0.8])
