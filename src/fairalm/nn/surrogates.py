"""What a criterion sees of a net's outputs: a margin for the target, and a loss of it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from fairalm.exceptions import InputError


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
    others = torch.cat([scores[:, :target], scores[:, target + 1 :]], dim=1)
    return scores[:, target] - torch.logsumexp(others, dim=1)


#: margin of the right answer -> loss; the first is bounded by 0 and 1, like the error itself
SURROGATES: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": lambda margin: torch.sigmoid(-margin),
    "log": lambda margin: functional.softplus(-margin),
    "hinge": lambda margin: functional.relu(1.0 - margin),
}


def find_surrogate(name: str) -> Callable[[Tensor], Tensor]:
    """Look a surrogate up by name."""
    if name not in SURROGATES:
        raise InputError(f"There is no surrogate {name!r}; there are: {', '.join(SURROGATES)}.")
    return SURROGATES[name]
