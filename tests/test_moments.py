import re
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

from fairalm.cells import Cells, Compared, Event, Rows
from fairalm.constraints import CONSTRAINTS, Constraint, EqualizedOdds, ErrorParity
from fairalm.moments import Moments, contrast, is_pair, spread_of


@dataclass(frozen=True, kw_only=True)
class ErrorAndOpportunity(Constraint):
    """A criterion as a user writes it: its two events overlap."""

    name = "error-and-opportunity"

    def events(self, y):
        return (Event("all"), Event("y=target", mask=y))


@dataclass(frozen=True, kw_only=True)
class PrecisionAndSelection(Constraint):
    """A fractional event on some of the rows beside a linear one."""

    def events(self, y):
        h = 1.0 * y
        fractional = Event("y=target", mask=y, sign=1 - 3 * h, base=0.5, over_sign=1 - 2 * h, over_base=h + 0.25)
        return (fractional, Event("all", sign=1 - 2 * h, base=h))


CRITERIA = [*CONSTRAINTS.values(), ErrorAndOpportunity, PrecisionAndSelection]
every_criterion = pytest.mark.parametrize("criterion", CRITERIA, ids=lambda criterion: criterion.__name__)
every_size = pytest.mark.parametrize("n_groups", [2, 3, 5])
with_and_without = pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])


def make_people(n_groups, weighted, n=120, seed=0):
    rng = np.random.default_rng(seed + n_groups)
    y, group, loss = rng.random(n) < 0.4, rng.integers(0, n_groups, n), rng.random(n)
    return y, group, loss, rng.uniform(0.1, 4, n) if weighted else None


def at(value, i):
    """The entry of person i of something that may be one number for all."""
    return float(value if np.ndim(value) == 0 else value[i])


def slow_moments(events, group, n_groups, loss, people):
    """The docstring of Event, person by person."""
    people = np.ones(len(group)) if people is None else people
    mu, counts = np.zeros((len(events), n_groups)), np.zeros((len(events), n_groups))
    for e, event in enumerate(events):
        for k in range(n_groups):
            above = below = 0.0
            for i in range(len(group)):
                if group[i] != k or (event.mask is not None and not event.mask[i]):
                    continue
                above += people[i] * (at(event.base, i) + at(event.sign, i) * loss[i])
                if event.over_sign is None:
                    below += people[i]
                else:
                    below += people[i] * (at(event.over_base, i) + at(event.over_sign, i) * loss[i])
            counts[e, k] = below
            mu[e, k] = above / below if below else 0.0
    return mu, counts


@every_criterion
@every_size
@with_and_without
def test_moments_are_those_of_a_loop(criterion, n_groups, weighted):
    y, group, loss, people = make_people(n_groups, weighted)
    cells = criterion().rows(y, group, n_groups, people)
    moments = cells.moments(loss)
    mu, counts = slow_moments(criterion().events(y), group, n_groups, loss, people)
    assert moments.mu == pytest.approx(mu)
    assert moments.counts == pytest.approx(counts)
    assert moments.total == pytest.approx(len(y) if people is None else people.sum())
    assert cells.cells.names == tuple(event.name for event in criterion().events(y))
    assert cells.cells.is_linear == all(event.over_sign is None for event in criterion().events(y))


@every_criterion
@every_size
@with_and_without
def test_sample_weight_is_the_derivative_by_each_loss(criterion, n_groups, weighted):
    """Of mean loss + sum of weight × mu, by central differences, one person at a time."""
    y, group, loss, people = make_people(n_groups, weighted, n=40)
    events = criterion().events(y)
    cells = criterion().rows(y, group, n_groups, people)
    table = np.random.default_rng(1).normal(size=(len(events), n_groups))

    def objective(losses):
        plain = np.average(losses, weights=people)
        return plain + (table * slow_moments(events, group, n_groups, losses, people)[0]).sum()

    step = 1e-5
    slopes = [(objective(loss + step * e) - objective(loss - step * e)) / (2 * step) for e in np.eye(len(loss))]
    assert cells.sample_weight(table, cells.moments(loss)) == pytest.approx(slopes, rel=1e-6, abs=1e-8)


@with_and_without
def test_no_weights_in_the_table_leave_the_plain_ones(weighted):
    y, group, loss, people = make_people(3, weighted)
    cells = ErrorAndOpportunity().rows(y, group, 3, people)
    plain = np.full(len(y), 1 / len(y)) if people is None else people / people.sum()
    assert cells.sample_weight(np.zeros((2, 3)), cells.moments(loss)) == pytest.approx(plain)


def test_overlapping_events_add_up():
    y = np.array([True, True, False, False, True])
    group = np.array([0, 0, 0, 1, 1])
    cells = ErrorAndOpportunity().rows(y, group, 2)
    moments = cells.moments([1, 0, 1, 0, 1])
    assert moments.mu.tolist() == [[2 / 3, 1 / 2], [1 / 2, 1]]
    assert moments.counts.tolist() == [[3, 2], [2, 1]]
    assert moments.gap == pytest.approx(np.array([[1 / 6], [-1 / 2]]))
    weights = cells.sample_weight(np.array([[0.3, -0.3], [0.5, -0.5]]), moments)
    both = [1 / 5 + 0.3 / 3 + 0.5 / 2, 1 / 5 + 0.3 / 3 + 0.5 / 2]
    assert weights == pytest.approx([*both, 1 / 5 + 0.3 / 3, 1 / 5 - 0.3 / 2, 1 / 5 - 0.3 / 2 - 0.5 / 1])


@every_criterion
def test_whole_weights_are_copies_of_a_person(criterion):
    y, group, loss, _ = make_people(3, weighted=False)
    times = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = criterion().rows(y, group, 3, times)
    copied = criterion().rows(y.repeat(times), group.repeat(times), 3)
    one, other = weighted.moments(loss), copied.moments(loss.repeat(times))
    assert one.mu == pytest.approx(other.mu)
    assert one.counts == pytest.approx(other.counts)
    table = np.random.default_rng(3).normal(size=one.mu.shape)
    spread = np.zeros(len(y))
    np.add.at(spread, np.arange(len(y)).repeat(times), copied.sample_weight(table, other))
    assert weighted.sample_weight(table, one) == pytest.approx(spread)


@every_criterion
def test_scale_of_sample_weights_does_not_matter(criterion):
    y, group, loss, people = make_people(3, weighted=True)
    one, other = criterion().rows(y, group, 3, people), criterion().rows(y, group, 3, 1e-3 * people)
    assert other.moments(loss).mu == pytest.approx(one.moments(loss).mu)
    assert other.moments(loss).row_share == pytest.approx(one.moments(loss).row_share)
    table = np.random.default_rng(0).normal(size=one.moments(loss).mu.shape)
    expected = one.sample_weight(table, one.moments(loss))
    assert other.sample_weight(table, other.moments(loss)) == pytest.approx(expected)


def test_people_of_weight_zero_make_an_empty_cell():
    cells = ErrorParity().rows([0, 1, 0], np.array([0, 1, 1]), 2, np.array([0.0, 1.0, 2.0]))
    moments = cells.moments([1, 1, 0])
    assert moments.counts.tolist() == [[0, 3]]
    assert moments.mu == pytest.approx(np.array([[0, 1 / 3]]))
    assert moments.gap.tolist() == [[0.0]]
    assert cells.sample_weight(np.array([[5.0, 0.0]]), moments) == pytest.approx([0, 1 / 3, 2 / 3])


def test_moments_leave_the_cells_as_they_were():
    """A fractional event's counts belong to the losses, not to the cells."""
    y, group, loss, _ = make_people(2, weighted=False)
    cells = PrecisionAndSelection().rows(y, group, 2)
    first = cells.moments(loss)
    cells.moments(1 - loss)
    again = cells.moments(loss)
    np.testing.assert_array_equal(first.counts, again.counts)
    np.testing.assert_array_equal(first.mu, again.mu)


def test_losses_may_be_booleans_or_a_list():
    cells = ErrorParity().rows([0, 1, 0], np.array([0, 0, 1]), 2)
    assert cells.moments([True, False, True]).mu.tolist() == [[0.5, 1.0]]
    assert cells.moments(np.array([1, 0, 1])).mu.tolist() == [[0.5, 1.0]]


# contrast


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([10, 30], [[1, -1]]),
        ([0, 30], [[0, 0]]),
        ([10, 0], [[0, 0]]),
        ([0, 0], [[0, 0]]),
        ([1, 1, 2], [[0.75, -0.25, -0.5], [-0.25, 0.75, -0.5], [-0.25, -0.25, 0.5]]),
        ([1, 0, 3], [[0.75, 0, -0.75], [0, 0, 0], [-0.25, 0, 0.25]]),
        ([0, 5, 0], [[0, 0, 0]] * 3),
        ([0, 0, 0], [[0, 0, 0]] * 3),
    ],
)
@pytest.mark.parametrize("dtype", [float, int])
def test_contrast(counts, expected, dtype):
    assert contrast(np.array([counts], dtype=dtype)) == pytest.approx(np.array([expected], dtype=float))


def test_contrast_is_taken_event_by_event():
    counts = np.array([[1.0, 1.0, 2.0], [5.0, 0.0, 5.0]])
    stacked = np.stack([contrast(counts[:1])[0], contrast(counts[1:])[0]])
    assert contrast(counts) == pytest.approx(stacked)


@every_size
def test_gap(n_groups):
    """Two groups: mu0 - mu1. More: each group less the event's mean, so that the gaps' mean over people is 0."""
    rng = np.random.default_rng(n_groups)
    mu, counts = rng.random((2, n_groups)), rng.integers(1, 50, (2, n_groups)).astype(float)
    moments = Moments(mu, counts, 500.0)
    for event in range(2):
        if n_groups == 2:
            expected = [mu[event, 0] - mu[event, 1]]
        else:
            mean = np.average(mu[event], weights=counts[event])
            expected = [m - mean for m in mu[event]]
            assert (moments.gap[event] * counts[event]).sum() == pytest.approx(0, abs=1e-12)
        assert moments.gap[event] == pytest.approx(expected)
    largest = [max(abs(a - b) for a in row for b in row) for row in mu]
    assert moments.spread == pytest.approx(np.array(largest)[:, None])
    assert moments.max_gap == pytest.approx(max(largest))


@every_size
def test_rows_within_their_tolerance_keep_any_two_groups_within_it(n_groups):
    """tol for the gap of a pair, tol / 2 for deviations from a mean: then the spread is at most tol."""
    rng, tol = np.random.default_rng(n_groups), 0.06
    counts = rng.integers(1, 50, (1, n_groups)).astype(float)
    for _ in range(200):
        moments = Moments(0.3 + rng.uniform(-0.04, 0.04, (1, n_groups)), counts, 500.0)
        row_tol = moments.row_tolerance(tol)
        assert row_tol == (tol if n_groups == 2 else tol / 2)
        if abs(moments.gap).max() <= row_tol:
            assert moments.max_gap <= tol + 1e-12
    at_the_limit = Moments(np.array([[0.3 + tol / 2, 0.3 - tol / 2] + [0.3] * (n_groups - 2)]), counts * 0 + 1, 10.0)
    assert at_the_limit.max_gap == pytest.approx(tol)
    assert abs(at_the_limit.gap).max() == pytest.approx(at_the_limit.row_tolerance(tol))


def test_empty_cells_are_left_out_of_the_spread():
    counts = np.array([[5.0, 0.0, 5.0], [0.0, 0.0, 5.0], [5.0, 5.0, 5.0]])
    moments = Moments(np.array([[0.5, 0.0, 0.4], [0.0, 0.0, 0.9], [0.1, 0.3, 0.2]]), counts, 15.0)
    assert moments.spread == pytest.approx(np.array([[0.1], [0.0], [0.2]]))
    assert moments.max_gap == pytest.approx(0.2)


# Several protected attributes, each on its own: two sexes and three races, crossed in six groups.

BLOCKS = (2, 3)
MEMBERSHIP = np.array(
    [[sex == a for a in range(2)] + [race == b for b in range(3)] for sex in (0, 1) for race in range(3)]
)
COMPARED = Compared(MEMBERSHIP.astype(float), BLOCKS)


def make_crossed(weighted, n=200):
    rng = np.random.default_rng(7)
    y, sex, race = rng.random(n) < 0.4, rng.integers(0, 2, n), rng.integers(0, 3, n)
    return y, sex, race, rng.random(n), rng.uniform(0.1, 4, n) if weighted else None


def compared_rows(criterion, y, sex, race, people):
    return Rows(Cells.of(criterion(), 6, COMPARED), y, 3 * sex + race, people)


@every_criterion
@with_and_without
def test_attributes_are_compared_each_on_its_own(criterion, weighted):
    """The moments are those of two constraints side by side, one by sex and one by race."""
    y, sex, race, loss, people = make_crossed(weighted)
    moments = compared_rows(criterion, y, sex, race, people).moments(loss)
    events = criterion().events(y)
    parts = [slow_moments(events, own, k, loss, people) for own, k in ((sex, 2), (race, 3))]
    assert moments.mu == pytest.approx(np.hstack([mu for mu, _ in parts]))
    assert moments.counts == pytest.approx(np.hstack([counts for _, counts in parts]))
    assert moments.total == pytest.approx(len(y) if people is None else people.sum())
    assert moments.blocks == BLOCKS
    expected = np.array([[np.ptp(mu[event]) for mu, _ in parts] for event in range(len(events))])
    assert moments.spread == pytest.approx(expected)
    assert moments.max_gap == pytest.approx(expected.max())
    assert moments.row_tolerance(0.02) == 0.01
    deviations = [mu - np.sum(mu * n, axis=1, keepdims=True) / n.sum(axis=1, keepdims=True) for mu, n in parts]
    assert moments.gap == pytest.approx(np.hstack(deviations))


@every_criterion
@with_and_without
def test_weights_of_attributes_add_up_on_a_row(criterion, weighted):
    """The derivative of mean loss + sum of weight × mu over the cells of both attributes, by central differences."""
    y, sex, race, loss, people = make_crossed(weighted, n=40)
    events, rows = criterion().events(y), compared_rows(criterion, y, sex, race, people)
    table = np.random.default_rng(1).normal(size=(len(events), 5))

    def objective(losses):
        by_sex, by_race = (slow_moments(events, own, k, losses, people)[0] for own, k in ((sex, 2), (race, 3)))
        return np.average(losses, weights=people) + (table * np.hstack([by_sex, by_race])).sum()

    step = 1e-5
    slopes = [(objective(loss + step * e) - objective(loss - step * e)) / (2 * step) for e in np.eye(len(loss))]
    assert rows.sample_weight(table, rows.moments(loss)) == pytest.approx(slopes, rel=1e-6, abs=1e-8)


def test_loss_weights_of_attributes_by_hand():
    """Female × Black has the weights of both its cells: 0.3 / 4 of the women with y and 0.5 / 3 of the Black ones."""
    y = np.ones(6, dtype=bool)
    sex, race = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 0, 1])
    rows = Rows(Cells.of(ErrorParity(), 6, COMPARED), y, 3 * sex + race)
    moments = rows.moments(np.array([1, 0, 1, 0, 1, 1]))
    assert moments.mu == pytest.approx(np.array([[2 / 4, 1, 2 / 3, 1, 0]]))
    table = rows.cells.loss_weights(np.array([[0.3, -0.3, 0.5, -0.1, -0.4]]), moments)
    assert table.shape == (2, 6)
    expected = [
        [0.3 / 4 + 0.5 / 3, 0.3 / 4 - 0.1 / 2, 0.3 / 4 - 0.4],
        [-0.3 / 2 + 0.5 / 3, -0.3 / 2 - 0.1 / 2, -0.3 / 2 - 0.4],
    ]
    assert table == pytest.approx(np.tile(np.ravel(expected), (2, 1)))
    assert rows.sizes.tolist() == [[4, 2, 3, 2, 1]]


def test_contrast_of_attributes_is_block_by_block():
    counts = np.array([[10.0, 30.0, 5.0, 15.0, 20.0], [10.0, 30.0, 5.0, 0.0, 35.0]])
    expected = np.zeros((2, 5, 5))
    for event in range(2):
        for columns in ([0, 1], [2, 3, 4]):
            share = counts[event, columns] / counts[event, columns].sum()
            expected[event][np.ix_(columns, columns)] = np.eye(len(columns)) - share
    expected[1, 3] = 0  # the row of an empty cell
    assert contrast(counts, BLOCKS) == pytest.approx(expected)
    moments = Moments(np.random.default_rng(0).random((2, 5)), counts, 80.0, BLOCKS)
    assert moments.row_share == pytest.approx(counts / 80)
    pulled = moments.pull(np.random.default_rng(1).normal(size=(2, 5)))
    for columns in ([0, 1], [2, 3, 4]):
        assert pulled[:, columns].sum(axis=1) == pytest.approx(np.zeros(2), abs=1e-12)


def test_one_attribute_with_blocks_is_one_without():
    counts = np.array([[10.0, 30.0, 20.0]])
    assert contrast(counts, (3,)) == pytest.approx(contrast(counts))
    assert contrast(counts[:, :2], (2,)) == pytest.approx(np.array([[[1.0, -1.0]]]))
    assert is_pair(2)
    assert is_pair(2, (2,))
    assert not is_pair(2, (1, 1))
    assert not is_pair(3)


def test_spread_of_many_at_once():
    mu = np.random.default_rng(0).random((7, 2, 5))
    found = spread_of(mu, BLOCKS)
    assert found.shape == (7, 2, 2)
    for n in range(7):
        for event in range(2):
            assert found[n, event] == pytest.approx([np.ptp(mu[n, event, :2]), np.ptp(mu[n, event, 2:])])


def test_attributes_go_with_the_cells_into_other_arrays():
    torch = pytest.importorskip("torch")
    y, sex, race, loss, _ = make_crossed(weighted=False)
    rows = Rows(Cells.of(EqualizedOdds(), 6, COMPARED), y, 3 * sex + race)
    sums = np.vstack([rows.counts, rows.sums(loss)])
    there = rows.cells.map(torch.from_numpy).moments(torch.from_numpy(sums))
    assert there.mu.numpy() == pytest.approx(rows.moments(loss).mu)
    assert there.gap.numpy() == pytest.approx(rows.moments(loss).gap)
    assert there.spread.numpy() == pytest.approx(rows.moments(loss).spread)


@every_size
def test_pull_is_the_transpose_of_the_gap(n_groups):
    rng = np.random.default_rng(n_groups)
    counts = rng.integers(0, 4, (3, n_groups)).astype(float)  # some cells are empty
    moments = Moments(rng.random((3, n_groups)), counts, 500.0)
    rows = rng.normal(size=moments.gap.shape)
    pulled = moments.pull(rows)
    assert pulled.shape == (3, n_groups)
    assert (pulled * moments.mu).sum(axis=1) == pytest.approx((rows * moments.gap).sum(axis=1))
    assert pulled.sum(axis=1) == pytest.approx(np.zeros(3), abs=1e-12)  # equal means cost nothing


def test_row_share_of_two_groups():
    moments = Moments(np.zeros((2, 2)), np.array([[10.0, 30.0], [5.0, 0.0]]), 80.0)
    assert moments.row_share == pytest.approx(np.array([[1 / (80 / 10 + 80 / 30)], [0.0]]))


def test_row_share_of_more_groups():
    moments = Moments(np.zeros((1, 3)), np.array([[10.0, 30.0, 0.0]]), 80.0)
    assert moments.row_share == pytest.approx(np.array([[1 / 8, 3 / 8, 0.0]]))


@every_size
@pytest.mark.parametrize("criterion", ["equal-opportunity", "error-parity"])
def test_row_share_is_one_plain_weight(criterion, n_groups):
    """That multiplier sets the row's people one plain weight (1/n) apart from the others in the event."""
    y, group, loss, _ = make_people(n_groups, weighted=False)
    cells = CONSTRAINTS[criterion]().rows(y, group, n_groups)
    moments = cells.moments(loss)
    inside = y if criterion == "equal-opportunity" else np.ones(len(y), dtype=bool)
    for row in range(moments.gap.shape[1]):
        multiplier = np.zeros_like(moments.gap)
        multiplier[0, row] = moments.row_share[0, row]
        weights = cells.sample_weight(moments.pull(multiplier), moments)
        own, other = weights[inside & (group == row)], weights[inside & (group != row)]
        assert own == pytest.approx(np.full(len(own), other[0] + 1 / len(y)))
        assert np.ptp(other) == pytest.approx(0, abs=1e-15)
        assert weights[~inside] == pytest.approx(np.full((~inside).sum(), 1 / len(y)))


def test_moments_and_events_are_frozen():
    with pytest.raises(FrozenInstanceError, match=re.escape("cannot assign to field 'mu'")):
        Moments(np.zeros((1, 2)), np.ones((1, 2)), 2.0).mu = 1
    with pytest.raises(FrozenInstanceError):
        Event("all").sign = -1.0
