"""What every method is: a table of means in, a table of weights out, its multipliers passed along."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from fairalm._validation import first_line, kebab
from fairalm.arrays import Array
from fairalm.exceptions import InputError
from fairalm.moments import Moments, namespace


class NoMemory(NamedTuple):
    """The memory of a method that remembers nothing but its multipliers."""


@dataclass(frozen=True)
class Dual:
    """The state of a method between two rounds.

    Parameters
    ----------
    value : array
        The multipliers, shape (events, rows); methods with two per row stack them first.
    tol : float
        The constraint's tolerance.
    t : int
        The round to come, from 1.
    memory : NamedTuple of arrays
        What the method remembers besides.
    """

    value: Array
    tol: float
    t: int = 1
    memory: NamedTuple = NoMemory()  # noqa: RUF009  # immutable


@dataclass(frozen=True)
class Traits:
    """What the backends must know about a method; the defaults fit most.

    Parameters
    ----------
    has_dual : bool
        It has multipliers.
    weights_are_multipliers : bool
        Its weights are C'lambda, so a classifier fitted to them is the best answer to lambda.
    plays_best : bool
        h_t is the best classifier found so far, not always the newest.
    only_for : {"", "full fits", "mini-batches"}
        What a round may be; either if empty.
    strict_dual : bool
        The dual step sees 0/1 errors even where the primal step has a surrogate loss.
    window : int
        Mini-batches only: steps over which the sums of the cells are averaged, unless the user says otherwise.
    every : int
        Mini-batches only: optimiser steps per dual step.
    """

    has_dual: bool = True
    weights_are_multipliers: bool = True
    plays_best: bool = False
    only_for: Literal["", "full fits", "mini-batches"] = ""
    strict_dual: bool = False
    window: int = 0
    every: int = 1


@dataclass(frozen=True)
class Method(ABC):
    """Base of all methods. Settings are frozen; the state is a :class:`Dual` passed in and out.

    A subclass writes :meth:`weights` and, if it has multipliers, :meth:`step`. Its `name` and `summary`, if left out,
    come from the class's name and the first line of its docstring.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    traits: ClassVar[Traits] = Traits()

    def __init_subclass__(cls) -> None:
        own = vars(cls)
        cls.name = own.get("name") or kebab(cls.__name__)
        cls.summary = own.get("summary") or first_line(cls)

    def start(self, moments: Moments, tol: float) -> Dual:
        """The state before the first round: all multipliers 0."""
        return Dual(0.0 * moments.gap, tol)

    @abstractmethod
    def weights(self, moments: Moments, dual: Dual) -> Array:
        """The derivative of the penalty by mu, shape (events, groups), at the last classifier's moments."""

    def step(self, moments: Moments, dual: Dual) -> Dual:
        """The dual step on rows that are defined; :meth:`update` sees to the others."""
        return dual

    def update(self, moments: Moments, dual: Dual) -> Dual:
        """The state of the next round. A row with an empty cell keeps its multiplier."""
        stepped = self.step(moments, dual)
        value = namespace(dual.value).where(moments.defined, stepped.value, dual.value)
        return Dual(value, dual.tol, dual.t + 1, stepped.memory)

    def multiplier(self, dual: Dual) -> Array:
        """The multipliers as one lambda per row of C."""
        return dual.value


def soft(x: Array, threshold: Array | float) -> Array:
    """Soft threshold: towards 0 by `threshold`, and 0 once there."""
    return x - within(x, threshold)


def within(x: Array, bound: Array | float) -> Array:
    """The entries, kept within ±bound."""
    return between(x, -bound, bound)


def between(x: Array, low: Array | float, high: Array | float) -> Array:
    """The entries, kept from `low` to `high`; numpy's own clip takes several times as long on a small table."""
    return np.minimum(np.maximum(x, low), high) if isinstance(x, np.ndarray) else x.clip(low, high)


def check_bound(owner: object, bound: float | None) -> None:
    """Refuse a bound that is not positive."""
    if bound is not None and not bound > 0:
        raise InputError(f"The 'bound' of {type(owner).__name__} must be positive, or None. Got {bound!r}.")


def clip_to(x: Array, bound: float | None) -> Array:
    """Keep the entries within ±bound; no bound, no change."""
    return x if bound is None else within(x, bound)
