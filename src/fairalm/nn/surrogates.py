"""What a criterion sees of a net's outputs: a margin for the target, and a loss of it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from scipy.special import expit
from torch import Tensor

from fairalm.exceptions import InputError
from fairalm.moments import Array, namespace


def target_margin(logits: Tensor, target: int) -> Tensor:
    """How far the target leads: positive where it is predicted, one number per row.

    One column: the logit itself (its negative for target 0). Several: the target's logit less the log of the summed
    exponentials of the others, which for two columns is their difference.

    >>> target_margin(torch.tensor([[0.0, 2.0], [1.0, -1.0]]), 1)
    tensor([ 2., -2.])
    """
    scores = logits.float()
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.ndim == 1:
        return scores if target == 1 else -scores
    if scores.shape[1] == 2:
        return scores[:, target] - scores[:, 1 - target]
    others = torch.cat([scores[:, :target], scores[:, target + 1 :]], dim=1)
    return scores[:, target] - torch.logsumexp(others, dim=1)


def sigmoid(lead: Array) -> tuple[Array, Array]:
    """1 / (1 + exp(-lead)), between 0 and 1 like the error itself."""
    loss = torch.sigmoid(lead) if isinstance(lead, Tensor) else expit(lead)
    return loss, loss * (1.0 - loss)


def log(lead: Array) -> tuple[Array, Array]:
    """log(1 + exp(lead))."""
    return namespace(lead).logaddexp(lead, 0.0 * lead), sigmoid(lead)[0]


def hinge(lead: Array) -> tuple[Array, Array]:
    """max(0, 1 + lead)."""
    inside = 1.0 * (lead > -1.0)
    return (1.0 + lead) * inside, inside


#: (how far the wrong answer leads, one number per row) -> loss, and its derivative
Surrogate = Callable[[Array], tuple[Array, Array]]
SURROGATES: dict[str, Surrogate] = {"sigmoid": sigmoid, "log": log, "hinge": hinge}


def find_surrogate(name: str) -> Surrogate:
    """Look a surrogate up by name."""
    if name not in SURROGATES:
        raise InputError(f"There is no surrogate {name!r}; there are: {', '.join(SURROGATES)}.")
    return SURROGATES[name]
