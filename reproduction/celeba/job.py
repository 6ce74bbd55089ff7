"""The jobs: nets that are trained, and last layers on a net that is not."""

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
from fairalm.datasets.images import load_celeba
from fairalm.exceptions import ToleranceWarning
from fairalm.methods import METHODS, Unconstrained
from fairalm.nn import ConstrainedLoss, Features, compute_features, refit_last_layer
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

BATCH_SIZE = 64
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
#: How each net is trained; the small one as in the paper.
TRAINING: dict[str, dict[str, Any]] = {
    "relu3": {"size": 28, "optimizer": "sgd", "lr": 0.01, "cosine": False, "flip": False},
    "resnet18": {"size": 64, "optimizer": "adam", "lr": 1e-3, "cosine": True, "flip": True},
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
    folder: str | None = field(default=None, compare=False)  # where to save the net

    @property
    def name(self) -> str:
        eta = "" if self.eta is None else f"-{self.eta:g}"
        return f"{self.net}-{self.method}{eta}{'-accumulating' * self.accumulates}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, "batch_size": BATCH_SIZE, **TRAINING[self.net]}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Train and measure.

        The ``history`` has error, DEO and share predicted attractive on both parts, by epoch. ``diverged`` is the step
        at which an output was not finite; if there is none, it is None, and ``entry`` is that of the test part.
        """
        how, constraint = self.config, EqualOpportunity()
        faces = load_celeba(data_dir, size=how["size"], limit=self.limit)
        train = faces.part("train")
        groups, scale = check_sets({"train": train}, constraint), Scale.of(train.pixels)
        loader = image_batches(train, groups, scale, BATCH_SIZE, seed=self.seed, flip=how["flip"])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            net = make_net(self.net, in_channels=3, size=how["size"])
        method = METHODS[self.method](**({} if self.eta is None else {"eta": self.eta}))
        surrogate = "sigmoid" if method.traits.strict_dual else "log"  # the paper's methods need a convex loss
        loss, steps = nn.BCEWithLogitsLoss(reduction="none"), self.epochs * len(loader)
        criterion = ConstrainedLoss(loss, constraint, method, n_groups=2, surrogate=surrogate)
        optimizer = OPTIMIZERS[how["optimizer"]](net.parameters(), lr=how["lr"])
        # without a decay: a constant rate for all steps
        schedule = cosine_decay(optimizer, steps, head_steps=0 if how["cosine"] else steps + 1)
        settings = describe({"train": train}, groups, scale, self.net, None, constraint) | how
        history, model = pd.DataFrame(), ImageModel(net, settings, pd.DataFrame(), self.epochs - 1)
        for epoch in range(self.epochs):
            net.train()
            for x, y, group in loader:
                if not self.accumulates:
                    optimizer.zero_grad()
                logits = net(x)[:, 0]
                if not bool(logits.isfinite().all()):
                    return {"history": history.to_dict("list"), "diverged": criterion.t}
                with np.errstate(over="ignore"):  # logits of a net about to diverge
                    criterion(logits, y, group).backward()
                optimizer.step()
                criterion.step()
                schedule.step()
            row = {"epoch": epoch}
            for name in ("valid", "test"):
                part = faces.part(name)
                outputs = model.logits(part)
                entry = net_entry(part.y, outputs, group_names(part, "Male"))
                row |= {f"{name}_error": entry["error"]["value"], f"{name}_deo": entry["deo"]["value"]}
                row |= {f"{name}_selection": (outputs > 0).mean()}
            history = pd.concat([history, pd.DataFrame([row])])
        if self.folder is not None:
            replace(model, history=history).save(self.folder)
        return {"history": history.to_dict("list"), "diverged": None, "entry": entry}


@dataclass(frozen=True)
class HeadJob(Job):
    """Fit a plain last layer and one for each of ``TOLS``, all on the same frozen features."""

    name: ClassVar[str] = "heads"
    limit: int | None = None  # the largest number of faces of each part
    folder: str | None = field(default=None, compare=False)  # where to keep the features

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, **FEATURES, "tols": TOLS}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Fit and measure; ``heads`` has the tolerance and the ``entry`` of the test part of each last layer."""
        name, size = FEATURES["net"], FEATURES["size"]
        faces = load_celeba(data_dir, size=size, limit=self.limit)
        net = make_net(name, in_channels=3, size=size, weights=IMAGENET)

        def features(part: str) -> Features:
            loader = image_batches(faces.part(part), group_labels(faces), Scale.published(name, 3), BATCH_SIZE)
            return compute_features(net, loader, cache=None if self.folder is None else Path(self.folder) / part)

        train, test, heads = features("train"), features("test"), []
        for tol in (None, *TOLS):
            how: dict[str, Any] = {"method": Unconstrained()}
            if tol is not None:
                how = {"constraint": EqualOpportunity(tol=tol), "n_folds": FEATURES["n_folds"]}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ToleranceWarning)  # with few faces; the table shows the gap
                fitted = refit_last_layer(net, train, l2=FEATURES["l2"], **how)
            with torch.inference_mode():
                logits = fitted.model.get_submodule(fitted.head)(test.x)[:, 0].numpy()
            heads.append({"tol": tol, "entry": net_entry(test.y, logits, group_names(faces.part("test"), "Male"))})
        return {"heads": heads}
