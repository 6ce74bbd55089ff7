import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from fairalm.datasets.images import coloured_digits
from fairalm.exceptions import InputError


def test_digits_are_scikit_learn_s():
    data, digits = coloured_digits(), load_digits()
    assert data.frame["digit"].tolist() == digits.target.tolist()
    assert data.y.tolist() == (digits.target >= 5).astype(int).tolist()
    grey = data.pixels.max(axis=3).astype(float)
    means = grey.reshape(len(grey), -1).mean(axis=1)
    inner = digits.images.reshape(len(grey), -1).mean(axis=1)
    assert np.corrcoef(means, inner)[0, 1] > 0.98


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 1.0])
def test_colour_has_the_correlation_asked_for(correlation):
    data = coloured_digits(correlation=correlation)
    red = (data.groups == "red").to_numpy(dtype=int)
    assert np.corrcoef(red, data.y)[0, 1] == pytest.approx(correlation, abs=0.05)
    shown = data.pixels[..., 0].sum(axis=(1, 2), dtype=int) > data.pixels[..., 2].sum(axis=(1, 2), dtype=int)
    assert (shown == red).all()


def test_both_cues_can_be_learnt_and_the_seed_decides():
    data = coloured_digits(correlation=0.0)
    X = data.pixels.reshape(len(data), -1)[:, ::7] / 255
    train, test = np.arange(1200), np.arange(1200, len(data))
    for labels, least in ((data.y, 0.8), (data.groups == "red", 0.99)):
        model = LogisticRegression(max_iter=300).fit(X[train], labels[train])
        assert model.score(X[test], labels[test]) > least
    assert (coloured_digits(50, random_state=3).pixels == coloured_digits(50, random_state=3).pixels).all()
    assert (coloured_digits(50, random_state=3).pixels != coloured_digits(50, random_state=4).pixels).any()


@pytest.mark.parametrize("arguments", [{"n": 1798}, {"n": 1}, {"n": 2.0}, {"correlation": 1.1}, {"correlation": -0.1}])
def test_settings_out_of_range(arguments):
    with pytest.raises(InputError, match="must"):
        coloured_digits(**arguments)
