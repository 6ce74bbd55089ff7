import pickle
from dataclasses import FrozenInstanceError

import pytest

from fairalm.exceptions import InputError
from fairalm.methods import FairALM, FairALMLinear
from fairalm.schedules import Decay, Growth, check_eta, step_size


@pytest.mark.parametrize("eta", [0.01, 3.0])
def test_decay_is_eta_over_t(eta):
    """Algorithm 1, dual step; its t = 0 would divide by 0, so the first round is 1."""
    assert [Decay(eta)(t) for t in range(1, 6)] == pytest.approx([eta, eta / 2, eta / 3, eta / 4, eta / 5])


@pytest.mark.parametrize(("eta", "eta_beta"), [(0.1, 0.01), (2.0, 0.5), (0.3, 0.0)])
def test_growth_is_the_appendix_recursion(eta, eta_beta):
    """eta_t = eta_{t-1} (1 + eta_beta)."""
    expected = [eta]
    for _ in range(20):
        expected.append(expected[-1] * (1 + eta_beta))
    assert [Growth(eta, eta_beta)(t) for t in range(1, 22)] == pytest.approx(expected)


def test_step_size_takes_numbers_schedules_and_functions():
    assert [step_size(2, t) for t in (1, 9)] == [2.0, 2.0]
    assert isinstance(step_size(2, 1), float)
    assert step_size(Decay(1.0), 4) == 0.25
    assert step_size(lambda t: 10.0 * t, 3) == 30.0


class Owner:
    pass


@pytest.mark.parametrize(
    "eta", [0, 0.0, -1, float("nan"), Decay(-1.0), Growth(0.0, 0.1), lambda t: -2.0]
)
def test_check_eta_refuses_what_is_not_positive(eta):
    value = eta(1) if callable(eta) else eta
    with pytest.raises(InputError, match=f"The 'eta' of Owner must be positive. Got {value!r}."):
        check_eta(Owner(), eta)


@pytest.mark.parametrize("eta", [1e-9, 5, Decay(0.1), Growth(0.1, 0.0), lambda t: 1 / t])
def test_check_eta_lets_the_rest_pass(eta):
    check_eta(Owner(), eta)


@pytest.mark.parametrize("schedule", [Decay(0.1), Growth(0.1, 0.01)], ids=repr)
def test_schedules_are_values(schedule):
    again = pickle.loads(pickle.dumps(schedule))
    assert again == schedule
    assert hash(again) == hash(schedule)
    with pytest.raises(FrozenInstanceError):
        schedule.eta = 1.0


@pytest.mark.parametrize("method", [FairALM, FairALMLinear])
def test_rules_with_a_step_of_their_own_refuse_a_schedule(method):
    with pytest.raises(InputError, match="eta"):
        method(eta=Decay(0.1))
