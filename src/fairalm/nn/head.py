"""The last layer of a net: which one it is, and how a fitted one is put in its place."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError


def find_head(model: nn.Module, name: str | None = None) -> str:
    """Name of the last layer: the one given, or the only `nn.Linear` with one or two outputs.

    >>> find_head(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)))
    '2'
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"`model` must be a torch.nn.Module; got {type(model).__name__}.")
    outputs = {key: part.out_features for key, part in model.named_modules() if isinstance(part, nn.Linear)}
    fitting: list[str] = [key for key, n in outputs.items() if n in (1, 2)]
    listed = ", ".join(repr(key) for key in fitting[:5]) + (", ..." if len(fitting) > 5 else "")
    advice = "replace the last layer by one first, for example net.fc = nn.Linear(net.fc.in_features, 1)"
    if name in fitting:
        return name
    if name in outputs:
        raise InputError(f"The head {name!r} has {outputs[name]} outputs, not one or two: {advice}.")
    if name is not None:
        raise InputError(f"The net has no nn.Linear named {name!r}: choose among {listed or 'none'}.")
    if not fitting:
        raise InputError(f"None of the net's {len(outputs)} nn.Linear has one or two outputs: {advice}.")
    if len(fitting) > 1:
        raise InputError(f"Several layers may be the last one ({listed}): name it with `head`.")
    return fitting[0]


@dataclass(frozen=True, eq=False)
class Linear:
    """A fitted head: the logit is ``x @ weight + bias``."""

    weight: FloatArray
    bias: float

    def logits(self, x: Tensor) -> FloatArray:
        """One per row."""
        return np.asarray((x @ torch.from_numpy(self.weight).to(x)).cpu().numpy() + self.bias)


def with_head(model: nn.Module, name: str, fitted: Linear) -> nn.Module:
    """A copy of the net whose last layer gives the fitted logit; of two outputs, as their difference."""
    old = model.get_submodule(name)
    assert isinstance(old, nn.Linear)
    new = nn.Linear(old.in_features, old.out_features, device=old.weight.device, dtype=old.weight.dtype)
    share = torch.tensor(shares(old.out_features), dtype=torch.float64)
    with torch.no_grad():
        new.weight.copy_(share[:, None] * torch.from_numpy(fitted.weight))
        new.bias.copy_(share * fitted.bias)
    return with_layer(model, name, new)


def with_layer(model: nn.Module, name: str, new: nn.Module) -> nn.Module:
    """A copy of the net with another module in place of its last layer."""
    new.train(model.get_submodule(name).training)
    if not name:
        return new
    net = copy.deepcopy(model)
    parent, _, own = name.rpartition(".")
    setattr(net.get_submodule(parent), own, new)
    return net


def shares(n_outputs: int) -> list[float]:
    """What each output of a last layer gets of the logit: one all of it, two so that their difference is the logit."""
    return [1.0] if n_outputs == 1 else [-0.5, 0.5]
