import copy
import pickle
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from fairalm import FairALMClassifier
from fairalm.constraints import (
    CONSTRAINTS,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    as_constraint,
)
from fairalm.exceptions import InputError
from fairalm.measures import MEASURES

every_criterion = pytest.mark.parametrize("criterion", CONSTRAINTS.values(), ids=CONSTRAINTS)

# The rates of a group from its confusion counts, one per event.
RATES = {
    "equal-opportunity": [lambda tp, fp, tn, fn: fn / (tp + fn)],
    "predictive-equality": [lambda tp, fp, tn, fn: fp / (fp + tn)],
    "equalized-odds": [lambda tp, fp, tn, fn: fn / (tp + fn), lambda tp, fp, tn, fn: fp / (fp + tn)],
    "error-parity": [lambda tp, fp, tn, fn: (fp + fn) / (tp + fp + tn + fn)],
    "demographic-parity": [lambda tp, fp, tn, fn: (tp + fp) / (tp + fp + tn + fn)],
    "predictive-parity": [lambda tp, fp, tn, fn: fp / (tp + fp)],
}


def test_registry_is_the_design_table():
    assert CONSTRAINTS.keys() == RATES.keys()
    assert [criterion.__name__ for criterion in CONSTRAINTS.values()] == [
        "EqualOpportunity",
        "PredictiveEquality",
        "EqualizedOdds",
        "ErrorParity",
        "DemographicParity",
        "PredictiveParity",
    ]
    assert {criterion.measure for criterion in CONSTRAINTS.values()} <= MEASURES.keys()
    assert len({criterion.measure for criterion in CONSTRAINTS.values()}) == len(CONSTRAINTS)


@every_criterion
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_mu_of_01_errors_is_the_rate(criterion, n_groups, seed):
    rng = np.random.default_rng(seed)
    y, chosen, group = rng.random(300) < 0.4, rng.random(300) < 0.5, rng.integers(0, n_groups, 300)
    moments = criterion().rows(y, group, n_groups).moments(chosen != y)
    for event, rate in enumerate(RATES[criterion.name]):
        for k in range(n_groups):
            mine = group == k
            tp, fp = (mine & chosen & y).sum(), (mine & chosen & ~y).sum()
            tn, fn = (mine & ~chosen & ~y).sum(), (mine & ~chosen & y).sum()
            assert moments.mu[event, k] == pytest.approx(rate(tp, fp, tn, fn))


@every_criterion
def test_labels_may_be_0_and_1(criterion):
    y, group, loss = np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1]), [0.1, 0.2, 0.3, 0.4]
    as_ints, as_bools = (criterion().rows(labels, group, 2).moments(loss) for labels in (y, y == 1))
    np.testing.assert_array_equal(as_ints.mu, as_bools.mu)
    np.testing.assert_array_equal(as_ints.counts, as_bools.counts)


def test_equalized_odds_bounds_both_gaps():
    """The paper's d0 + d1 = 0 holds here, with gaps of 1 and -1."""
    y, group = np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1])
    moments = EqualizedOdds().rows(y, group, 2).moments([1, 0, 0, 1])
    assert moments.gap.ravel().tolist() == [1, -1]
    assert moments.max_gap == 1


@every_criterion
@pytest.mark.parametrize("tol", [-0.01, 1.01, float("nan"), float("inf"), -float("inf")])
def test_tol_out_of_range(criterion, tol):
    message = f"The 'tol' of {criterion.__name__} must lie in [0, 1]: it bounds a difference of rates. Got {tol!r}."
    with pytest.raises(InputError, match=re.escape(message)):
        criterion(tol=tol)


@pytest.mark.parametrize("tol", [0, 0.0, 0.5, 1, 1.0])
def test_tol_in_range(tol):
    assert EqualOpportunity(tol=tol).tol == tol


def test_default_tolerance_is_one_point():
    assert all(criterion().tol == 0.01 for criterion in CONSTRAINTS.values())


@every_criterion
def test_settings_are_frozen(criterion):
    constraint = criterion()
    with pytest.raises(FrozenInstanceError):
        constraint.tol = 0.1
    with pytest.raises(TypeError, match="positional"):
        criterion(0.1)


@every_criterion
def test_replace_checks_again(criterion):
    assert replace(criterion(target="yes"), tol=0.2) == criterion(tol=0.2, target="yes")
    with pytest.raises(InputError):
        replace(criterion(), tol=2.0)


@every_criterion
def test_equality_hash_and_repr(criterion):
    one = criterion(tol=0.02, target="yes")
    assert one == criterion(tol=0.02, target="yes")
    assert hash(one) == hash(criterion(tol=0.02, target="yes"))
    assert one != criterion(tol=0.03, target="yes")
    assert one != criterion(tol=0.02, target="no")
    assert repr(one) == f"{criterion.__name__}(tol=0.02, target='yes')"
    assert eval(repr(one), {criterion.__name__: criterion}) == one


def test_criteria_of_different_kinds_are_not_equal():
    assert len({criterion() for criterion in CONSTRAINTS.values()}) == len(CONSTRAINTS)


@every_criterion
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c)), lambda c: clone(c, safe=False)],
    ids=["copy", "deepcopy", "pickle", "clone"],
)
def test_copies_are_equal(criterion, copied):
    constraint = criterion(tol=0.2, target=-1)
    assert copied(constraint) == constraint
    assert type(copied(constraint)) is criterion


def test_clone_of_an_estimator_keeps_its_constraint():
    constraint = DemographicParity(tol=0.05)
    cloned = clone(FairALMClassifier(LogisticRegression(), constraint=constraint))
    assert cloned.get_params()["constraint"] == constraint


def test_the_base_cannot_be_used():
    with pytest.raises(TypeError, match="abstract"):
        Constraint()


# Ratio, reference, one side: what only the frontier bounds.


@every_criterion
@pytest.mark.parametrize("ratio", [0.0, -0.1, 1.01, float("nan"), float("inf")])
def test_ratio_out_of_range(criterion, ratio):
    message = f"The 'ratio' of {criterion.__name__} must lie in (0, 1]: 0.8 is the four-fifths rule. Got {ratio!r}."
    with pytest.raises(InputError, match=re.escape(message)):
        criterion(ratio=ratio)


def test_one_side_needs_a_reference():
    with pytest.raises(
        InputError, match="`one_sided` needs a `reference`: the group that the others are compared with"
    ):
        DemographicParity(one_sided=True)
    assert DemographicParity(one_sided=True, reference=0).one_sided  # a group may be called 0


@pytest.mark.parametrize(
    ("settings", "is_plain"),
    [({}, True), ({"tol": 0.2, "target": "yes"}, True), ({"ratio": 1}, False), ({"reference": 0}, False)],
)
def test_what_every_method_can_bound(settings, is_plain):
    constraint = DemographicParity(**settings)
    assert constraint.is_plain == is_plain
    assert as_constraint(constraint, plain=False) is constraint
    if is_plain:
        assert as_constraint(constraint) is constraint
    else:
        message = "has a ratio or a reference group, which only fairalm.FrontierClassifier (for a net,"
        with pytest.raises(InputError, match=re.escape(f"{constraint!r} {message}")):
            as_constraint(constraint)


def test_what_is_left_out_is_not_shown():
    assert repr(DemographicParity()) == "DemographicParity(tol=0.01)"
    constraint = DemographicParity(ratio=0.8, reference="white", one_sided=True)
    assert repr(constraint) == "DemographicParity(tol=0.01, ratio=0.8, reference='white', one_sided=True)"
    assert eval(repr(constraint)) == constraint
    assert constraint != DemographicParity(ratio=0.8, reference="black", one_sided=True)
