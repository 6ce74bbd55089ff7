import numpy as np
import pytest

from fairalm.frontier.mending import FEWEST, member_columns, mended, target_columns


def sigmoid(score):
    return 1 / (1 + np.exp(-score))


def draw(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    return score, rng.random(n) < sigmoid(score)


def both(target):
    return np.column_stack([1 - target, target])


@pytest.mark.parametrize("seed", range(5))
def test_right_probabilities_hardly_change(seed):
    score, labels = draw(seed=seed)
    target = sigmoid(score)
    model = mended(target_columns(target), both(target), labels, np.ones(len(labels)))
    assert model is None or abs(model.predict_proba(target_columns(target))[:, 1] - target).max() < 0.06


def test_what_chance_alone_would_mend_is_left_alone():
    """Of right probabilities, many are given back as they are: mending must lower the log loss on rows not seen."""
    left_alone = 0
    for seed in range(20):
        score, labels = draw(seed=seed)
        target = sigmoid(score)
        left_alone += mended(target_columns(target), both(target), labels, np.ones(len(labels))) is None
    assert left_alone >= 8


@pytest.mark.parametrize("wrong", [lambda s: sigmoid(3 * s), lambda s: sigmoid(s / 4), lambda s: sigmoid(s + 1)])
def test_wrong_probabilities_are_mended(wrong):
    """Too sure, not sure enough, and shifted."""
    score, labels = draw()
    target = wrong(score)
    model = mended(target_columns(target), both(target), labels, np.ones(len(labels)))
    right = model.predict_proba(target_columns(target))[:, 1]
    assert abs(right - sigmoid(score)).max() < 0.1
    assert abs(target - sigmoid(score)).max() > 0.15


def test_without_an_intercept_one_half_stays_one_half():
    score, labels = draw()
    target = sigmoid(3 * score)
    model = mended(target_columns(target), both(target), labels, np.ones(len(labels)), intercept=False)
    right = model.predict_proba(target_columns(target))[:, 1]
    np.testing.assert_array_equal(right > 0.5, target > 0.5)
    assert abs(right - sigmoid(score)).max() < 0.1
    assert model.predict_proba(target_columns(np.array([0.5])))[0, 1] == 0.5


def test_probabilities_are_not_turned_round():
    """A model that is worse than chance is left as it is: what it predicts is the user's choice."""
    score, labels = draw()
    target = sigmoid(-score)
    assert mended(target_columns(target), both(target), labels, np.ones(len(labels)), intercept=False) is None


def test_mending_groups_by_the_odds_of_the_target():
    """Right on the whole, wrong at each score: the groups' shares change with the odds, the given ones do not."""
    score, _ = draw(6000)
    rng = np.random.default_rng(1)
    group = (rng.random(6000) < sigmoid(2 * score)).astype(int)
    given = np.full((6000, 2), [1 - group.mean(), group.mean()])
    columns = member_columns(given, sigmoid(score))
    model = mended(columns, given, group, np.ones(6000))
    assert abs(model.predict_proba(columns)[:, 1] - sigmoid(2 * score)).max() < 0.06


def test_probabilities_of_0_and_1_are_finite():
    for target in (0.0, 1.0):
        assert np.isfinite(target_columns(np.array([target]))).all()
        assert np.isfinite(member_columns(np.eye(3)[:1], np.array([target]))).all()


def test_too_few_rows_are_left_alone():
    score, labels = draw()
    target = sigmoid(score + 2)
    rare = labels & (np.cumsum(labels) <= FEWEST - 1)
    keep = rare | ~labels
    weight = np.ones(keep.sum())
    assert mended(target_columns(target[keep]), both(target[keep]), labels[keep], weight) is None
    rare = labels & (np.cumsum(labels) <= FEWEST)
    keep = rare | ~labels
    assert mended(target_columns(target[keep]), both(target[keep]), labels[keep], np.ones(keep.sum())) is not None


def test_a_group_without_rows_is_left_alone():
    score, labels = draw()
    given = np.column_stack([both(sigmoid(score + 2)) * 0.9, np.full(len(score), 0.1)])
    assert mended(member_columns(given, sigmoid(score)), given, labels.astype(int), np.ones(len(score))) is None


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_the_weights_does_not_matter(scale):
    score, labels = draw(500)
    weight = np.random.default_rng(0).exponential(size=500)
    columns, given = target_columns(sigmoid(3 * score)), both(sigmoid(3 * score))
    one, other = (mended(columns, given, labels, factor * weight) for factor in (1, scale))
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)


def test_weights_count():
    score, labels = draw()
    columns, given = target_columns(sigmoid(score)), both(sigmoid(score))
    heavy = mended(columns, given, labels, np.where(labels, 5.0, 1.0))
    assert (heavy.predict_proba(columns)[:, 1] > sigmoid(score) + 0.01).mean() > 0.9
