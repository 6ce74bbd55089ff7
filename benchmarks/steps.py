"""Training steps to be timed: nets, a plain step, a step with our loss, and timing in turn."""

from __future__ import annotations

import time
from contextlib import nullcontext

import numpy as np
import torch
from monai.networks.nets import resnet18
from torch import nn

import fairalm
from fairalm.nn import ConstrainedLoss

TOL = 0.01


def small_net():
    return nn.Sequential(nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))


def large_net():
    return resnet18(spatial_dims=2, n_input_channels=3, num_classes=1)


NETS = {  # how to make it, and the shape of a batch
    "100-64-64-1, batch 256": (small_net, (256, 100)),
    "ResNet-18 at 64×64, batch 32": (large_net, (32, 3, 64, 64)),
}


def random_batch(shape):
    """Features, labels and two groups."""
    rng = torch.Generator().manual_seed(0)
    y, group = (torch.randint(2, (shape[0],), generator=rng) for _ in range(2))
    return torch.randn(shape, generator=rng), y.float(), group


def accumulating(model, optimizer, batch_loss, batches):
    """A step from the mean over several batches; under DDP the gradients are averaged over the ranks with the last."""

    def step():
        optimizer.zero_grad()
        for place in range(batches):
            is_local = place < batches - 1 and hasattr(model, "no_sync")
            with model.no_sync() if is_local else nullcontext():
                (batch_loss() / batches).backward()
        optimizer.step()

    return step


def plain(model, optimizer, x, y, group, batches=1):
    loss = nn.BCEWithLogitsLoss()
    return accumulating(model, optimizer, lambda: loss(model(x).flatten(), y), batches)


def ours(method=None):
    def make(model, optimizer, x, y, group, batches=1):
        each = nn.BCEWithLogitsLoss(reduction="none")
        criterion = ConstrainedLoss(each, fairalm.EqualOpportunity(tol=TOL), method, n_groups=2)
        criterion.attach(optimizer)
        return accumulating(model, optimizer, lambda: criterion(model(x).flatten(), y, group), batches)

    return make


def in_turn(steps, rounds, block, before=lambda: None):
    """Seconds per step of each kind, round by round; `before` is called before each block of steps.

    Blocks are of one kind, since in training, too, nothing else fills the caches.
    """
    seconds = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            step()  # not counted: the caches still hold the data of the others
            before()
            begin = time.perf_counter()
            for _ in range(block):
                step()
            seconds[name].append((time.perf_counter() - begin) / block)  # of all: not every step has a dual step
    return {name: np.array(values) for name, values in seconds.items()}


def quartiles(values, digits=2):
    """The median, and the middle half in brackets."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
