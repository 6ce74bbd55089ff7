"""A net trained by a rule, looked at after every epoch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from fairalm.constraints import EqualOpportunity
from fairalm.datasets.images import ImageDataset, load_celeba
from fairalm.experiments.celeba.cell import BATCH_SIZE, NetCell
from fairalm.experiments.celeba.judge import judge
from fairalm.methods import METHODS, Method
from fairalm.nn import ConstrainedLoss
from fairalm.vision._setup import check_data, describe, scale_of
from fairalm.vision.loader import PictureBatches
from fairalm.vision.model import PictureModel
from fairalm.vision.nets import make_net

OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
Row = dict[str, Any]


def train(cell: NetCell, data_dir: str | None) -> tuple[list[Row], int | None]:
    """Train a net; one row per epoch, and the step at which it gave no number, if it came to that."""
    how = cell.config
    faces = load_celeba(data_dir, size=how["size"], limit=cell.limit)
    parts = {name: faces.part(name) for name in ("train", "valid", "test")}
    kind: Any = METHODS[cell.rule]
    rule: Method = kind() if cell.eta is None else kind(eta=cell.eta)
    constraint = EqualOpportunity()
    groups = check_data({"train": parts["train"]}, constraint)
    scale = scale_of(parts["train"], cell.net, None)
    loader = PictureBatches(parts["train"], groups, scale, BATCH_SIZE, seed=cell.seed, flip=how["flip"])
    criterion = ConstrainedLoss(
        nn.BCEWithLogitsLoss(reduction="none"), constraint, rule, n_groups=2, surrogate=surrogate_of(rule)
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(cell.seed)
        net = make_net(cell.net, in_channels=3, size=how["size"])
    settings = describe({"train": parts["train"]}, groups, scale, cell.net, None, constraint) | how
    optimizer = OPTIMIZERS[how["optimizer"]](net.parameters(), lr=how["lr"])
    steps = cell.epochs * len(loader)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 0.5 + 0.5 * math.cos(math.pi * step / steps) if how["cosine"] else 1.0
    )
    rows: list[Row] = []
    model = PictureModel(net, settings, pd.DataFrame(), cell.epochs - 1)
    for epoch in range(cell.epochs):
        net.train()
        for x, y, group in loader:
            if not cell.accumulates:
                optimizer.zero_grad()
            logits = net(x)[:, 0]
            if not bool(logits.isfinite().all()):
                return rows, criterion.t
            with np.errstate(over="ignore"):  # logits of a net about to diverge
                loss = criterion(logits, y, group)
            loss.backward()
            optimizer.step()
            criterion.step()
            rates.step()
        rows.append({"epoch": epoch + 1, **{name: look(model, parts[name]) for name in ("valid", "test")}})
    if cell.folder is not None:
        replace(model, history=_profile(rows)).save(cell.folder)
    return rows, None


def _profile(rows: list[Row]) -> pd.DataFrame:
    lines = [{f"valid_{name}": row["valid"][name]["value"] for name in ("error", "deo")} for row in rows]
    return pd.DataFrame(lines).rename_axis("epoch").reset_index()


def surrogate_of(rule: Method) -> str:
    """Log loss for the paper's rules, whose derivation needs a convex one; for ours, what it was made with."""
    return "sigmoid" if rule.strict_dual else "log"


def look(model: PictureModel, faces: ImageDataset) -> Row:
    """What is said of a net on some faces."""
    predicted = (model.logits(faces) > 0).astype(np.int64)
    return judge(faces.y, predicted, faces.groups.to_numpy(dtype=np.int64))
