"""A place in a run's data: the state of the random numbers, and how far each loader has come."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Generator

from fairalm.exceptions import InputError


def random_state(generators: Sequence[Generator]) -> dict[str, Any]:
    """The state of every source of random numbers, in plain values that ``torch.load(weights_only=True)`` reads.

    Parameters
    ----------
    generators : sequence of torch.Generator
        The loaders' own, besides the global ones of Python, numpy, torch and its devices.

    Examples
    --------
    >>> state = random_state([])
    >>> first = torch.rand(1)
    >>> set_random_state(state, [])
    >>> bool(torch.rand(1) == first)
    True
    """
    version, words, gauss = random.getstate()
    numpy_state: Any = np.random.get_state()  # noqa: NPY002  # datasets draw from the global one
    name, keys, *rest = numpy_state
    return {
        "python": (version, torch.tensor(words), gauss),
        "numpy": (name, torch.tensor(keys.astype(np.int64)), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "mps": [torch.mps.get_rng_state()] if torch.backends.mps.is_available() else [],
        "generators": [generator.get_state() for generator in generators],
    }


def set_random_state(state: dict[str, Any], generators: Sequence[Generator]) -> None:
    """Put every source back to where :func:`random_state` found it."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words.tolist()), gauss))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy(), *rest))  # noqa: NPY002
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    for device_state in state["mps"]:
        torch.mps.set_rng_state(device_state)
    for generator, kept in zip(generators, state["generators"], strict=True):
        generator.set_state(kept)


class Batches:
    """The batches of a loader, whose place can be kept and found again.

    A place is the state of the random numbers when the pass began, and how many batches were taken since: the same pass
    is begun again and those batches are dropped, which also brings the loader's workers to where they were.

    Parameters
    ----------
    loader : iterable
        A ``DataLoader``, or anything that can be gone through again and again.
    name : str
        What messages call it.
    """

    def __init__(self, loader: Iterable[Any], name: str) -> None:
        self.loader, self.name = loader, name
        self.passes = self.taken = 0
        self._born: dict[str, Any] = {}
        self._iterator: Iterator[Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a pass is under way."""
        return self._iterator is not None

    @property
    def generators(self) -> list[Generator]:
        """The loader's own sources of random numbers, each once."""
        found = (getattr(part, "generator", None) for part in (self.loader, *self._samplers()))
        return list({id(generator): generator for generator in found if isinstance(generator, Generator)}.values())

    def open(self) -> None:
        """Begin the next pass."""
        for sampler in self._samplers():
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(self.passes)
        self._born = random_state(self.generators)
        self._iterator, self.taken = iter(self.loader), 0

    def take(self, n: int) -> list[Any]:
        """The next n batches, fewer at the end of the pass; counted only if all of them came."""
        assert self._iterator is not None
        batches = list(islice(self._iterator, n))
        self.taken += len(batches)
        return batches

    def close(self) -> None:
        """End the pass; one that gave nothing is an error."""
        if not self.taken:
            raise InputError(
                f"`{self.name}` gave no batch in pass {self.passes + 1}: pass a loader with data that can be gone"
                " through again, not a generator."
            )
        self._iterator = None
        self.passes += 1

    def cycle(self) -> Any:
        """The next batch, of the next pass if this one has ended."""
        while True:
            if not self.is_open:
                self.open()
            if batch := self.take(1):
                return batch[0]
            self.close()

    def state_dict(self) -> dict[str, Any]:
        """The place."""
        return {"passes": self.passes, "taken": self.taken, "born": self._born if self.is_open else None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Find the place; leaves the random numbers changed."""
        self.passes, self._iterator = state["passes"], None
        if state["born"] is None:
            return
        set_random_state(state["born"], self.generators)
        self.open()
        for _ in range(state["taken"]):  # one by one: they need not all be in memory
            if not self.take(1):
                raise InputError(
                    f"`{self.name}` ended after {self.taken} batches, but the checkpoint was made after"
                    f" {state['taken']}: pass the loader that the run had."
                )

    def _samplers(self) -> list[Any]:
        batch_sampler = getattr(self.loader, "batch_sampler", None)
        found = (getattr(self.loader, "sampler", None), batch_sampler, getattr(batch_sampler, "sampler", None))
        return list({id(sampler): sampler for sampler in found if sampler is not None}.values())
