"""The default for nets: augmented Lagrangian steps on 0/1 errors, in units that fit any table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from fairalm.arrays import Array
from fairalm.methods.base import Dual, Method, Traits, soft, within
from fairalm.moments import Moments
from fairalm.schedules import Schedule, check_eta, step_size

GAIN = 18.0  # plain weights per unit of a gap between rates of one half
PATIENCE = 100.0  # steps after which a constant gap has added as much to the integral as it weighs by itself
LIMIT = 5.0  # of multiplier and integral, in plain weights
SWING = 0.01  # a net's gap swings by about a point, so the aim is that far inside the tolerance
UNITS_EVERY = 10  # steps between two measurements of the units, which change slowly; a multiple of `every`
FLATTEST = 0.0025  # added to m (1 - m), at most 1/4: at a rate near 0 the slope says little


class Control(NamedTuple):
    """What the controller remembers, each of shape (events, rows)."""

    integral: Array  # the integral of the gap, in plain weights
    gain: Array  # plain weights per unit of gap
    share: Array  # one plain weight, in units of the multiplier


@dataclass(frozen=True)
class PIControl(Method):
    """Weights C'lambda; lambda = k d + I with I ← I + (k / 50) d at every other step: a PI controller, untuned.

    The proportional part k d is the augmented Lagrangian's eta d, the integral I is its multiplier; a multiplier alone
    would oscillate, since a net follows its weights with a delay (Sohrabi et al. 2024, "On PI controllers for updating
    Lagrange multipliers"). It needs no tuning because of its units:

    - d is measured on 0/1 errors, over a window of steps: that is what the constraint is about, without the bias of a
      surrogate loss.
    - Multipliers are counted in plain weights of the rows they move (:attr:`fairalm.moments.Moments.row_share`), and
      bounded in these units.
    - d is divided by ``4 m (1 - m)``, where m is the event's mean: as on a logistic curve, a rate near 0 or 1 responds
      that much less to the same push than a rate near one half.
    - Both units are measured again at every tenth step.

    Both parts are soft-thresholded by the amount that the tolerance exceeds one point. `benchmarks/nets.py` has the
    comparison behind the constants. For mini-batches only: where a round is a whole fit, the gain is too large.

    Parameters
    ----------
    eta : float or schedule
        Times the gain k; 1/10 to 30 all work on the tables of the benchmark.
    """

    eta: float | Schedule = 1.0

    name: ClassVar[str] = "pi-control"
    summary: ClassVar[str] = (
        "the default of nets: a PI controller of the gap, in units that fit any table; nothing to tune"
    )
    traits: ClassVar[Traits] = Traits(strict_dual=True, only_for="mini-batches", window=20, every=2)

    def __post_init__(self) -> None:
        check_eta(self, self.eta)

    def start(self, moments: Moments, tol: float) -> Dual:
        """Multipliers and integral 0; the units are measured in the first round."""
        zero = 0.0 * moments.gap
        return Dual(zero, tol, memory=Control(zero, zero, zero))

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'lambda."""
        return moments.pull(dual.value)

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """K d + I, each in plain weights."""
        control = dual.memory
        assert isinstance(control, Control)
        integral, gain, share = control
        if dual.t % UNITS_EVERY == 1:
            mean, share = moments.event_mean, moments.row_share
            gain = GAIN / 4.0 / (mean - mean * mean + FLATTEST) + 0.0 * share
        eta, slack = step_size(self.eta, dual.t), max(dual.tol - SWING, 0.0)
        push, rate = gain * moments.gap * eta, self.traits.every / PATIENCE
        integral = within(soft(integral + push * rate, gain * (eta * slack * rate)), LIMIT)
        value = within(soft(integral + push, gain * (eta * slack)), LIMIT)
        return replace(dual, value=value * share, memory=Control(integral, gain, share))
