"""Sums over the cells of a batch, and what they add up to over several."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fairalm.moments import Event, Moments


def cell_sums(events: Sequence[Event], loss: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """Numerators and denominators of the cells' means, shape (2, events, groups); differentiable in the loss.

    People outside an event go to a group of their own, which is cut off: no mask of varying length, no host sync.
    """
    rows = []
    for event in events:
        index = group if event.mask is None else torch.where(event.mask, group, n_groups)
        value = event.base + event.sign * loss
        over = torch.ones_like(loss) if event.over_sign is None else event.over_base + event.over_sign * loss
        pair = torch.stack([value.expand_as(loss), over])
        empty = torch.zeros(2, n_groups + 1, dtype=loss.dtype, device=loss.device)
        rows.append(empty.index_add(1, index, pair)[:, :n_groups])
    return torch.stack(rows, dim=1)


def moments_of(sums: Tensor, total: Tensor | int) -> Moments:
    """Means of the cells; 0 where a cell is empty, whose contrast is 0 too."""
    top, bottom = sums[0], sums[1]
    present = bottom > 0
    mu = torch.where(present, top / torch.where(present, bottom, 1.0), 0.0)
    return Moments(mu, bottom, total)
