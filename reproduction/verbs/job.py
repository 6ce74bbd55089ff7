"""The methods that are compared, and a job: a method on a data set with a seed, on the features of a frozen net."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from fairalm.arrays import IntArray
from fairalm.constraints import EqualOpportunity
from fairalm.datasets import split
from fairalm.datasets.images import VERB_PAIRS, ImageDataset, imsitu_counts, load_imsitu, load_waterbirds, scenes
from fairalm.exceptions import InputError
from fairalm.files import write_atomic
from fairalm.methods import METHODS, Unconstrained
from fairalm.nn import ConstrainedLoss, Features, Trainer, compute_features, refit_last_layer
from fairalm.nn.learning_rate import cosine_decay
from fairalm.nn.row_batches import RowBatches
from fairalm.vision.adversary import Adversary
from fairalm.vision.image_batches import Scale, image_batches
from fairalm.vision.image_sets import group_labels
from fairalm.vision.nets import make_net
from reproduction.experiment import Job
from reproduction.page import net_entry
from reproduction.seeds import chance_of
from reproduction.tabular.job import choose as choose_run

NET = "efficientnet-lite0"
PAIRS = {pair[0]: pair for pair in VERB_PAIRS}
FRESH, FRESH_SEED = 500, 10_000  # further scenes of each label and colour, to test on more than imSitu has
BATCH_SIZE = 32  # larger batches are slower on a CPU
Setting = Mapping[str, float]
#: Kind of data -> pixels on a side (the net was made for 224), groups, and training, which validation images chose.
KINDS: dict[str, dict[str, Any]] = {
    "waterbirds": {"size": 224, "groups": ("land", "water"), "epochs": 20, "batch_size": 256, "lr": 1e-2},
    "scenes": {"size": 48, "groups": ("man", "woman"), "epochs": 40, "batch_size": 64, "lr": 1e-3},
    "imsitu": {"size": 224, "groups": ("man", "woman"), "epochs": 40, "batch_size": 64, "lr": 1e-3},
}


class Parts(NamedTuple):
    """Features by part; their columns have mean 0 and deviation 1 in `train`."""

    train: Features
    choose: Features  # validation images, on which settings are chosen
    test: Features
    dual: Features | None = None  # Waterbirds: half of its validation part, which moves the multipliers if held out
    fresh: Features | None = None  # scenes: the further ones


class Row(NamedTuple):
    """A method, as a row of the tables."""

    title: str
    method: str  # its name in the library; "" for the fair head of refit_last_layer
    settings: tuple[Setting, ...] = ({},)  # one is chosen; on Waterbirds, each is tried with every penalty
    tol: float = 0.0  # of the constraint
    is_heldout: bool = False  # whether held-out images move the multipliers; only Waterbirds has enough


EPSILON = 0.05  # the appendix's tolerance of the two Lagrangians
SWEEP: tuple[Setting, ...] = tuple({"eta": eta} for eta in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0))  # three decades
FEW = SWEEP[1:6]  # of which one is chosen
PENALTIES = (0.1, 0.3, 1.0, 3.0)  # on Waterbirds, half of it times the squares of the weights is added to the loss
SWEPT_PENALTY = 1.0  # with every eta of the sweep
SEVEN = {  # the paper's methods, in its order
    "unconstrained": Row("Unconstrained", "unconstrained"),
    "l2": Row("l2 penalty", "l2", FEW),
    "reweight": Row("Reweight", "reweight"),
    "adversarial": Row("Adversarial", "adversarial", tuple({"alpha": alpha} for alpha in (0.1, 0.3, 1.0, 3.0, 10.0))),
    "lagrangian": Row("Lagrangian", "lagrangian", FEW, EPSILON),
    "proxy-lagrangian": Row("Proxy-Lagrangian", "proxy-lagrangian", FEW, EPSILON),
    "fairalm": Row("FairALM", "fairalm", FEW),
}
ROWS = SEVEN | {
    "lagrangian-heldout": Row("Lagrangian, held-out", "lagrangian", FEW, EPSILON, True),
    "proxy-lagrangian-heldout": Row("Proxy-Lagr., held-out", "proxy-lagrangian", FEW, EPSILON, True),
    "fairalm-heldout": Row("FairALM, held-out", "fairalm", FEW, 0.0, True),
    "fair-head": Row("fair head, held-out", "", is_heldout=True),
}
#: The rows with a dual step. The paper says that FairALM depends less on its size, eta.
SWEPT = tuple(name for name, row in ROWS.items() if row.method in ("lagrangian", "proxy-lagrangian", "fairalm"))


@dataclass(frozen=True)
class HeadJob(Job):
    """Choose a setting of a method (a key of ``ROWS``) on validation images, and test it."""

    data: str  # a kind, and the target verb of its pair
    method: str
    seed: int  # of the head, the order, the scenes and the halves of Waterbirds' validation part
    is_small: bool = False  # smaller images of Waterbirds, and one penalty
    folder: Path = field(default=Path(), compare=False)  # of the features

    @property
    def name(self) -> str:
        return f"{self.data}-{self.method}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        """Also the training, the settings from which one is chosen, and the sweep: settings that are only tested."""
        kind, row = self.data.partition("-")[0], ROWS[self.method]
        tried = (SWEPT_PENALTY,) if self.is_small else PENALTIES
        penalties = [{"l2": l2} for l2 in tried] if kind == "waterbirds" else [{}]
        is_swept = kind == "waterbirds" and self.method in SWEPT
        config = {**super().config, "net": NET, **KINDS[kind], "tol": row.tol}
        config["settings"] = [{**own, **penalty} for own, penalty in product(row.settings, penalties)]
        config["sweep"] = [{**setting, "l2": SWEPT_PENALTY} for setting in SWEEP] if is_swept else []
        return config | ({"size": min(config["size"], 96)} if self.is_small else {})

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Fit every setting, choose one by the ``runs`` on validation images, and test it, also on ``fresh`` scenes."""
        torch.set_num_threads(1)
        config = self.config
        parts = read_parts(self.data, self.seed, config["size"], self.folder)
        settings = config["settings"] + [setting for setting in config["sweep"] if setting not in config["settings"]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a gap that remains shows in the figures
            heads = [fit_head(parts, setting, config) for setting in settings]
        names = config["groups"]
        runs = [figures(entry_of(head, parts.choose, names)) for head, _ in heads[: len(config["settings"])]]
        swept = [heads[settings.index(setting)][0] for setting in config["sweep"]]
        head, history = heads[choose(runs)]
        entry = entry_of(head, parts.test, names)
        fresh = None if parts.fresh is None else figures(entry_of(head, parts.fresh, names))
        curves = {name: history[f"valid_{name}"].tolist() for name in ("error", "deo") if len(history)}
        result = {"runs": runs, "chosen": choose(runs), "test": figures(entry), "fresh": fresh, "history": curves}
        return result | {"sweep": [figures(entry_of(each, parts.test, names)) for each in swept], "entry": entry}


def fit_head(parts: Parts, setting: Setting, config: Mapping[str, Any]) -> tuple[nn.Module, pd.DataFrame]:
    """Train a linear head; also its history on the test part, which the fair head, made of whole fits, has not."""
    row, seed = ROWS[config["method"]], config["seed"]
    if row.is_heldout and parts.dual is None:
        raise InputError(f"{row.title} needs held-out images, and this data set has too few.")
    constraint, is_adversary = EqualOpportunity(tol=row.tol), row.method == Adversary.name
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = nn.Linear(parts.train.x.shape[1], 1)
        if not row.method:
            fair = refit_last_layer(head, parts.train, parts.dual, constraint=constraint, **setting)  # type: ignore[arg-type]
            return fair.model, pd.DataFrame()
        own = {name: value for name, value in setting.items() if name != "l2"}
        method = Unconstrained() if is_adversary else METHODS[row.method](**own)
        loss = nn.BCEWithLogitsLoss(reduction="none")
        source: Any = "observe" if row.is_heldout else "forward"
        criterion = ConstrainedLoss(loss, constraint, method, n_groups=2, dual_from=source)
        weights: dict[str, Any] = {"params": [head.weight], "weight_decay": setting.get("l2", 0.0)}
        optimizer = torch.optim.Adam([weights, {"params": [head.bias]}], lr=config["lr"])
        schedule = cosine_decay(optimizer, config["epochs"])
        backward = Adversary(**own).make(constraint, 2) if is_adversary else None
        trainer = Trainer(head, optimizer, criterion, epochs=config["epochs"], scheduler=schedule, backward=backward)
        batches, dual = RowBatches(_columns(parts.train), config["batch_size"], seed=seed), None
        if row.is_heldout and parts.dual is not None:  # the images that equal opportunity is about, all at every step
            positive = np.flatnonzero(parts.dual.y == 1)
            dual = [tuple(column[positive] for column in _columns(parts.dual))]
        return head, trainer.fit(batches, [_columns(parts.test)], dual_loader=dual)


def _columns(rows: Features) -> tuple[torch.Tensor, ...]:
    return rows.x, torch.as_tensor(rows.y, dtype=torch.float32), torch.as_tensor(rows.group)


@torch.no_grad()
def entry_of(head: nn.Module, rows: Features, names: Sequence[str]) -> dict[str, Any]:
    """The entry of some rows for a page."""
    return net_entry(rows.y, head(rows.x)[:, 0].numpy(), np.array(names)[rows.group])


def figures(entry: Mapping[str, Any]) -> dict[str, Any]:
    """From an entry: error, DEO, the largest error of the cells of label and group, and two shares."""
    groups = list(entry["groups"].values())
    worst = max((group["rates"][rate] for rate in ("fpr", "fnr") for group in groups), key=lambda r: r["value"] or 0.0)
    selection = sum(group["tp"] + group["fp"] for group in groups) / entry["error"]["n"]
    measures = {"error": entry["error"], "deo": entry["deo"], "worst": worst}
    return {**measures, "selection": selection, "chance": chance_of(entry)}


def choose(runs: Sequence[Mapping[str, Any]]) -> int:
    """The position of the run that NVP chooses; a constant head only if there is nothing else."""
    values = [{**run, "error": run["error"]["value"], "deo": run["deo"]["value"]} for run in runs]
    return choose_run("without-constants", pd.DataFrame(values))


def load_images(data: str, seed: int, size: int, data_dir: str | None, imsitu: str | None) -> ImageDataset:
    """The images of a data set; each seed draws its own scenes, with imSitu's counts."""
    kind, _, verb = data.partition("-")
    if kind == "waterbirds":
        return load_waterbirds(data_dir, size=size)
    if kind == "imsitu":
        return load_imsitu(imsitu, pair=PAIRS[verb], size=size)
    if verb == "fresh":
        every = {("test", label, gender): FRESH for label in (0, 1) for gender in ("man", "woman")}
        return scenes(counts=every, size=size, random_state=FRESH_SEED)
    return scenes(counts=imsitu_counts(data_dir, pair=PAIRS[verb]), size=size, random_state=seed)


def _path(data: str, seed: int, size: int, folder: Path) -> Path:
    has_seed = data.startswith("scenes") and data != "scenes-fresh"
    return folder / (f"{data}-{seed}-{size}.npz" if has_seed else f"{data}-{size}.npz")


def keep_features(data: str, seed: int, size: int, folder: Path, *, data_dir: str | None, imsitu: str | None) -> None:
    """Run the net over the images and write what its last layer gets, unless that was done."""
    path = _path(data, seed, size, folder)
    if path.exists():
        return
    images = load_images(data, seed, size, data_dir, imsitu)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # of the head, which is not used
        net = make_net(NET, in_channels=3, size=size, weights="imagenet")
    batches = image_batches(images, group_labels(images), Scale.published(NET, 3), BATCH_SIZE)
    found, part, buffer = compute_features(net, batches), images.frame["split"].to_numpy(), io.BytesIO()
    np.savez(buffer, x=found.x.numpy(), y=found.y, group=found.group, part=part.astype("U5"))
    write_atomic(path, buffer.getvalue())


def read_parts(data: str, seed: int, size: int, folder: Path) -> Parts:
    """The parts of a data set; the seed draws the half of Waterbirds' validation part on which settings are chosen."""
    with np.load(_path(data, seed, size, folder)) as kept:
        x, y, group, part = (kept[name] for name in ("x", "y", "group", "part"))
    train, valid, test = (np.flatnonzero(part == name) for name in ("train", "valid", "test"))
    mean, std = x[train].mean(axis=0), x[train].std(axis=0) + 1e-6

    def take(rows: IntArray) -> Features:
        return Features(torch.from_numpy((x[rows] - mean) / std), y[rows], group[rows])

    dual = fresh = None
    if data == "waterbirds":
        first, second = split(y[valid], group[valid], test_size=0.5, random_state=seed)
        dual, valid = take(valid[first]), valid[second]
    if data.startswith("scenes"):
        with np.load(_path("scenes-fresh", 0, size, folder)) as more:
            fresh = Features(torch.from_numpy((more["x"] - mean) / std), more["y"], more["group"])
    return Parts(take(train), take(valid), take(test), dual, fresh)
