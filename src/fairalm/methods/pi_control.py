"""The default of nets: the augmented rule on 0/1 errors, in units that fit any table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairalm.methods.base import Dual, Method, Traits, soft, within
from fairalm.moments import Array, Moments
from fairalm.schedules import Schedule, check_eta, step_size

GAIN = 18.0  # plain weights per unit of a gap between rates of one half
PATIENCE = 100.0  # steps in which a standing gap adds as much to the memory as it weighs by itself
LIMIT = 5.0  # in plain weights
SWING = 0.01  # a net's gap swings by about a point; it is led to that far inside the tolerance
UNITS_EVERY = 10  # steps, a multiple of `every`: they change slowly
FLATTEST = 0.0025  # added to m (1 - m), at most 1/4: at a rate of almost 0 the slope says little


@dataclass(frozen=True)
class PIControl(Method):
    """Weights C'lambda; lambda = k d + I with I ← I + (k / 50) d at every other step: a PI controller, untuned.

    The part in proportion to the gap is the augmented Lagrangian's eta d, the memory I is its multiplier; a multiplier
    alone, with the lag of a net, would swing. What makes it fit without tuning are the units:

    - d is measured on 0/1 errors, over a window of steps: what the criterion is about, with no surrogate's bias.
    - Multipliers are counted in units of the people they move (:attr:`fairalm.moments.Moments.row_share`), and bounded
      in them.
    - d is counted in units of ``4 m (1 - m)``, m being the event's mean. A rate near 0 or 1 moves that much less for
      the same push than one near a half, as on a logistic curve.
    - Both units are measured at every tenth step.

    Both parts are thresholded, as the augmented rule's multiplier is by the tolerance, by what the tolerance exceeds a
    point. `benchmarks/nets.py` has the comparison behind the constants. For mini-batches only: where a round is a whole
    fit, the gain is too large.

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
        """Multipliers and memory 0; the units are measured in the first round."""
        nothing = 0.0 * moments.gap
        return Dual(nothing, tol, memory=(nothing, nothing, nothing))

    def weights(self, moments: Moments, dual: Dual) -> Array:
        """C'lambda."""
        return moments.pull(dual.value)

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """K d + I, each in plain weights."""
        kept, k, share = dual.memory
        if dual.t % UNITS_EVERY == 1:
            mean, share = moments.event_mean, moments.row_share
            k = GAIN / 4.0 / (mean - mean * mean + FLATTEST) + 0.0 * share
        eta, slack = step_size(self.eta, dual.t), max(dual.tol - SWING, 0.0)
        push, share_kept = k * moments.gap * eta, self.traits.every / PATIENCE
        kept = kept + push * share_kept
        kept = within(soft(kept, k * (eta * slack * share_kept)) if slack else kept, LIMIT)
        value = kept + push
        value = within(soft(value, k * (eta * slack)) if slack else value, LIMIT)
        return Dual(value * share, dual.tol, dual.t, (kept, k, share))
