"""The gap that sampling shows, against draws and against the large-sample formula."""

import math

import numpy as np
import pytest

from fairalm import InputError
from fairalm.measures.chance import chance_gap


@pytest.mark.parametrize(("rate", "n0", "n1"), [(0.5, 3, 8), (0.997, 212, 3700), (0.2, 40, 40), (0.0, 5, 5)])
def test_it_is_the_mean_of_draws(rate, n0, n1):
    rng = np.random.default_rng(0)
    gaps = abs(rng.binomial(n0, rate, 200_000) / n0 - rng.binomial(n1, rate, 200_000) / n1)
    assert chance_gap(rate, n0, n1) == pytest.approx(gaps.mean(), abs=5 * gaps.std() / math.sqrt(200_000))


def test_many_people_give_the_normal_formula():
    spread = math.sqrt(0.3 * 0.7 * (1 / 5000 + 1 / 8000))
    assert chance_gap(0.3, 5000, 8000) == pytest.approx(math.sqrt(2 / math.pi) * spread, rel=1e-3)


@pytest.mark.parametrize("bad", [(1.2, 5, 5), (float("nan"), 5, 5), (0.5, 0, 5)])
def test_bad_input(bad):
    with pytest.raises(InputError, match=r"`rate` must lie in \[0, 1\]"):
        chance_gap(*bad)
