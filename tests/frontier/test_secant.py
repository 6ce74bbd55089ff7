"""The secant method for a place where nothing is to be changed."""

import numpy as np
import pytest

from fairalm.frontier.secant import Secant


def steps(wanted, place, n=12):
    secant = Secant()
    for _ in range(n):
        place = secant.after(place, wanted(place) - place)
    return place


@pytest.mark.parametrize("slope", [-4.0, -0.9, 0.0, 0.5])
def test_it_finds_the_place_of_a_linear_map(slope):
    place = steps(lambda x: slope * x + np.array([1.0, -2.0]), np.array([0.3, 5.0]))
    np.testing.assert_allclose(place, np.array([1.0, -2.0]) / (1 - slope), atol=1e-3)


def test_it_settles_where_a_map_jumps_over_the_place():
    """Rates of a few rows jump: no place wants no change, and the steps end next to the jump."""
    place = steps(lambda x: np.where(x < 0.2, 0.7, -0.4), np.zeros(1), n=30)
    assert abs(place - 0.2).max() < 0.1
