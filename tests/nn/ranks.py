"""Run by torchrun: train on this rank's half of each batch, and let rank 0 write what came out."""

import sys
from contextlib import nullcontext
from pathlib import Path

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

import fairalm
from fairalm.methods import METHODS
from fairalm.nn import ConstrainedLoss

STEPS, BATCH = 200, 32
SETTINGS = {  # method, how groups are spread over the ranks, window, parts of a batch whose gradients accumulate
    "augmented": ("augmented", "mixed", 0, 1),
    "augmented, groups apart": ("augmented", "apart", 0, 1),
    "fairalm, groups apart": ("fairalm", "apart", 5, 1),
    "proxy-lagrangian": ("proxy-lagrangian", "mixed", 5, 1),
    "pi-control, accumulated": ("pi-control", "apart", 20, 2),
}


def data(how):
    """Batches of 32 whose halves go to the ranks; "apart" puts group 1 on the second rank only."""
    rng = torch.Generator().manual_seed(0)
    n = STEPS * BATCH
    group = torch.randint(2, (n,), generator=rng)
    if how == "apart":
        group = torch.arange(n) % BATCH // (BATCH // 2)
    y = (torch.rand(n, generator=rng) < 0.25 + 0.35 * group).float()
    x = torch.stack([1.2 * y + torch.randn(n, generator=rng), group + torch.randn(n, generator=rng)], dim=1)
    return x.split(BATCH), y.split(BATCH), group.split(BATCH)


def train(rule, how, window, accumulate=1, rank=0, world=1):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    net = DistributedDataParallel(model) if world > 1 else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    criterion = ConstrainedLoss(
        nn.BCEWithLogitsLoss(reduction="none"),
        fairalm.EqualizedOdds(),
        METHODS[rule](eta=0.05),
        n_groups=2,
        window=window,
    )
    criterion.attach(optimizer)
    parts = torch.arange(BATCH).chunk(world)[rank].chunk(accumulate)
    for x, y, group in zip(*data(how), strict=True):
        optimizer.zero_grad()
        for place, rows in enumerate(parts, 1):
            with net.no_sync() if place < accumulate else nullcontext():
                (criterion(net(x[rows])[:, 0], y[rows], group[rows]) / accumulate).backward()
        optimizer.step()
    return {"dual": criterion.dual, **{name: value.detach() for name, value in model.named_parameters()}}


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    for name, settings in SETTINGS.items():
        result = train(*settings, rank, world)
        duals = [torch.zeros_like(result["dual"]) for _ in range(world)]
        distributed.all_gather(duals, result["dual"].contiguous())
        if rank == 0:
            torch.save({**result, "duals": torch.stack(duals)}, Path(sys.argv[1]) / f"{name}.pt")
    distributed.barrier()  # a rank that leaves early takes its connections with it
    distributed.destroy_process_group()
