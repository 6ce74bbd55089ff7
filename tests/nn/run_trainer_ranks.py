"""Run by torchrun: train to the end, then again with a crash and a resume, and let rank 0 write what came out."""

import contextlib
import sys
from pathlib import Path

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from fairalm import EqualOpportunity, FairALM
from fairalm.files import write_json
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.trainer import Trainer


class Crash(Exception):
    pass


class Net(nn.Module):
    def __init__(self, left):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8, momentum=1.0), nn.ReLU(), nn.Dropout(0.3))
        self.head = nn.Linear(8, 2)
        self.left = left

    def forward(self, x):
        self.left -= 1
        if self.left < 0:
            raise Crash
        return self.head(self.body(x))


def rows(n, seed):
    rng = torch.Generator().manual_seed(seed)
    y, group = torch.randint(2, (n,), generator=rng), torch.randint(2, (n,), generator=rng)
    return TensorDataset(torch.randn(n, 3, generator=rng) + y[:, None] * (1.0 + group[:, None]), y, group)


def run(folder, shared, crash=10**6):
    torch.manual_seed(0)
    net = Net(crash)
    model = DistributedDataParallel(net, find_unused_parameters=True)
    torch.manual_seed(distributed.get_rank())  # the ranks' dropout differs
    criterion = ConstrainedLoss(
        nn.CrossEntropyLoss(reduction="none"), EqualOpportunity(), FairALM(eta=0.2), n_groups=2, window=4
    )
    trainer = Trainer(
        model,
        torch.optim.Adam(model.parameters(), 0.01),
        criterion,
        epochs=3,
        accumulate=2,
        head=net.head,
        head_epochs=1,
        choose="best",
        folder=folder,
        checkpoint_every=1,
        progress=True,
    )
    data, valid = rows(200, 0), rows(101, 1)
    train_loader = DataLoader(data, 16, sampler=DistributedSampler(data))
    valid_loader = DataLoader(valid, 50, sampler=DistributedSampler(valid) if shared else None)
    history = trainer.fit(train_loader, valid_loader, resume=True)
    return {
        "history": history.to_dict("list"),
        "model": {name: value.tolist() for name, value in net.state_dict().items()},
        "dual": criterion.dual.tolist(),
        "chosen": trainer.chosen,
        "sampler's epoch": train_loader.sampler.epoch,
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    distributed.init_process_group("gloo")
    said = {}
    for shared in (False, True):
        alone = run(folder / f"alone {shared}", shared)
        for crash in (3, 12, 9):
            with contextlib.suppress(Crash):
                run(folder / f"crashed {shared}", shared, crash)
        crashed = run(folder / f"crashed {shared}", shared)
        ranks = [None] * distributed.get_world_size()
        distributed.all_gather_object(ranks, crashed)
        said[f"shared {shared}"] = {"alone": alone, "crashed": crashed, "ranks": ranks}
    if distributed.get_rank() == 0:
        write_json(folder / "said.json", said)
    distributed.barrier()  # a rank that leaves early takes its connections with it
    distributed.destroy_process_group()
