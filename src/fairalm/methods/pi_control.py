"""The default for nets: augmented Lagrangian steps on 0/1 errors, in units that fit any table."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from fairalm.arrays import Array
from fairalm.methods.base import Dual, Method, Traits, between, soft, within
from fairalm.moments import Moments, divide, namespace
from fairalm.schedules import Schedule, check_eta, step_size

GAIN = 18.0  # plain weights per unit of a gap between rates of one half, of a single event
PATIENCE = 100.0  # steps after which a constant gap has added as much to the integral as it weighs by itself
LIMIT = 5.0  # of multiplier and integral, in plain weights
TAKEN = 2.0  # plain weights that a multiplier may take from a row
SMALL = 0.2  # of the event's weight: from a small group it may take so much, if that is more
MOVED = 0.75  # of the event's weight, that a multiplier may take from one side of a gap and give to the other
SWING = 0.01  # a net's gap swings by about a point, so the aim is that far inside the tolerance
UNITS_EVERY = 10  # steps between two measurements of the units, which change slowly; a multiple of `every`
TINY = 1e-6  # avoids 0/0 where a group is empty
FLATTEST = 0.0025  # added to m (1 - m), at most 1/4: at a rate near 0 the slope says little


class Control(NamedTuple):
    """What the controller remembers, each of shape (events, rows)."""

    integral: Array  # the integral of the gap, in plain weights
    gain: Array  # plain weights per unit of gap
    share: Array  # one plain weight, in units of the multiplier
    low: Array  # limit of multiplier and integral, in plain weights
    high: Array
    band: Array  # gaps up to this size may be chance: no proportional part


@dataclass(frozen=True)
class PIControl(Method):
    """Weights C'lambda; lambda = k soft(d, b) + I, I ← I + (k / 50) d at every other step: a PI controller, untuned.

    The proportional part is the augmented Lagrangian's eta d, the integral I is its multiplier; a multiplier alone
    would oscillate, since a net follows its weights with a delay. Its kin is nuPI (Sohrabi et al. 2024, "On PI
    controllers for updating Lagrange multipliers"). It needs no tuning because of its units:

    - d is measured on 0/1 errors, over a window of steps: that is what the constraint is about, without the bias of a
      surrogate loss.
    - Multipliers are counted in plain weights of the rows they move (:attr:`fairalm.moments.Moments.row_share`).
    - d is divided by ``4 m (1 - m)``, where m is the event's mean: as on a logistic curve, a rate near 0 or 1 responds
      that much less to the same push than a rate near one half. It is also divided by the number of events E: under
      equalized odds, a push on either label moves both gaps.
    - The units are measured again at every tenth step.

    Chance must not move the multipliers much, and the multipliers must not spoil the net:

    - The dead band b is ``sqrt(2 log E)`` standard errors of a gap between two halves of an event's rows in the window:
      about the largest of E gaps that are chance alone, and 0 for a single event. It is for the proportional part
      only: in the integral chance averages out, and a small gap that persists is still closed.
    - lambda and I are limited. At a loss of 2 plain weights, a row is pulled to the decision boundary and not beyond it
      (the sigmoid is half as steep there as the log loss). No multiplier takes more, except from a small group, which a
      net knows by heart: 5 plain weights at most, and a fifth of the event's weight. A gap moves at most 3/4 of its
      event's weight from one side to the other: 1.5 plain weights a row, for two groups of the same size.
    - I does not grow while lambda is at its limit (anti-windup).

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
        return Dual(zero, tol, memory=Control(zero, zero, zero, zero, zero, zero))

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'lambda."""
        return moments.pull(dual.value)

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """K soft(d, b) + I, each in plain weights."""
        control = dual.memory
        assert isinstance(control, Control)
        if dual.t % UNITS_EVERY == 1:
            control = _measure_units(moments, control)
        integral, gain, share, low, high, band = control
        eta = step_size(self.eta, dual.t)
        gain, rate, slack = gain * eta, self.traits.every / PATIENCE, max(dual.tol - SWING, 0.0)
        push = gain * moments.gap
        moved = between(soft(integral + push * rate, gain * (slack * rate)), low, high)
        wanted = soft(moved + soft(push, gain * band), gain * slack)
        value = between(wanted, low, high)
        is_stuck = (wanted - value) * push > 0.0
        integral = namespace(push).where(is_stuck, integral, moved)
        return replace(dual, value=value * share, memory=control._replace(integral=integral))


def _measure_units(moments: Moments, control: Control) -> Control:
    """The units in this window; a gap that it does not show keeps the units that it had."""
    xp, mean, share = namespace(moments.mu), moments.event_mean, moments.row_share
    n_events, n_rows = share.shape
    n = moments.counts.sum(-1)[:, None] + 0.0 * share
    spread = mean - mean * mean + FLATTEST + 0.0 * share
    # the group whose weight a positive multiplier raises, as a share of the event, and the rest, which it lowers
    own = divide(moments.counts[:, :n_rows], n)
    limit = within(MOVED / (own - own * own + TINY), LIMIT)
    units = (
        GAIN / (4.0 * n_events) / spread,
        share,
        -within(_taken(own) / (1.0 - own + TINY), limit),
        within(_taken(1.0 - own) / (own + TINY), limit),
        math.sqrt(8.0 * math.log(n_events)) * xp.sqrt(divide(spread, n)),
    )
    kept = zip(units, control[1:], strict=True)
    return Control(control.integral, *(xp.where(moments.defined, new, old) for new, old in kept))


def _taken(share: Array) -> Array:
    """Plain weights that a row may lose, where its group has this share of the event."""
    return between(SMALL / (share + TINY), TAKEN, LIMIT)
