"""The nets and last layers that are trained on CelebA."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import nn

from fairalm.constraints import EqualOpportunity
from fairalm.datasets.images import ImageDataset, load_celeba
from fairalm.exceptions import ToleranceWarning
from fairalm.methods import METHODS, Unconstrained
from fairalm.nn import ConstrainedLoss, compute_features, refit_last_layer
from fairalm.nn.learning_rate import cosine_decay
from fairalm.vision.image_batches import Scale, image_batches
from fairalm.vision.image_model import ImageModel
from fairalm.vision.image_sets import check_sets, group_labels
from fairalm.vision.imagenet import IMAGENET
from fairalm.vision.nets import make_net
from fairalm.vision.run_settings import describe
from reproduction.experiment import Job
from reproduction.labels.job import group_names
from reproduction.page import net_entry
from reproduction.saved_epochs import SavedEpochs

BATCH_SIZE = 64
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
#: How each net is trained; the small one as in the paper. With bfloat16 a forward pass takes half as long.
TRAINING: dict[str, dict[str, Any]] = {
    "relu3": {"size": 28, "optimizer": "sgd", "lr": 0.01, "cosine": False, "flip": False, "bfloat16": False},
    "resnet18": {"size": 64, "optimizer": "adam", "lr": 1e-3, "cosine": True, "flip": True, "bfloat16": True},
}
#: Frozen features: the settings that benchmarks/celeba_last_layer.py chose on the validation part.
FEATURES: dict[str, Any] = {"net": "efficientnet-lite0-grid", "size": 96, "l2": 0.1, "n_folds": 3}
TOLS = (0.06, 0.01)


@dataclass(frozen=True)
class NetJob(Job):
    """Train a net with a method, and measure it on the validation and the test part after every epoch."""

    net: str  # a key of TRAINING
    method: str
    eta: float | None = None  # None: the method's own default
    accumulates: bool = False  # never set the gradients to zero, as in the authors' l2
    seed: int = 0  # of weights and order
    epochs: int = 5
    limit: int | None = None  # the largest number of faces of each part
    growth: float = 0.0  # of eta, in an epoch
    inner_steps: int = 1  # optimiser steps for each dual step
    folder: Path | None = field(default=None, compare=False)  # where to save the net

    @property
    def name(self) -> str:
        eta = "" if self.eta is None else f"-{self.eta:g}"
        variant = "-accumulating" * self.accumulates + "-growing" * bool(self.growth)
        steps = f"-{self.inner_steps}-steps" * (self.inner_steps > 1)
        return f"{self.net}-{self.method}{eta}{variant}{steps}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, "batch_size": BATCH_SIZE, **TRAINING[self.net]}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Train and measure; ``diverged`` is the step at which an output was not finite, None if there is none.

        With a folder, a job that was killed continues after its last finished epoch.
        """
        how, constraint = self.config, EqualOpportunity()
        faces = load_celeba(data_dir, size=how["size"], limit=self.limit)
        train = faces.part("train")
        groups, scale = check_sets({"train": train}, constraint), Scale.of(train.pixels)
        loader = image_batches(train, groups, scale, BATCH_SIZE, seed=self.seed, flip=how["flip"])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            net = make_net(self.net, in_channels=3, size=how["size"])
        eta = {} if self.eta is None else {"eta": self.eta}
        if self.growth:  # of an epoch, spread over its dual steps
            eta["eta_beta"] = (1 + self.growth) ** (self.inner_steps / len(loader)) - 1
        method = METHODS[self.method](**eta)
        surrogate = "sigmoid" if method.traits.strict_dual else "log"  # the paper's methods need a convex loss
        loss, steps = nn.BCEWithLogitsLoss(reduction="none"), self.epochs * len(loader)
        criterion = ConstrainedLoss(loss, constraint, method, n_groups=2, surrogate=surrogate)
        optimizer = OPTIMIZERS[how["optimizer"]](net.parameters(), lr=how["lr"])
        # without a decay: a constant rate for all steps
        schedule = cosine_decay(optimizer, steps, head_steps=0 if how["cosine"] else steps + 1)
        settings = describe({"train": train}, groups, scale, self.net, None, constraint) | how
        model = ImageModel(net, settings, pd.DataFrame(), self.epochs - 1)
        path = self.folder and self.folder.with_name(f"{self.name}.epochs.pt")
        assert loader.generator is not None
        saved = SavedEpochs(path, self.config, [net, optimizer, criterion, schedule], loader.generator)
        history = saved.load()
        for epoch in range(len(history), self.epochs):
            net.train()
            for step, (x, y, group) in enumerate(loader, start=epoch * len(loader) + 1):
                if not self.accumulates:
                    optimizer.zero_grad()
                with torch.autocast("cpu", torch.bfloat16, enabled=how["bfloat16"]):
                    logits = net(x)[:, 0].float()
                if not bool(logits.isfinite().all()):
                    return {"history": history.to_dict("list"), "diverged": criterion.t}
                with np.errstate(over="ignore"):  # logits of a net about to diverge
                    criterion(logits, y, group).backward()
                optimizer.step()
                if step % self.inner_steps == 0:
                    criterion.step()
                schedule.step()
            row: dict[str, float] = {"epoch": epoch}
            for name in ("valid", "test"):
                entry, row[f"{name}_selection"] = measured(model, faces.part(name))
                row |= {f"{name}_{measure}": entry[measure]["value"] for measure in ("error", "deo")}
            history = pd.concat([history, pd.DataFrame([row])])
            saved.save(history)
        if self.folder is not None:
            replace(model, history=history).save(self.folder)
        entry, _ = measured(model, faces.part("test"))
        saved.remove()
        return {"history": history.to_dict("list"), "diverged": None, "entry": entry}


@dataclass(frozen=True)
class HeadJob(Job):
    """Fit a plain last layer and one for each of ``TOLS``, all on the same frozen features."""

    name: ClassVar[str] = "heads"
    limit: int | None = None  # the largest number of faces of each part
    folder: Path = field(default=Path("features"), compare=False)  # where to keep the features

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, **FEATURES, "tols": TOLS}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Fit and measure; ``heads`` has the tolerance and the ``entry`` of the test part of each last layer."""
        name, size, features = FEATURES["net"], FEATURES["size"], {}
        faces = load_celeba(data_dir, size=size, limit=self.limit)
        net = make_net(name, in_channels=3, size=size, weights=IMAGENET)
        for part in ("train", "test"):
            loader = image_batches(faces.part(part), group_labels(faces), Scale.published(name, 3), BATCH_SIZE)
            features[part] = compute_features(net, loader, cache=self.folder / part)
        test, heads = features["test"], []
        for tol in (None, *TOLS):
            fair = {"constraint": EqualOpportunity(tol=tol or 0.0), "n_folds": FEATURES["n_folds"]}
            how: dict[str, Any] = fair if tol else {"method": Unconstrained()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ToleranceWarning)  # with few faces; the table shows the gap
                fitted = refit_last_layer(net, features["train"], l2=FEATURES["l2"], **how)
            with torch.inference_mode():
                logits = fitted.model.get_submodule(fitted.head)(test.x)[:, 0].numpy()
            heads.append({"tol": tol, "entry": net_entry(test.y, logits, group_names(faces.part("test"), "Male"))})
        return {"heads": heads}


def measured(model: ImageModel, part: ImageDataset) -> tuple[dict[str, Any], float]:
    """The entry of some faces, and the share predicted attractive."""
    outputs = model.logits(part)
    return net_entry(part.y, outputs, group_names(part, "Male")), float((outputs > 0).mean())
