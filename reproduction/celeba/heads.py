"""Fair last layers on frozen ImageNet features."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch

from fairalm.constraints import EqualOpportunity
from fairalm.datasets.images import load_celeba
from fairalm.exceptions import ToleranceWarning
from fairalm.methods import Unconstrained
from fairalm.nn.features import Features, compute_features
from fairalm.nn.last_layer import RefittedNet, refit_last_layer
from fairalm.vision.loader import PictureBatches, Scale, group_labels
from fairalm.vision.nets import make_net
from fairalm.vision.weights import IMAGENET
from reproduction.celeba.cell import BATCH_SIZE, FEATURES, TOLS, HeadCell
from reproduction.celeba.judge import judge, named
from reproduction.page import net_entry


def fit_heads(cell: HeadCell, data_dir: str | None) -> list[dict[str, Any]]:
    """One row for the plain head and for each tolerance, on features that are computed once."""
    name, size = FEATURES["net"], FEATURES["size"]
    faces = load_celeba(data_dir, size=size, limit=cell.limit)
    groups, scale = group_labels(faces), Scale.published(name, 3)
    net = make_net(name, in_channels=3, size=size, weights=IMAGENET)

    def features(part: str) -> Features:
        loader = PictureBatches(faces.part(part), groups, scale, BATCH_SIZE)
        return compute_features(net, loader, cache=None if cell.folder is None else Path(cell.folder) / part)

    parts = {part: features(part) for part in ("train", "valid", "test")}
    plain = refit_last_layer(net, parts["train"], method=Unconstrained(), l2=FEATURES["l2"])
    rows = [_row(None, plain, parts)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)  # of few faces, with --quick; the table shows the gap
        for tol in TOLS:
            constraint, n_folds = EqualOpportunity(tol=tol), FEATURES["n_folds"]
            fair = refit_last_layer(net, parts["train"], constraint=constraint, l2=FEATURES["l2"], n_folds=n_folds)
            rows.append(_row(tol, fair, parts))
    return rows


def _row(tol: float | None, found: RefittedNet, parts: dict[str, Features]) -> dict[str, Any]:
    head = found.model.get_submodule(found.head)
    row: dict[str, Any] = {"tol": tol, "rounds": len(found.history), "optimality_gap": found.optimality_gap}
    with torch.inference_mode():
        logits = {part: head(parts[part].x)[:, 0].numpy() for part in ("valid", "test")}
    for part, logit in logits.items():
        row[part] = judge(parts[part].y, (logit > 0).astype(int), parts[part].group)
    return row | {"entry": net_entry(parts["test"].y, logits["test"], named(parts["test"].group))}
