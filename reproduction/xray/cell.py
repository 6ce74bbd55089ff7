"""One net: a rule and a seed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from fairalm.constraints import EqualOpportunity
from fairalm.datasets import split
from fairalm.datasets.images import ImageDataset, load_xray
from fairalm.exceptions import ToleranceWarning
from fairalm.measures import group_rates, measure_of
from fairalm.measures.chance import chance_gap
from fairalm.methods import FairALM, Method, PIControl, Unconstrained
from fairalm.vision.model import PictureModel
from fairalm.vision.train import fit_pictures
from reproduction.page import net_entry
from reproduction.xray.settings import (
    BATCH_SIZE,
    EPOCHS,
    ETA,
    HOSPITAL,
    OURS,
    PAPERS,
    PLAIN,
    RATE,
    SIZE,
    TEST,
)

PROFILE = (
    "train_error",
    "train_deo",
    *(f"valid_{name}{end}" for name in ("error", "deo") for end in ("", "_low", "_high")),
)


@dataclass(frozen=True)
class Cell:
    """What to train.

    Parameters
    ----------
    rule : str
        "unconstrained", "fairalm", "pi-control", or "hospital" for a net that tells the hospital.
    seed : int
        Of the split, the first weights and the order of the pictures; rules share all three.
    eta : float, optional
        Of "fairalm".
    epochs : int
        Passes over the training pictures.
    size : int
        Pixels on a side.
    """

    rule: str
    seed: int
    eta: float | None = None
    epochs: int = EPOCHS
    size: int = SIZE

    @property
    def net(self) -> str:
        """The rule with its setting."""
        return self.rule if self.eta is None else f"{self.rule}-{self.eta:g}"

    @property
    def name(self) -> str:
        """For the bar, and for the file it is kept in."""
        return f"{self.net}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        """All that its figures depend on, but for the code."""
        return {**asdict(self), "test": TEST, "batch_size": BATCH_SIZE, "lr": RATE}


def all_cells(
    *,
    seeds: int = 10,
    first: int = 0,
    etas: Sequence[float] = (ETA,),
    pi_control: bool = False,
    epochs: int = EPOCHS,
    size: int = SIZE,
) -> list[Cell]:
    """The paper's two rules with every seed from `first`, ours if asked for, and a net of the hospital.

    >>> [cell.name for cell in all_cells(seeds=1)]
    ['unconstrained-0', 'fairalm-1-0', 'hospital-0']
    """
    rules: list[tuple[str, float | None]] = [(PLAIN, None), *((PAPERS, eta) for eta in etas)]
    if pi_control:
        rules.append((OURS, None))
    cells = [Cell(rule, seed, eta, epochs, size) for rule, eta in rules for seed in range(first, first + seeds)]
    return [*cells, Cell(HOSPITAL, first, None, epochs, size)]


def run_cell(cell: Cell, data_dir: str | None = None, *, nets: Path | None = None, kept: int = 0) -> dict[str, Any]:
    """Train a net on three quarters of the pictures and measure it on the others.

    Parameters
    ----------
    cell : Cell
        What to train.
    data_dir : str, optional
        Folder with the X-rays.
    nets : Path, optional
        Folder in which to keep the nets of the seed `kept`.
    kept : int
        See `nets`.

    Returns
    -------
    dict
        `config`; after the last epoch `error`, `deo` and `fpr_gap` with intervals, the `rates` of each hospital and
        `chance`, the DEO of a net without any gap; the `entry` of the test pictures for the page; and the `profile`:
        errors and DEO after each epoch. The test pictures' part in it is for the picture: nothing is chosen by it.
    """
    data = load_xray(data_dir, size=cell.size)
    rest, held = split(data.y, data.groups, test_size=TEST, random_state=cell.seed)
    if cell.rule == HOSPITAL:
        data = data.retarget(target=data.protected[0], protected=data.target)
    test = data.rows(held)
    begin = time.perf_counter()
    model = _train(cell, data.rows(rest), test)
    seconds = time.perf_counter() - begin
    if nets is not None and cell.seed == kept:
        model.save(nets / cell.net)
    return {"config": cell.config, **_figures(model, test), "seconds": seconds}


def _train(cell: Cell, train: ImageDataset, test: ImageDataset) -> PictureModel:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in another order would give another net
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ToleranceWarning)  # the gap is in the table
            return fit_pictures(
                train,
                test,
                net="resnet18",
                constraint=EqualOpportunity(),
                method=_method(cell),
                epochs=cell.epochs,
                batch_size=BATCH_SIZE,
                lr=RATE,
                random_state=cell.seed,
            )
    finally:
        torch.set_num_threads(threads)


def _method(cell: Cell) -> Method:
    if cell.rule == PAPERS:
        assert cell.eta is not None
        return FairALM(cell.eta)
    return PIControl() if cell.rule == OURS else Unconstrained()


def _figures(model: PictureModel, test: ImageDataset) -> dict[str, Any]:
    logits = model.logits(test)
    rates = group_rates(test.y, (logits > 0).astype(int), sensitive_features=test.groups, target=1)
    hits, positives = rates.counts("tpr")
    profile: pd.DataFrame = model.history[list(PROFILE)]
    return {
        **{name: measure_of(name, rates).to_dict() for name in ("error", "deo", "fpr_gap")},
        "rates": {
            group: {name: float(rates.value(name)[place]) for name in ("error", "tpr", "fpr")}
            for place, group in enumerate(rates.names)
        },
        "positives": positives.tolist(),
        "chance": chance_gap(float(hits.sum() / positives.sum()), *positives.tolist()),
        "entry": net_entry(test.y, logits, test.groups),
        "profile": {str(name).replace("valid_", "test_"): values for name, values in profile.to_dict("list").items()},
    }
