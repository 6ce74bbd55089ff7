import numpy as np
import pytest

from fairalm.exceptions import InputError
from fairalm.measures import Measure, deo, people_to_settle


def two_groups(n, tpr0, tpr1):
    y_pred = [1] * round(n * tpr0) + [0] * round(n * (1 - tpr0)) + [1] * round(n * tpr1) + [0] * round(n * (1 - tpr1))
    return deo([1] * (2 * n), y_pred, sensitive_features=np.repeat(["F", "M"], n))


def test_people_to_settle_is_about_enough():
    measure = two_groups(100, 0.80, 0.74)
    needed = people_to_settle(measure, 0.01)
    assert needed > 500
    more = two_groups(round(needed * 1.3), 0.80, 0.74)
    assert more.low > 0.01
    fewer = two_groups(round(needed * 0.5), 0.80, 0.74)
    assert fewer.low < 0.01


def test_people_to_settle_when_decided_or_undecidable():
    decided = Measure("deo", 0.3, low=0.2, high=0.4, n=200, n_min=80)
    assert people_to_settle(decided, 0.01) == 80
    assert people_to_settle(Measure("deo", 0.01, low=0.0, high=0.1, n=200, n_min=80), 0.01) is None
    assert people_to_settle(Measure("deo", 0.3, low=None, high=None, n=200, n_min=80, split="train"), 0.01) is None
    with pytest.raises(InputError, match="`tol` must be 0 or more"):
        people_to_settle(decided, -0.1)
