import numpy as np
import pytest

from fairalm._validation import Groups
from fairalm.exceptions import InputError
from fairalm.measures import bin_scores


def counts(binned):
    return {(name, label): row for name, labels in binned["counts"].items() for label, row in labels.items()}


def people(n, n_groups=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.choice(n_groups, n, p=np.array([6, 3, 1][:n_groups]) / sum([6, 3, 1][:n_groups]))
    return rng, rng.random(n) < 0.3, Groups(codes.astype(np.int64), ("a", "b", "c")[:n_groups])


@pytest.mark.parametrize("n", [60, 400, 5000])
@pytest.mark.parametrize("min_cell", [2, 10])
@pytest.mark.parametrize("scale", ["probability", "decision"])
def test_no_bin_holds_few_people(n, min_cell, scale):
    rng, positive, groups = people(n)
    scores = rng.random(n) if scale == "probability" else 7 * rng.standard_normal(n) - 3
    binned = bin_scores(scores, positive, groups, min_cell=min_cell)
    for (name, label), row in counts(binned).items():
        total = int(((groups.codes == "abc".index(name)) & (positive == (label == "target"))).sum())
        if 0 < total < min_cell:
            assert row is None
        else:
            assert sum(row) == total
            assert all(count == 0 or count >= min_cell for count in row)
            assert len(row) == len(binned["edges"]) - 1


def test_counts_are_those_of_a_histogram():
    rng, positive, groups = people(5000, n_groups=2)
    scores = rng.random(5000)
    binned = bin_scores(scores, positive, groups)
    assert len(binned["edges"]) > 15
    expected, _ = np.histogram(scores[positive & (groups.codes == 1)], binned["edges"])
    assert binned["counts"]["b"]["target"] == expected.tolist()


def test_merging_gives_as_many_bins_as_possible():
    scores = np.repeat([0.12, 0.42, 0.62, 0.92], [10, 4, 6, 10])
    binned = bin_scores(scores, np.ones(30, bool), Groups(np.zeros(30, np.int64), ("a",)))
    assert [count for count in binned["counts"]["a"]["target"] if count] == [10, 10, 10]


def test_no_edge_is_anybodys_score_and_outliers_do_not_stretch_the_bins():
    rng, positive, groups = people(2000, n_groups=2)
    scores = rng.standard_normal(2000)
    scores[0] = 1234.567
    binned = bin_scores(scores, positive, groups)
    assert not np.isin(binned["edges"], scores).any()
    assert binned["edges"][-1] < 10
    assert sum(sum(row) for row in counts(binned).values()) == 2000


def test_rows_left_out_of_the_groups_are_not_counted():
    codes = np.array([0] * 20 + [-1] * 5)
    binned = bin_scores(np.linspace(0, 1, 25), np.ones(25, bool), Groups(codes, ("a",)))
    assert sum(binned["counts"]["a"]["target"]) == 20


@pytest.mark.parametrize("constant", [0.5, -3.2, 0.0, 1e12])
def test_constant_scores(constant):
    binned = bin_scores(np.full(30, constant), np.ones(30, bool), Groups(np.zeros(30, np.int64), ("a",)))
    assert sum(binned["counts"]["a"]["target"]) == 30
    assert binned["edges"] == sorted(set(binned["edges"]))
    assert binned["edges"][0] <= constant <= binned["edges"][-1]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.1, 0.9]] * 3, r"one column, the target's; got shape \(3, 2\)"),
        ([0.1, 0.2], "has 2 rows, the data has 3"),
        ([0.1, np.nan, np.inf], "2 missing or infinite values"),
    ],
)
def test_bad_scores_are_refused(scores, message):
    with pytest.raises(InputError, match=message):
        bin_scores(scores, np.ones(3, bool), Groups(np.zeros(3, np.int64), ("a",)))


def test_bad_min_cell_is_refused():
    with pytest.raises(InputError, match="`min_cell` must be 1 or more"):
        bin_scores([0.1], np.ones(1, bool), Groups(np.zeros(1, np.int64), ("a",)), min_cell=0)
