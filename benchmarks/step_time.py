"""The cost of a constrained training step as a multiple of a plain one: ours, cooper's, fairret's and one by hand.

    python benchmarks/step_time.py [--steps 3000] [--resnet_steps 10] [--write docs/benchmarks/nets.md]

Medians over rounds of interleaved blocks of complete steps: gradients to zero, forward, loss, backward, optimiser,
multipliers. On the small net a step is mostly overhead. By hand, and for cooper, the two sides of the gap are the
constraints of a Lagrangian, with means of the batch; fairret's norm loss has no multiplier. Needs cooper-optim, fairret
and monai.
"""

from __future__ import annotations

from pathlib import Path

import cooper
import torch
from common import start, write_between
from fairret.loss import NormLoss
from fairret.statistic import TruePositiveRate
from steps import NETS, TOL, in_turn, ours, plain, quartiles, random_batch
from torch import nn

import fairalm


def both_sides(logits, y, group):
    """What |gap| <= tol asks to be at most 0, for missed targets in two groups."""
    missed = 1 - torch.sigmoid(logits)
    gap = missed[(y == 1) & (group == 0)].mean() - missed[(y == 1) & (group == 1)].mean()
    return torch.stack([gap - TOL, -gap - TOL])


def by_hand(model, optimizer, x, y, group):
    """A Lagrangian as one writes it into a training loop."""
    loss, multipliers = nn.BCEWithLogitsLoss(), torch.zeros(2)

    def step():
        nonlocal multipliers
        optimizer.zero_grad()
        logits = model(x).flatten()
        violation = both_sides(logits, y, group)
        (loss(logits, y) + (multipliers * violation).sum()).backward()
        optimizer.step()
        multipliers = (multipliers + 0.1 * violation.detach()).clamp(min=0)

    return step


class EqualRates(cooper.ConstrainedMinimizationProblem):
    """Equal opportunity as cooper's users write it."""

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
        state = cooper.ConstraintState(violation=both_sides(logits, y, group))
        return cooper.CMPState(loss=loss, observed_constraints={self.gap: state})


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
    "the default": ours(),
    "Algorithm 2": ours(fairalm.FairALM()),
    "augmented": ours(fairalm.AugmentedLagrangian()),
    "by hand": by_hand,
    "cooper 1.0": with_cooper,
    "fairret 0.1": with_fairret,
}


def compare(make_net, shape, names, rounds, block):
    """Each kind of step as a multiple of the plain one in the same round: the machine's speed may change between."""
    batch, steps = random_batch(shape), {}
    for name in ("plain", *names):
        torch.manual_seed(0)
        model = make_net()
        steps[name] = STEPS[name](model, torch.optim.SGD(model.parameters(), lr=0.01), *batch)
    seconds = in_turn(steps, rounds, block)
    warm = max(1, rounds // 10)  # rounds not counted
    return {name: quartiles((values / seconds["plain"])[warm:]) for name, values in seconds.items()}


def main():
    parser = start(__doc__, steps=3000, resnet_steps=10)
    parser.add_argument("--write", type=Path, help="a page with <!-- step time --> markers")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = [name for name in STEPS if name != "plain"]
    fewer = [name for name in names if name not in ("Algorithm 2", "augmented")]  # a step takes about a second there
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    plans = ((names, options.steps, 50), (fewer, options.resnet_steps, 1))
    for (title, (make_net, shape)), (kinds, steps, block) in zip(NETS.items(), plans, strict=True):
        if steps:
            found = compare(make_net, shape, kinds, max(2, steps // block), block)
            lines.append(f"| {title} | " + " | ".join(found.get(name, "") for name in names) + " |")
            print(lines[-1], flush=True)
    print("\n".join(lines))
    if options.write:
        write_between(options.write, "step time", "\n".join(lines))


if __name__ == "__main__":
    main()
