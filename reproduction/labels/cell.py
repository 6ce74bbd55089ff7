"""One cell: one net for one label."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from fairalm.constraints import EqualOpportunity
from fairalm.datasets.images import ImageDataset, load_celeba
from fairalm.exceptions import FairALMWarning
from fairalm.methods import FairALM, Method, PIControl, Unconstrained
from reproduction.page import net_entry

SIZE, EPOCHS, BATCH_SIZE = 28, 5, 128
#: protected attribute -> names of the groups 0 and 1
GROUPS = {"Male": ("women", "men"), "Young": ("not young", "young")}
#: rule -> method, by its eta; the paper's U and F, and this library's default
RULES: dict[str, Callable[[float], Method]] = {
    "unconstrained": lambda eta: Unconstrained(),
    "fairalm": lambda eta: FairALM(eta=eta),
    "pi-control": lambda eta: PIControl(),
}


@dataclass(frozen=True)
class Cell:
    """What to run.

    Parameters
    ----------
    label : str
        The attribute to predict.
    rule : str
        A key of ``RULES``.
    protected : str
        The protected attribute; "" for the unconstrained net, which knows of none and is measured for all.
    lr : float
        First step size of the net.
    eta : float
        Dual step size; 0 for a rule that takes none.
    is_tested : bool
        Whether the net is shown the test part; one that is trained to choose a setting is not.
    seed : int
        Of weights and order.
    limit : int, optional
        At most so many faces of each part.
    """

    label: str
    rule: str
    protected: str = ""
    lr: float = 0.1
    eta: float = 0.0
    is_tested: bool = True
    seed: int = 0
    limit: int | None = None

    @property
    def name(self) -> str:
        """For the bar, and for the file it is kept in."""
        tried = "" if self.is_tested else f"lr{self.lr:g}-eta{self.eta:g}"
        return "-".join(filter(None, (self.label, self.protected, self.rule, tried)))

    @property
    def config(self) -> dict[str, Any]:
        """All that its figures depend on, but for the code."""
        return {**asdict(self), "size": SIZE, "epochs": EPOCHS, "batch_size": BATCH_SIZE}


@lru_cache(maxsize=1)
def load_faces(data_dir: str | None, limit: int | None) -> ImageDataset:
    """The faces, read once by each process."""
    return load_celeba(data_dir, size=SIZE, limit=limit)


def run_cell(cell: Cell, data_dir: str | None = None) -> dict[str, Any]:
    """Train the net and count its answers.

    Returns
    -------
    dict
        `config`; `why`, "" or why there is no net; `counts` of tn, fp, fn and tp in the groups 0 and 1, by part and
        protected attribute; `entries` of the test part for the page, by protected attribute; `history`, one row per
        epoch.
    """
    faces = load_faces(data_dir, cell.limit)
    measured_for = [name for name in GROUPS if name != cell.label and cell.protected in ("", name)]
    # an unconstrained net is the same for each, but is refused where a group has no positive face
    empty = {name: _empty(faces.part("train"), cell.label, name) for name in measured_for}
    usable = [name for name in measured_for if not empty[name]]
    result: dict[str, Any] = {"config": cell.config, "why": "", "counts": {}, "entries": {}, "history": {}}
    if not usable:
        return result | {"why": f"undefined (0 people to train on in {empty[measured_for[0]]}, y=1)"}
    data = faces.retarget(target=cell.label, protected=usable[0])
    from fairalm.vision.train import fit_pictures

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", FairALMWarning)  # small cells and gaps left over show in the table
        model = fit_pictures(
            data.part("train"),
            data.part("valid"),
            net="relu3",
            constraint=EqualOpportunity(),
            method=RULES[cell.rule](cell.eta),
            epochs=EPOCHS,
            batch_size=BATCH_SIZE,
            lr=cell.lr,
            optimizer="sgd",
            random_state=cell.seed,
        )
    for part in ("valid", "test") if cell.is_tested else ("valid",):
        shown = data.part(part)
        logits = model.logits(shown)
        result["counts"][part] = {name: _count(shown, logits > 0, name) for name in measured_for}
        if part == "test":
            result["entries"] = {name: net_entry(shown.y, logits, group_names(shown, name)) for name in measured_for}
    return result | {"history": model.history.to_dict("list")}


def _empty(data: ImageDataset, label: str, protected: str) -> str:
    """The first group without a face that has the label; "" if there is none."""
    positive = data.frame.loc[data.frame[label] == 1, protected]
    return next((name for code, name in enumerate(GROUPS[protected]) if not (positive == code).any()), "")


def _count(data: ImageDataset, predicted: Any, protected: str) -> dict[str, list[int]]:
    cell = 4 * data.frame[protected].to_numpy() + 2 * data.y + predicted
    table = np.bincount(cell, minlength=8).reshape(2, 4).T
    return dict(zip(("tn", "fp", "fn", "tp"), table.tolist(), strict=True))


def group_names(data: ImageDataset, protected: str) -> Any:
    """The group of each face, in words."""
    return np.array(GROUPS[protected])[data.frame[protected].to_numpy()]
