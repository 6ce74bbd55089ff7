"""The position in a run's data: the state of the random numbers, and how many batches each loader has given."""

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

    The sources are the global ones of Python, numpy, torch and its devices, and these generators.
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
    """Restore what :func:`random_state` returned."""
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
    """The batches of a loader, with a position that can be saved and restored.

    The position is the state of the random numbers at the start of the pass, and how many batches were taken since. To
    restore it, the same pass is started again and that many batches are dropped, which also restores the workers. The
    loader is a ``DataLoader``, or anything that can be read many times; messages call it by the name.
    """

    def __init__(self, loader: Iterable[Any], name: str) -> None:
        self.loader, self.name = loader, name
        self.passes = self.taken = 0
        self._start: dict[str, Any] = {}
        self._iterator: Iterator[Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a pass has been started and not ended."""
        return self._iterator is not None

    @property
    def generators(self) -> list[Generator]:
        """The loader's own sources of random numbers, each once."""
        parts = (getattr(part, "generator", None) for part in (self.loader, *self._samplers()))
        return list({id(part): part for part in parts if isinstance(part, Generator)}.values())

    def open(self) -> None:
        """Start the next pass."""
        for sampler in self._samplers():
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(self.passes)
        self._start = random_state(self.generators)
        self._iterator, self.taken = iter(self.loader), 0

    def take(self, n: int) -> list[Any]:
        """The next n batches, fewer at the end of the pass."""
        assert self._iterator is not None
        batches = list(islice(self._iterator, n))
        self.taken += len(batches)
        return batches

    def close(self) -> None:
        """End the pass; a pass without batches is an error."""
        if not self.taken:
            advice = "pass a loader that has data and can be read many times, not a generator"
            raise InputError(f"`{self.name}` gave no batch in pass {self.passes + 1}: {advice}.")
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
        """The position."""
        return {"passes": self.passes, "taken": self.taken, "start": self._start if self.is_open else None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the position; this changes the state of the random numbers."""
        self.passes, self._iterator = state["passes"], None
        if state["start"] is None:
            return
        set_random_state(state["start"], self.generators)
        self.open()
        for _ in range(state["taken"]):  # one by one, to hold one batch in memory
            if not self.take(1):
                short = f"`{self.name}` ended after {self.taken} batches"
                raise InputError(f"{short}, but the run had taken {state['taken']}: pass the loader of that run.")

    def _samplers(self) -> list[Any]:
        batch_sampler = getattr(self.loader, "batch_sampler", None)
        parts = (getattr(self.loader, "sampler", None), batch_sampler, getattr(batch_sampler, "sampler", None))
        return list({id(part): part for part in parts if part is not None}.values())
