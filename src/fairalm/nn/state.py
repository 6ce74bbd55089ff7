"""The state of a constrained loss between two batches, as one value: replaced, never changed in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from fairalm.arrays import Array
from fairalm.methods import Dual


class Sums(NamedTuple):
    """Sums per label and group, see :mod:`fairalm.cells`; with 0/1 errors or the surrogate in place of the losses."""

    primal: Array  # the weights are computed from these
    dual: Array  # these move the multipliers

    def __add__(self, other: Sums) -> Sums:  # type: ignore[override]
        return Sums(self.primal + other.primal, self.dual + other.dual)

    def __mul__(self, factor: Any) -> Sums:
        return Sums(self.primal * factor, self.dual * factor)


@dataclass(frozen=True, eq=False)
class LossState:
    """What a :class:`fairalm.nn.ConstrainedLoss` remembers.

    Its arrays are numpy's on the CPU, which is several times faster there than small tensors. Elsewhere they are
    tensors, so that the host never waits for the device.
    """

    dual: Dual  # the multipliers, the round to come, and what the method remembers besides
    sums: Sums  # of the batches since the last dual step, or of a window of them
    row_weights: Array  # by label and group, for methods that keep them until the next dual step: shape (2, groups)
    n_batches: int = 0  # since the last dual step, of those that will move the multipliers

    def arrays(self) -> dict[str, Array]:
        """Every array by name."""
        named = {"dual": self.dual.value, "primal_sums": self.sums.primal, "dual_sums": self.sums.dual}
        return {**named, "row_weights": self.row_weights, **self.dual.memory._asdict()}

    def with_arrays(self, arrays: dict[str, Array]) -> LossState:
        """The same state with other arrays of the same names."""
        memory = self.dual.memory._replace(**{name: arrays[name] for name in self.dual.memory._fields})
        dual = replace(self.dual, value=arrays["dual"], memory=memory)
        sums = Sums(arrays["primal_sums"], arrays["dual_sums"])
        return replace(self, dual=dual, sums=sums, row_weights=arrays["row_weights"])

    def map(self, function: Callable[[Array], Array]) -> LossState:
        """The same state with `function` applied to every array."""
        return self.with_arrays({name: function(array) for name, array in self.arrays().items()})

    def to_dict(self) -> dict[str, Any]:
        """The state in tensors and numbers, for a checkpoint."""
        arrays = {name: torch.as_tensor(array).clone() for name, array in self.arrays().items()}
        return {"t": self.dual.t, "n_batches": self.n_batches, **arrays}

    def from_dict(self, saved: dict[str, Any]) -> LossState:
        """The state of a checkpoint, with arrays of the kind that this state has."""
        host = isinstance(self.sums.primal, np.ndarray)
        device = torch.device("cpu") if host else self.sums.primal.device
        loaded = self.with_arrays(saved).map(lambda array: to_array(array.clone(), device, host=host))
        return replace(loaded, dual=replace(loaded.dual, t=int(saved["t"])), n_batches=int(saved["n_batches"]))


def to_array(array: Array, device: torch.device, *, host: bool) -> Array:
    """A float32 array: numpy's on the host, else a tensor on the device."""
    tensor = torch.as_tensor(array).to(device, torch.float32)
    return tensor.numpy() if host else tensor
