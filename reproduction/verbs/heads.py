"""A linear head on frozen features, trained by mini-batches under any of the rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from fairalm.constraints import EqualOpportunity
from fairalm.exceptions import InputError
from fairalm.methods import METHODS, Unconstrained
from fairalm.nn import ConstrainedLoss, Features, Trainer, refit_last_layer
from fairalm.nn.adversarial_trainer import AdversarialTrainer
from fairalm.vision.train import Adversary
from reproduction.types import IntArray
from reproduction.verbs.data import Parts
from reproduction.verbs.rules import Rule, Setting


@dataclass(frozen=True)
class Recipe:
    """How a head is trained: Adam, its rate going down to 0 along a cosine. Chosen on validation pictures."""

    epochs: int
    batch_size: int
    lr: float


RECIPES = {
    "waterbirds": Recipe(epochs=20, batch_size=256, lr=1e-2),
    "scenes": Recipe(epochs=40, batch_size=64, lr=1e-3),
    "imsitu": Recipe(epochs=40, batch_size=64, lr=1e-3),
}


class Rows:
    """Batches of (features, label, group), in a new order each pass if `seed` is given."""

    def __init__(self, rows: Features, batch_size: int | None = None, seed: int | None = None) -> None:
        self.x, self.y, self.group = rows.x, torch.as_tensor(rows.y, dtype=torch.float32), torch.as_tensor(rows.group)
        self.batch_size = len(self.y) if batch_size is None else batch_size
        self.generator = None if seed is None else torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return -(-len(self.y) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        n = len(self.y)
        if self.generator is None:
            parts: Iterable[Any] = (slice(start, start + self.batch_size) for start in range(0, n, self.batch_size))
        else:
            parts = torch.split(torch.randperm(n, generator=self.generator), self.batch_size)
        for rows in parts:
            yield self.x[rows], self.y[rows], self.group[rows]


def fit_head(
    parts: Parts, measured: Features, rule: Rule, setting: Setting, *, recipe: Recipe, seed: int
) -> tuple[nn.Module, pd.DataFrame]:
    """Train a head; the same seed gives the same one, whatever it is measured on.

    Parameters
    ----------
    parts : Parts
        What it is trained on and, for a held-out rule, what moves the multipliers: all of that part at every step.
    measured : Features
        What the history's figures are of, after each epoch.
    rule, setting
        The rule and its setting; ``l2`` is the penalty on the head's weights.
    recipe : Recipe
        How.
    seed : int
        Of weights and order.

    Returns
    -------
    head, history
        The history of the fair head, which is found by whole fits, is empty.
    """
    if rule.is_heldout and parts.dual is None:
        raise InputError(f"{rule.title} needs held-out pictures, of which this data set has none to spare.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = nn.Linear(parts.train.x.shape[1], 1)
        if not rule.method:
            constraint = EqualOpportunity(tol=rule.tol)
            fair = refit_last_layer(head, parts.train, parts.dual, constraint=constraint, **setting)  # type: ignore[arg-type]
            return fair.model, pd.DataFrame()
        own = {name: value for name, value in setting.items() if name != "l2"}
        method = Adversary(**own) if rule.method == Adversary.name else METHODS[rule.method](**own)
        criterion = _criterion(method, rule)
        weights = {"params": [head.weight], "weight_decay": setting.get("l2", 0.0)}
        parameters: list[dict[str, Any]] = [weights, {"params": [head.bias]}]
        optimizer = torch.optim.Adam(parameters, lr=recipe.lr)
        kind: Any = AdversarialTrainer if isinstance(method, Adversary) else Trainer
        trainer = kind(
            head,
            optimizer,
            criterion,
            epochs=recipe.epochs,
            scheduler=torch.optim.lr_scheduler.LambdaLR(
                optimizer, lambda epoch: 0.5 + 0.5 * math.cos(math.pi * epoch / recipe.epochs)
            ),
        )
        dual = None if not rule.is_heldout or parts.dual is None else Rows(_of_target(parts.dual))
        history = trainer.fit(Rows(parts.train, recipe.batch_size, seed), Rows(measured), dual_loader=dual)
    return head, history


def _of_target(rows: Features) -> Features:
    """The rows that equal opportunity is about."""
    chosen = np.flatnonzero(rows.y == 1)
    return Features(rows.x[chosen], rows.y[chosen], rows.group[chosen])


def _criterion(method: Any, rule: Rule) -> ConstrainedLoss:
    is_adversary = isinstance(method, Adversary)
    criterion = ConstrainedLoss(
        nn.BCEWithLogitsLoss(reduction="none"),
        EqualOpportunity(tol=rule.tol),
        Unconstrained() if is_adversary else method,
        n_groups=2,
        dual_from="observe" if rule.is_heldout else "forward",
    )
    if is_adversary:
        criterion.adversary = method.make(criterion.constraint, 2)
    return criterion


@torch.no_grad()
def predict(head: nn.Module, rows: Features) -> IntArray:
    """Labels, 0 and 1."""
    found: IntArray = (head(rows.x)[:, 0] > 0).numpy().astype("int64")
    return found
