"""AUC and KS against their definitions, and how often their intervals cover."""

import numpy as np
import pytest
from scipy.stats import ks_2samp, norm
from sklearn.metrics import roc_auc_score

from fairalm import InputError
from fairalm.measures.ranking import auc, ks


def drawn(rng, n1, n0, apart):
    return np.r_[np.ones(n1), np.zeros(n0)], np.r_[rng.normal(apart, 1, n1), rng.normal(0, 1, n0)]


@pytest.mark.parametrize("digits", [8, 1, 0])  # few digits make ties
def test_auc_is_that_of_scikit_learn_and_its_variance_delongs(digits):
    y, score = drawn(np.random.default_rng(0), 60, 140, 1.0)
    score = score.round(digits)
    measure = auc(y, score)
    assert measure.value == pytest.approx(roc_auc_score(y, score))
    # DeLong, DeLong and Clarke-Pearson (1988), pair by pair
    one, other = score[y == 1], score[y == 0]
    above = (one[:, None] > other) + 0.5 * (one[:, None] == other)
    variance = above.mean(axis=1).var(ddof=1) / len(one) + above.mean(axis=0).var(ddof=1) / len(other)
    odds = np.log(measure.value / (1 - measure.value))
    half = norm.ppf(0.975) * np.sqrt(variance) / (measure.value * (1 - measure.value))
    assert (measure.low, measure.high) == pytest.approx(tuple(1 / (1 + np.exp(-(odds + s * half))) for s in (-1, 1)))


@pytest.mark.parametrize("digits", [8, 0])
def test_ks_is_the_one_sided_statistic_of_scipy(digits):
    y, score = drawn(np.random.default_rng(1), 50, 90, 0.8)
    score = score.round(digits)
    measure = ks(y, score)
    assert measure.value == pytest.approx(ks_2samp(score[y == 1], score[y == 0], alternative="less").statistic)
    assert 0 <= measure.low <= measure.value <= measure.high <= 1


def test_the_order_is_all_that_matters():
    y, score = drawn(np.random.default_rng(2), 40, 80, 0.5)
    for measure in (auc, ks):
        assert measure(y, score) == measure(y, np.exp(3 * score))
        assert measure(y, score) == measure(y.astype(bool).tolist(), score.tolist())


def test_perfect_and_empty():
    perfect = auc([0] * 15 + [1] * 20, np.arange(35))
    assert (perfect.value, perfect.high) == (1.0, 1.0)
    assert 0.7 < perfect.low < 0.9
    assert ks([0] * 15 + [1] * 20, np.arange(35)).value == 1.0
    assert auc([1, 1], [0.1, 0.2]).note == "undefined (0 rows without the label)"
    assert ks([0, 0], [0.1, 0.2]).value is None
    assert auc([1, 0, 0], [1, 2, 3]).note == "small cell: 1 row with the label"
    constant = auc([0, 1] * 20, np.zeros(40))
    assert (constant.value, ks([0, 1] * 20, np.zeros(40)).value) == (0.5, 0.0)
    assert constant.low < 0.5 < constant.high


def test_wrong_input():
    with pytest.raises(InputError, match="one score per row"):
        auc([0, 1], [0.5])
    with pytest.raises(InputError, match="must be 0 and 1"):
        ks(["no", "yes"], [0.1, 0.2])
    with pytest.raises(InputError, match="1 scores are missing"):
        auc([0, 1], [0.1, np.nan])


@pytest.mark.parametrize(("n1", "n0", "apart"), [(50, 200, 0.5), (200, 200, 1.0)])
def test_intervals_cover(n1, n0, apart):
    rng = np.random.default_rng(3)
    truth = {auc: norm.cdf(apart / np.sqrt(2)), ks: 2 * norm.cdf(apart / 2) - 1}
    samples = [drawn(rng, n1, n0, apart) for _ in range(200)]
    for measure, true in truth.items():
        ends = [(one.low, one.high) for one in (measure(*sample) for sample in samples)]
        covered = np.mean([low <= true <= high for low, high in ends])
        assert 0.9 <= covered <= 1.0, measure.__name__  # 0.95, give or take three standard errors of 200 samples
