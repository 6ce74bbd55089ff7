"""Rates from probabilities: with certain ones, the rates themselves."""

from dataclasses import dataclass

import numpy as np
import pytest

from fairalm import (
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorParity,
    InputError,
    PredictiveEquality,
    PredictiveParity,
)
from fairalm.cells import Compared, Event
from fairalm.frontier.joint import Joint, Rates, populations_of, shares_of, slopes_of

LINEAR = (EqualOpportunity, PredictiveEquality, EqualizedOdds, ErrorParity, DemographicParity)


@dataclass(frozen=True, kw_only=True)
class WeighedErrors(Constraint):
    """A user's own: a false negative counts three times a false positive."""

    def events(self, y):
        return (Event("all", sign=1.0 + 2.0 * y),)


def random_joint(n=300, n_groups=3, seed=0):
    rng = np.random.default_rng(seed)
    members = {name: rng.dirichlet(np.ones(n_groups), n) for name in ("other", "target", "everyone")}
    return Joint(rng.random(n), members)


def rates_of(constraint, joint, compared=None):
    populations = populations_of([constraint])
    parts = joint.parts(populations)
    return Rates.of(constraint, populations, parts.sum(axis=0).reshape(len(populations), -1), compared), parts


@pytest.mark.parametrize("constraint", [*LINEAR, WeighedErrors])
@pytest.mark.parametrize("seed", range(3))
def test_rates_of_certain_labels_and_groups_are_those_of_the_moments(constraint, seed):
    rng = np.random.default_rng(seed)
    y, group, chosen = rng.random(200) < 0.4, rng.integers(3, size=200), rng.random(200) < 0.6
    certain = np.eye(3)[group]
    joint = Joint(y.astype(float), {"other": certain, "target": certain, "everyone": certain})
    rates, parts = rates_of(constraint(), joint)
    expected = constraint().rows(y, group, 3).moments(chosen != y).mu
    np.testing.assert_allclose(rates.values(chosen @ parts), expected, atol=1e-12)


def test_rates_of_attributes_one_by_one():
    rng = np.random.default_rng(0)
    y, group, chosen = rng.random(200) < 0.4, rng.integers(4, size=200), rng.random(200) < 0.6
    membership = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1.0]])
    compared = Compared(membership, (2, 2))
    certain = np.eye(4)[group]
    rates, parts = rates_of(EqualizedOdds(), Joint(y * 1.0, {"other": certain, "target": certain}), compared)
    expected = EqualizedOdds().rows(y, group, 4, compared=compared).moments(chosen != y).mu
    np.testing.assert_allclose(rates.values(chosen @ parts), expected, atol=1e-12)


@pytest.mark.parametrize("constraint", [EqualOpportunity, PredictiveEquality, EqualizedOdds, DemographicParity])
def test_predicting_all_or_none_gives_rates_of_exactly_0_or_1(constraint):
    """By the estimated mass of a cell, not by the observed one."""
    joint = random_joint()
    rates, parts = rates_of(constraint(), joint)
    for chosen in (np.zeros(300), np.ones(300)):
        values = rates.values(chosen @ parts)
        for slope, value in zip(slopes_of(constraint()), values, strict=True):
            np.testing.assert_allclose(value, chosen[0] if slope > 0 else 1 - chosen[0], atol=1e-12)


def test_slopes():
    assert slopes_of(EqualOpportunity()) == [-1]
    assert slopes_of(PredictiveEquality()) == [1]
    assert slopes_of(EqualizedOdds()) == [-1, 1]
    assert slopes_of(DemographicParity()) == [1]
    assert slopes_of(ErrorParity()) == [0]
    assert slopes_of(WeighedErrors()) == [0]


def test_populations_of_several_constraints_in_a_fixed_order():
    assert populations_of([EqualOpportunity()]) == ("target",)
    assert populations_of([ErrorParity()]) == ("other", "target")
    assert populations_of([DemographicParity(), EqualizedOdds()]) == ("other", "target", "everyone")
    assert populations_of([EqualizedOdds(), DemographicParity()]) == ("other", "target", "everyone")


def test_parts_are_the_product_of_both_probabilities():
    joint = random_joint(n_groups=2)
    parts = joint.parts(("other", "everyone"))
    np.testing.assert_allclose(parts[:, 1], (1 - joint.target) * joint.members["other"][:, 1])
    np.testing.assert_allclose(parts[:, 2:], joint.members["everyone"])


def test_predictive_parity_is_refused():
    with pytest.raises(InputError, match=r"PredictiveParity is a ratio .* choose another constraint, or FairALM"):
        shares_of(PredictiveParity())
