"""The cost of a constrained training step as a multiple of a plain one: ours, cooper's and fairret's.

    python benchmarks/step_time.py [--steps 3000] [--resnet_steps 30]

Medians over rounds of interleaved blocks of complete steps: gradients to zero, forward, loss, backward, optimiser,
multipliers. The small net is 100-64-64-1 with batches of 256, where a step is mostly overhead; the large one is a
ResNet-18 on 64×64 images with batches of 64. For cooper, the two sides of the gap are constraints of a Lagrangian;
fairret's norm loss has no multiplier. Needs cooper-optim, fairret and monai.
"""

from __future__ import annotations

import time

import cooper
import numpy as np
import torch
from common import start
from fairret.loss import NormLoss
from fairret.statistic import TruePositiveRate
from monai.networks.nets import resnet18
from torch import nn

import fairalm
from fairalm.nn import ConstrainedLoss

TOL = 0.01
BLOCK = 50  # steps of one kind in a row: in training, too, nothing else fills the caches


class EqualRates(cooper.ConstrainedMinimizationProblem):
    """Equal opportunity as cooper's users write it: |gap| <= tol as two inequalities."""

    def __init__(self):
        super().__init__()
        self.gap = cooper.Constraint(
            constraint_type=cooper.ConstraintType.INEQUALITY,
            formulation_type=cooper.formulations.Lagrangian,
            multiplier=cooper.multipliers.DenseMultiplier(num_constraints=2),
        )

    def compute_cmp_state(self, model, x, y, group):
        """The loss, and both sides of the gap."""
        logits = model(x).flatten()
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
        missed = 1 - torch.sigmoid(logits)
        gap = missed[(y == 1) & (group == 0)].mean() - missed[(y == 1) & (group == 1)].mean()
        state = cooper.ConstraintState(violation=torch.stack([gap - TOL, -gap - TOL]))
        return cooper.CMPState(loss=loss, observed_constraints={self.gap: state})


def plain(model, optimizer, x, y, group):
    loss = nn.BCEWithLogitsLoss()

    def step():
        optimizer.zero_grad()
        loss(model(x).flatten(), y).backward()
        optimizer.step()

    return step


def ours(method=None):
    def make(model, optimizer, x, y, group):
        each = nn.BCEWithLogitsLoss(reduction="none")
        criterion = ConstrainedLoss(each, fairalm.EqualOpportunity(tol=TOL), method, n_groups=2)
        criterion.attach(optimizer)

        def step():
            optimizer.zero_grad()
            criterion(model(x).flatten(), y, group).backward()
            optimizer.step()

        return step

    return make


def with_cooper(model, optimizer, x, y, group):
    problem = EqualRates()
    dual = torch.optim.SGD(problem.dual_parameters(), lr=0.1, maximize=True)
    both = cooper.optim.SimultaneousOptimizer(cmp=problem, primal_optimizers=optimizer, dual_optimizers=dual)
    return lambda: both.roll(compute_cmp_state_kwargs={"model": model, "x": x, "y": y, "group": group})


def with_fairret(model, optimizer, x, y, group):
    loss, norm = nn.BCEWithLogitsLoss(), NormLoss(TruePositiveRate())
    sensitive, label = nn.functional.one_hot(group, 2).float(), y[:, None]

    def step():
        optimizer.zero_grad()
        logits = model(x)
        (loss(logits.flatten(), y) + 0.1 * norm(logits, sensitive, label)).backward()
        optimizer.step()

    return step


STEPS = {
    "plain": plain,
    "fairalm, the default": ours(),
    "fairalm, Algorithm 2 (losses at hand)": ours(fairalm.FairALM()),
    "fairalm, augmented": ours(fairalm.AugmentedLagrangian()),
    "cooper 1.0, Lagrangian": with_cooper,
    "fairret 0.1, norm": with_fairret,
}


def small_net():
    return nn.Sequential(nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))


def large_net():
    return resnet18(spatial_dims=2, n_input_channels=3, num_classes=1)


def compare(make_net, x, names, repeats, block=BLOCK):
    rng = torch.Generator().manual_seed(0)
    y, group = (torch.randint(2, (len(x),), generator=rng) for _ in range(2))
    steps = {}
    for name in names:
        torch.manual_seed(0)
        model = make_net()
        steps[name] = STEPS[name](model, torch.optim.SGD(model.parameters(), lr=0.01), x, y.float(), group)
    ratios, here = {name: [] for name in names}, {}
    for _ in range(repeats // block):
        for name, step in steps.items():
            step()  # not counted: the caches still hold the data of the others
            begin = time.perf_counter()
            for _ in range(block):
                step()
            here[name] = time.perf_counter() - begin  # of all steps, since not every step has a dual step
        for name in names:  # ratios within a round: the machine's speed may change between rounds
            ratios[name].append(here[name] / here["plain"])
    for name in names:
        low, middle, high = np.quantile(ratios[name][len(ratios[name]) // 10 :], [0.25, 0.5, 0.75])
        print(f"{name:40s} {middle:5.2f} × plain   (half of the rounds: {low:.2f} to {high:.2f})", flush=True)


def main():
    options = start(__doc__, steps=3000, resnet_steps=30).parse_args()
    torch.set_num_threads(1)
    print("100-64-64-1, batch 256")
    compare(small_net, torch.randn(256, 100), list(STEPS), options.steps)
    if options.resnet_steps:
        print("ResNet-18, 64×64, batch 64")
        compare(large_net, torch.randn(64, 3, 64, 64), list(STEPS)[:2], options.resnet_steps, block=3)


if __name__ == "__main__":
    main()
