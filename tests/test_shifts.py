"""A classifier under other thresholds, against counting predictions threshold by threshold."""

import numpy as np
import pytest

from fairalm import EqualizedOdds, EqualOpportunity, ErrorParity
from fairalm.shifts import SHIFTS, Shifts


def draw(seed, n=300, n_groups=3, weighted=False, levels=None):
    """Rows and margins; `levels` makes the margins those of a small tree, with many ties."""
    rng = np.random.default_rng(seed)
    positive, group = rng.random(n) < 0.4, rng.integers(0, n_groups, n)
    margin = rng.normal(size=n) + positive
    if levels is not None:
        margin = rng.choice(rng.normal(size=levels), n)
    weight = rng.uniform(0.1, 3, n) if weighted else None
    return EqualizedOdds().rows(positive, group, n_groups, weight), margin


def count(rows, predicted):
    """Weight of the wrongly predicted rows by label and group, row by row."""
    table = np.zeros((2, rows.cells.n_groups))
    for i, target in enumerate(predicted):
        if target != rows.positive[i]:
            table[int(rows.positive[i]), rows.code[i] % rows.cells.n_groups] += rows.weight[i]
    return table


cases = pytest.mark.parametrize(
    ("seed", "weighted", "levels"), [(s, w, k) for s in range(3) for w in (False, True) for k in (None, 1, 2, 7)]
)


@cases
def test_every_table_is_that_of_counting(seed, weighted, levels):
    rows, margin = draw(seed, weighted=weighted, levels=levels)
    shifts = Shifts.of(rows, margin)
    assert len(shifts.by) == len(shifts.wrong)
    for by, wrong in zip(shifts.by, shifts.wrong, strict=True):
        assert wrong == pytest.approx(count(rows, margin > by))


@cases
def test_the_ends_are_the_constants(seed, weighted, levels):
    rows, margin = draw(seed, weighted=weighted, levels=levels)
    shifts = Shifts.of(rows, margin)
    assert (shifts.by[0], shifts.by[-1]) == (-np.inf, np.inf)
    assert np.isfinite(shifts.by[1:-1]).all()
    every, nobody = shifts.wrong[0], shifts.wrong[-1]
    assert every == pytest.approx(np.stack([rows.counts[0], np.zeros(3)]))
    assert nobody == pytest.approx(np.stack([np.zeros(3), rows.counts[1]]))


@cases
def test_no_row_is_on_a_threshold(seed, weighted, levels):
    """So it does not matter whether a tie counts as the target: > and >= are the same, and rounding does no harm."""
    rows, margin = draw(seed, weighted=weighted, levels=levels)
    inner = Shifts.of(rows, margin).by[1:-1]
    assert (np.diff(inner) > 0).all()
    distinct = np.unique(margin)
    assert len(inner) <= min(SHIFTS, len(distinct) - 1)
    for by in inner:
        assert abs(distinct - by).min() >= np.diff(distinct).min() / 2 - 1e-15


@pytest.mark.parametrize("levels", [2, 7, 40])
def test_a_small_tree_is_tried_at_every_threshold(levels):
    """Between any two of its leaves, unless that is the classifier as it is."""
    rows, margin = draw(0, n=2000, levels=levels)
    distinct = np.unique(margin)
    expected = {tuple(margin > cut) for cut in (distinct[:-1] + distinct[1:]) / 2}
    found = {tuple(margin > by) for by in Shifts.of(rows, margin).by[1:-1]}
    assert found == expected


def test_thresholds_are_at_the_quantiles():
    rows, margin = draw(1, n=5000)
    shares = [(margin <= by).mean() for by in Shifts.of(rows, margin).by[1:-1]]
    assert shares == pytest.approx(np.arange(1, SHIFTS + 1) / (SHIFTS + 1), abs=1 / 2500)


def test_whole_weights_are_copies_of_a_row():
    rng = np.random.default_rng(0)
    positive, group, margin = rng.random(400) < 0.4, rng.integers(0, 2, 400), rng.normal(size=400)
    times = rng.integers(0, 4, 400)
    weighted = Shifts.of(ErrorParity().rows(positive, group, 2, times.astype(float)), margin)
    copied = Shifts.of(ErrorParity().rows(positive.repeat(times), group.repeat(times), 2), margin.repeat(times))
    np.testing.assert_array_equal(weighted.wrong, copied.wrong)
    moved = [(margin.repeat(times) > by).tolist() for by in weighted.by]
    assert moved == [(margin.repeat(times) > by).tolist() for by in copied.by]


def test_rows_that_differ_by_rounding_are_not_told_apart():
    rows, margin = draw(0, n=1000, levels=5)
    rng = np.random.default_rng(0)
    jittered = margin * (1 + 1e-15 * rng.integers(-2, 3, 1000))
    one, other = Shifts.of(rows, margin), Shifts.of(rows, jittered)
    assert other.by == pytest.approx(one.by, abs=1e-12)
    np.testing.assert_array_equal(other.wrong, one.wrong)


def test_no_shift_is_the_classifier_as_it_is():
    """0 means unmoved, and that classifier is in the game already."""
    rows, _ = draw(0, n=300)
    margin = np.where(np.arange(300) % 2, 1.0, -1.0)
    assert Shifts.of(rows, margin).by.tolist() == [-np.inf, np.inf]
    margin[:150] = -3.0
    assert Shifts.of(rows, margin).by.tolist() == [-np.inf, -2.0, np.inf]


def test_equal_margins_leave_the_constants():
    rows, _ = draw(0, n=50)
    assert Shifts.of(rows, np.full(50, 0.3)).by.tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("levels", [None, 7], ids=["all different", "seven values"])
def test_many_rows_are_counted_at_thresholds_of_a_sample(levels):
    rng = np.random.default_rng(0)
    margin = rng.normal(size=70_000)
    if levels is not None:
        margin = np.round(margin)
    positive, group = rng.random(70_000) < 0.4, rng.integers(3, size=70_000)
    rows = EqualOpportunity().rows(positive, group, n_groups=3)
    shifts = Shifts.of(rows, margin)
    assert len(shifts.by) <= (102 if levels is None else len(np.unique(margin)) + 1)
    assert len(shifts.by) >= (102 if levels is None else 5)
    for by, wrong in list(zip(shifts.by, shifts.wrong, strict=True))[::9]:
        expected = rows.sums(1.0 * ((margin > by) != positive))
        np.testing.assert_array_equal(wrong, expected)
        assert not (margin == by).any()
    if levels is None:
        shares = [(margin > by).mean() for by in shifts.by]
        np.testing.assert_allclose(shares, np.linspace(1, 0, 102), atol=0.02)
