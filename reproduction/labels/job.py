"""A job: a net for one label. Its result is counts, from which the measures are computed here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from fairalm.constraints import EqualOpportunity
from fairalm.datasets.images import ImageDataset, load_celeba
from fairalm.exceptions import FairALMWarning
from fairalm.measures import GroupRates, Measure, measure_of, rate_interval
from fairalm.methods import FairALM, Method, PIControl, Unconstrained
from reproduction.experiment import Job
from reproduction.page import net_entry

SIZE, EPOCHS, BATCH_SIZE = 28, 5, 128
TRAINING: dict[str, Any] = {"net": "relu3", "optimizer": "sgd", "epochs": EPOCHS, "batch_size": BATCH_SIZE}
#: protected attribute -> names of the groups 0 and 1
GROUPS = {"Male": ("women", "men"), "Young": ("not young", "young")}
#: name -> method, from its eta: the paper's U and F, and this library's default
METHODS: dict[str, Callable[[float], Method]] = {
    "unconstrained": lambda eta: Unconstrained(),
    "fairalm": lambda eta: FairALM(eta=eta),
    "pi-control": lambda eta: PIControl(),
}
Counts = Mapping[str, Sequence[int]]  # tn, fp, fn, tp -> faces in the groups 0 and 1


@dataclass(frozen=True)
class NetJob(Job):
    """Train a net for a label and count its predictions."""

    label: str
    method: str  # a key of METHODS
    protected: str = ""  # "" for an unconstrained net, which uses none and is measured for all
    lr: float = 0.1  # first step size of the net
    eta: float = 0.0  # dual step size; 0 for a method without one
    is_tested: bool = True  # a net that is trained to choose a setting does not see the test part
    seed: int = 0  # of weights and order
    limit: int | None = None  # faces of each part at most

    @property
    def name(self) -> str:
        """Its name, with the settings that are tried."""
        tried = "" if self.is_tested else f"lr{self.lr:g}-eta{self.eta:g}"
        return "-".join(filter(None, (self.label, self.protected, self.method, tried)))

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, "size": SIZE, "epochs": EPOCHS, "batch_size": BATCH_SIZE}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """``why`` there is no net, ``counts`` and ``entries`` by part and protected attribute, and the ``history``."""
        faces = load_faces(data_dir, self.limit)
        measured_for = [name for name in GROUPS if name != self.label and self.protected in ("", name)]
        # an unconstrained net is the same for each, but cannot be trained where a group has no positive face
        empty = {name: _empty_group(faces.part("train"), self.label, name) for name in measured_for}
        usable = [name for name in measured_for if not empty[name]]
        result: dict[str, Any] = {"why": "", "counts": {}, "entries": {}, "history": {}}
        if not usable:
            return result | {"why": f"undefined (0 rows to train on in {empty[measured_for[0]]}, y=1)"}
        data = faces.retarget(target=self.label, protected=usable[0])
        model = self._train(data)
        for part in ("valid", "test") if self.is_tested else ("valid",):
            shown = data.part(part)
            logits = model.logits(shown)
            result["counts"][part] = {name: _count(shown, logits > 0, name) for name in measured_for}
            if part == "test":
                groups = {name: group_names(shown, name) for name in measured_for}
                result["entries"] = {name: net_entry(shown.y, logits, groups[name]) for name in measured_for}
        return result | {"history": model.history.to_dict("list")}

    def _train(self, data: ImageDataset) -> Any:
        from fairalm.vision.training import fit_images  # torch is slow to load

        settings = {**TRAINING, "method": METHODS[self.method](self.eta), "lr": self.lr, "random_state": self.seed}
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", FairALMWarning)  # small cells and remaining gaps show in the table
            return fit_images(data.part("train"), data.part("valid"), constraint=EqualOpportunity(), **settings)


@lru_cache(maxsize=1)
def load_faces(data_dir: str | None, limit: int | None) -> ImageDataset:
    """The faces, read once in each process."""
    return load_celeba(data_dir, size=SIZE, limit=limit)


def _empty_group(data: ImageDataset, label: str, protected: str) -> str:
    """The first group without a face that has the label; "" if there is none."""
    positive = data.frame.loc[data.frame[label] == 1, protected]
    return next((name for code, name in enumerate(GROUPS[protected]) if not (positive == code).any()), "")


def _count(data: ImageDataset, predicted: Any, protected: str) -> dict[str, list[int]]:
    place = 4 * data.frame[protected].to_numpy() + 2 * data.y + predicted
    table = np.bincount(place, minlength=8).reshape(2, 4).T
    return dict(zip(("tn", "fp", "fn", "tp"), table.tolist(), strict=True))


def group_names(data: ImageDataset, protected: str) -> Any:
    """The group of each face, in words."""
    return np.array(GROUPS[protected])[data.frame[protected].to_numpy()]


def measures(counts: Counts, protected: str) -> dict[str, Measure]:
    """Precision, error and DEO with their intervals.

    >>> print(measures({"tn": [9, 9], "fp": [2, 0], "fn": [0, 1], "tp": [5, 3]}, "Male")["precision"])
    80.0 % [49.0, 95.6]
    """
    tp, fp, tn, fn = (np.asarray(counts[name]) for name in ("tp", "fp", "tn", "fn"))
    rates = GroupRates(GROUPS[protected], tp=tp, fp=fp, tn=tn, fn=fn, target=1)
    right = sum(counts["tp"])
    n = right + sum(counts["fp"])
    precision = Measure("precision", None, None, None, 0, 0, note="undefined (0 rows predicted to have it)")
    if n:
        low, high = rate_interval(right, n)
        precision = Measure("precision", right / n, float(low), float(high), n, n)
    return {"precision": precision, **{name: measure_of(name, rates) for name in ("error", "deo")}}
