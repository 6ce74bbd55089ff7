"""Margins and surrogate losses: the differentiable stand-ins for a net's 0/1 errors."""

from __future__ import annotations

from collections.abc import Callable

import torch
from scipy.special import expit
from torch import Tensor

from fairalm.arrays import Array
from fairalm.exceptions import InputError
from fairalm.moments import namespace


def target_margin(logits: Tensor, target: int) -> Tensor:
    """How far the target leads: positive where it is predicted, one number per row.

    One column: the logit itself (its negative for target 0). Several: the target's logit less the log of the summed
    exponentials of the others, which for two columns is their difference.

    >>> target_margin(torch.tensor([[0.0, 2.0], [1.0, -1.0]]), 1)
    tensor([ 2., -2.])
    """
    scores = logits if logits.dtype == torch.float32 else logits.float()
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.ndim == 1:
        return scores if target == 1 else -scores
    if scores.shape[1] == 2:
        return scores[:, target] - scores[:, 1 - target]
    others = torch.cat([scores[:, :target], scores[:, target + 1 :]], dim=1)
    return scores[:, target] - torch.logsumexp(others, dim=1)


def sigmoid(margin: Array, positive: Array, *, loss: bool) -> tuple[Array | None, Array]:
    """1 / (1 + exp(-lead)), between 0 and 1 like the error itself."""
    chosen = _sigmoid(margin)
    return namespace(margin).where(positive, 1.0 - chosen, chosen) if loss else None, chosen * (1.0 - chosen)


def log(margin: Array, positive: Array, *, loss: bool) -> tuple[Array | None, Array]:
    """log(1 + exp(lead))."""
    xp = namespace(margin)
    lead = xp.where(positive, -margin, margin)
    return xp.logaddexp(lead, xp.zeros_like(lead)) if loss else None, _sigmoid(lead)


def hinge(margin: Array, positive: Array, *, loss: bool) -> tuple[Array | None, Array]:
    """max(0, 1 + lead)."""
    xp = namespace(margin)
    lead = xp.where(positive, -margin, margin)
    inside = xp.astype(lead > -1.0, margin.dtype)
    return (1.0 + lead) * inside if loss else None, inside


def _sigmoid(x: Array) -> Array:
    return torch.sigmoid(x) if isinstance(x, Tensor) else expit(x)


#: (margin, whether the label is the target, whether the loss is wanted) -> loss of the wrong answer's lead, its slope
Surrogate = Callable[..., tuple[Array | None, Array]]
SURROGATES: dict[str, Surrogate] = {"sigmoid": sigmoid, "log": log, "hinge": hinge}


def find_surrogate(name: str) -> Surrogate:
    """Look a surrogate up by name."""
    if name not in SURROGATES:
        raise InputError(f"There is no surrogate {name!r}; there are: {', '.join(SURROGATES)}.")
    return SURROGATES[name]
