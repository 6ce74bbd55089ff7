"""The methods that are compared, and a job: a method on a data set with a seed."""

from __future__ import annotations

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

from fairalm import methods
from fairalm.constraints import EqualOpportunity
from fairalm.exceptions import InputError
from fairalm.measures.chance import chance_gap
from fairalm.nn import ConstrainedLoss, Features, Trainer, refit_last_layer
from fairalm.nn.learning_rate import cosine_decay
from fairalm.nn.row_batches import RowBatches
from fairalm.selection import nvp
from fairalm.vision.adversary import Adversary
from reproduction.experiment import Job
from reproduction.page import net_entry
from reproduction.verbs.data import NET, Parts, read_parts

Setting = Mapping[str, float]


class Kind(NamedTuple):
    """A kind of data, and how heads are trained on it: by Adam, its rate going down to 0 along a cosine."""

    size: int  # pixels on a side; the net was made for 224
    groups: tuple[str, str]
    epochs: int  # these three were chosen on validation images
    batch_size: int
    lr: float


KINDS = {
    "waterbirds": Kind(224, ("land", "water"), 20, 256, 1e-2),
    "scenes": Kind(48, ("man", "woman"), 40, 64, 1e-3),
    "imsitu": Kind(224, ("man", "woman"), 40, 64, 1e-3),
}


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
        config = {**super().config, "net": NET, **KINDS[kind]._asdict(), "tol": row.tol}
        config["settings"] = [{**own, **penalty} for own, penalty in product(row.settings, penalties)]
        config["sweep"] = [{**setting, "l2": SWEPT_PENALTY} for setting in SWEEP] if is_swept else []
        return config | ({"size": min(config["size"], 96)} if self.is_small else {})

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Fit every setting, choose one on the validation images, and test it.

        Returns
        -------
        dict
            The ``runs``, their figures, and the position ``chosen``; the figures of the chosen one on the test part
            (``test``) and on further scenes (``fresh``), error and DEO on the test part by epoch (``history``), and the
            test part's ``entry``; figures on the test part for the ``sweep``.
        """
        torch.set_num_threads(1)
        config = self.config
        parts = read_parts(self.data, self.seed, config["size"], self.folder)
        settings = config["settings"] + [setting for setting in config["sweep"] if setting not in config["settings"]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a gap that remains shows in the figures
            heads = [fit_head(parts, parts.test, setting, config) for setting in settings]

        def entry(head: nn.Module, rows: Features) -> dict[str, Any]:
            return net_entry(rows.y, logits(head, rows), np.array(config["groups"])[rows.group])

        runs = [figures(entry(head, parts.choose)) for head, _ in heads[: len(config["settings"])]]
        chosen = choose(runs)
        head, history = heads[chosen]
        tested = [entry(heads[settings.index(setting)][0], parts.test) for setting in config["sweep"]]
        return {
            "runs": runs,
            "chosen": chosen,
            "test": figures(entry(head, parts.test)),
            "fresh": None if parts.fresh is None else figures(entry(head, parts.fresh)),
            "history": {name: history[f"valid_{name}"].tolist() for name in ("error", "deo") if len(history)},
            "sweep": [figures(each) for each in tested],
            "entry": entry(head, parts.test),
        }


def fit_head(
    parts: Parts, measured: Features, setting: Setting, config: Mapping[str, Any]
) -> tuple[nn.Module, pd.DataFrame]:
    """Train a linear head, whose history is `measured` by epoch; the fair head, found by whole fits, has none.

    Of the setting, ``l2`` is the penalty on the weights.
    """
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
        criterion = ConstrainedLoss(
            nn.BCEWithLogitsLoss(reduction="none"),
            constraint,
            methods.Unconstrained() if is_adversary else methods.METHODS[row.method](**own),
            n_groups=2,
            dual_from="observe" if row.is_heldout else "forward",
        )
        weights: dict[str, Any] = {"params": [head.weight], "weight_decay": setting.get("l2", 0.0)}
        optimizer = torch.optim.Adam([weights, {"params": [head.bias]}], lr=config["lr"])
        trainer = Trainer(
            head,
            optimizer,
            criterion,
            epochs=config["epochs"],
            scheduler=cosine_decay(optimizer, config["epochs"]),
            backward=Adversary(**own).make(constraint, 2) if is_adversary else None,
        )
        batches = RowBatches(_columns(parts.train), config["batch_size"], seed=seed)
        dual = None
        if row.is_heldout and parts.dual is not None:  # the images that equal opportunity is about, all at every step
            positive = np.flatnonzero(parts.dual.y == 1)
            dual = [tuple(column[positive] for column in _columns(parts.dual))]
        return head, trainer.fit(batches, [_columns(measured)], dual_loader=dual)


def _columns(rows: Features) -> tuple[torch.Tensor, ...]:
    return rows.x, torch.as_tensor(rows.y, dtype=torch.float32), torch.as_tensor(rows.group)


@torch.no_grad()
def logits(head: nn.Module, rows: Features) -> Any:
    """The logit of label 1 of each row."""
    return head(rows.x)[:, 0].numpy()


def figures(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Error, DEO and the largest error of the four cells of label and group, with intervals, from an entry.

    Also the share predicted 1, and ``chance``, the DEO that a head without any gap shows on as many images.
    """
    groups = list(entry["groups"].values())
    errors = [group["rates"][rate] for rate in ("fpr", "fnr") for group in groups]
    positives, hits = [group["tp"] + group["fn"] for group in groups], sum(group["tp"] for group in groups)
    return {
        "error": entry["error"],
        "deo": entry["deo"],
        "worst": max(errors, key=lambda rate: rate["value"] or 0.0),
        "selection": (hits + sum(group["fp"] for group in groups)) / entry["error"]["n"],
        "chance": chance_gap(hits / sum(positives), *positives),
    }


def choose(runs: Sequence[Mapping[str, Any]]) -> int:
    """The run that NVP chooses; a constant head only if there is nothing else."""
    table = pd.DataFrame(
        [{"error": r["error"]["value"], "deo": r["deo"]["value"], "selection": r["selection"]} for r in runs]
    )
    try:
        return nvp(leave_out_constants=True)(table)
    except InputError:
        return nvp()(table)
