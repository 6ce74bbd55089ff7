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
from fairalm.methods import METHODS, Method
from fairalm.nn import ConstrainedLoss
from fairalm.vision._setup import check_data, describe, scale_of
from fairalm.vision.loader import PictureBatches
from fairalm.vision.model import PictureModel
from fairalm.vision.nets import make_net
from reproduction.celeba.cell import BATCH_SIZE, NetCell
from reproduction.celeba.judge import judge, named
from reproduction.page import net_entry
from reproduction.types import FloatArray, IntArray

OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
Row = dict[str, Any]


def train(cell: NetCell, data_dir: str | None) -> dict[str, Any]:
    """Train a net; one row per epoch, and the step at which it gave no number, if it came to that.

    Returns
    -------
    dict
        ``history``, ``diverged`` and, if it came to its end, ``entry``, as of :func:`run_cell`.
    """
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
                return {"history": rows, "diverged": criterion.t}
            with np.errstate(over="ignore"):  # logits of a net about to diverge
                loss = criterion(logits, y, group)
            loss.backward()
            optimizer.step()
            criterion.step()
            rates.step()
        said = {name: model.logits(parts[name]) for name in ("valid", "test")}
        rows.append({"epoch": epoch + 1, **{name: look(parts[name], said[name]) for name in said}})
    if cell.folder is not None:
        replace(model, history=_profile(rows)).save(cell.folder)
    test = parts["test"]
    return {"history": rows, "diverged": None, "entry": net_entry(test.y, said["test"], named(_genders(test)))}


def _profile(rows: list[Row]) -> pd.DataFrame:
    lines = [{f"valid_{name}": row["valid"][name]["value"] for name in ("error", "deo")} for row in rows]
    return pd.DataFrame(lines).rename_axis("epoch").reset_index()


def surrogate_of(rule: Method) -> str:
    """Log loss for the paper's rules, whose derivation needs a convex one; for ours, what it was made with."""
    return "sigmoid" if rule.traits.strict_dual else "log"


def look(faces: ImageDataset, logits: FloatArray) -> Row:
    """What is said of a net by its logits of some faces."""
    return judge(faces.y, (logits > 0).astype(np.int64), _genders(faces))


def _genders(faces: ImageDataset) -> IntArray:
    found: IntArray = faces.groups.to_numpy(dtype=np.int64)
    return found
