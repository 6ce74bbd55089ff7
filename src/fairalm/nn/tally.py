"""People by group, label and prediction, added up over batches: all that the figures of an epoch need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairalm.measures import GroupRates, measure_of
from fairalm.nn.distributed import summed
from fairalm.nn.surrogates import target_margin


@dataclass
class Tally:
    """Counts and the summed loss, on the device of the batches and without waiting for it.

    Parameters
    ----------
    counts : int tensor of shape (4 * groups,)
        People, by group, then label, then prediction (target or not).
    loss : tensor of shape ()
        Their summed loss.
    target : int
        The class whose errors count.

    Examples
    --------
    >>> tally = Tally.empty(2, target=1, device="cpu")
    >>> tally.add(torch.tensor([2.0, -1.0, 1.0]), torch.tensor([1, 1, 0]), torch.tensor([0, 1, 1]), torch.tensor(0.5))
    >>> tally.figures(["error"], train=True)
    {'loss': 0.5, 'error': 0.6666666666666666}
    """

    counts: Tensor
    loss: Tensor
    target: int

    @classmethod
    def empty(cls, n_groups: int, *, target: int, device: torch.device | str) -> Tally:
        """Of nobody."""
        counts = torch.zeros(4 * n_groups, dtype=torch.long, device=device)
        return cls(counts, torch.zeros((), device=device), target)

    def add(self, logits: Tensor, y: Tensor, group: Tensor, mean_loss: Tensor | float = 0.0) -> None:
        """Take a batch in."""
        margin = target_margin(logits.detach(), self.target)
        cell = 4 * group.long() + 2 * (y.reshape(-1) == self.target) + (margin > 0)
        self.counts.index_add_(0, cell, torch.ones_like(cell))
        self.loss += mean_loss * len(group)

    def summed(self) -> Tally:
        """That of all ranks."""
        return Tally(summed(self.counts), summed(self.loss), self.target)

    def figures(self, names: list[str], *, train: bool = False) -> dict[str, float]:
        """The measures; on training data with the mean loss, else with their intervals' ends. NaN if undefined."""
        tn, fp, fn, tp = self.counts.cpu().numpy().reshape(-1, 4).T
        groups = tuple(str(code) for code in range(len(tp)))
        rates = GroupRates(groups, tp=tp, fp=fp, tn=tn, fn=fn, target=self.target)
        row: dict[str, Any] = {"loss": float(self.loss) / int(self.counts.sum())} if train else {}
        for name in names:
            measure = measure_of(name, rates, train=train)
            row[name] = measure.value
            if not train:
                row |= {f"{name}_low": measure.low, f"{name}_high": measure.high}
        return {key: np.nan if value is None else float(value) for key, value in row.items()}
