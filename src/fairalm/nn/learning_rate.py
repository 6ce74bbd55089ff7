"""The learning rate's schedule."""

from __future__ import annotations

import math

import torch
from torch.optim.lr_scheduler import LambdaLR


def cosine_decay(
    optimizer: torch.optim.Optimizer, steps: int, *, head_steps: int = 0, head_factor: float = 1.0
) -> LambdaLR:
    """Lower the learning rate along half a cosine, from its full value to 0 after `steps` steps of the schedule.

    The first `head_steps` have a constant rate, `head_factor` times the full one; the cosine begins after them.

    >>> schedule = cosine_decay(torch.optim.SGD([torch.zeros(1)], lr=2.0), 4, head_steps=1, head_factor=10)
    >>> [round(schedule.lr_lambdas[0](step), 3) for step in range(5)]
    [10, 1.0, 0.75, 0.25, 0.0]
    """

    def factor(step: int) -> float:
        if step < head_steps:
            return head_factor
        return 0.5 + 0.5 * math.cos(math.pi * (step - head_steps) / max(1, steps - head_steps))

    return LambdaLR(optimizer, factor)
