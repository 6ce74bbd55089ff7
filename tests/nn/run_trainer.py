"""Train a small net on COMPAS in a folder, going on with what is there.

run_trainer.py FOLDER     in this process
run_trainer.py            for each folder named on stdin, in a fork of this process, which has made its imports
"""

import os
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fairalm import AugmentedLagrangian, EqualOpportunity
from fairalm.datasets import load_compas, preprocess, split
from fairalm.nn.loss import ConstrainedLoss
from fairalm.nn.trainer import Trainer

EPOCHS = 10


def say(what):
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def load():
    data = load_compas()
    X = data.features_frame(with_protected=True)
    train, test = split(data.y, data.groups, random_state=0)
    x = torch.tensor(preprocess(X.iloc[train]).fit(X.iloc[train]).transform(X), dtype=torch.float32)
    y = torch.tensor(data.y, dtype=torch.float32)
    group = torch.tensor((data.groups == "Caucasian").to_numpy(dtype=int))
    return [TensorDataset(x[part], y[part], group[part]) for part in (train, test)]


def run(data, folder):
    torch.manual_seed(0)
    train, valid = DataLoader(data[0], 64, shuffle=True), DataLoader(data[1], 512)
    width = data[0].tensors[0].shape[1]
    model = nn.Sequential(nn.Linear(width, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
    loss, rule = nn.BCEWithLogitsLoss(reduction="none"), AugmentedLagrangian(eta=0.05)
    trainer = Trainer(
        model,
        torch.optim.Adam(model.parameters(), lr=0.003),
        ConstrainedLoss(loss, EqualOpportunity(), rule, n_groups=2, window=10),
        epochs=EPOCHS,
        inner_steps=2,
        folder=folder,
        checkpoint_every=1,
    )
    say("go")
    start = time.perf_counter()
    trainer.fit(train, valid, resume=True)
    say(time.perf_counter() - start)


if __name__ == "__main__":
    torch.set_num_threads(1)
    data = load()
    torch.optim.Adam([torch.zeros(1)])  # torch makes some imports only now
    if sys.argv[1:]:
        run(data, Path(sys.argv[1]))
        sys.exit()
    say("ready")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(data, Path(line.strip()))
            os._exit(0)
        say(child)
        os.waitpid(child, 0)
        say("ended")
