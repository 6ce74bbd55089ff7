"""One cell of the experiment: a rule on a data set with a seed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from fairalm.exceptions import InputError
from fairalm.measures import Measure, group_rates, measure_of, rate_interval
from fairalm.measures.chance import chance_gap
from fairalm.nn import Features
from fairalm.selection import nvp
from reproduction.page import net_entry
from reproduction.types import IntArray
from reproduction.verbs.data import NET, read_parts, size_of
from reproduction.verbs.heads import RECIPES, fit_head, predict
from reproduction.verbs.rules import PENALTIES, RULES, SEVEN, SWEEP, SWEPT, SWEPT_PENALTY

CHOOSE = nvp(leave_out_constants=True)
#: kind of data -> names of the groups 0 and 1
GROUPS = {"waterbirds": ("land", "water"), "scenes": ("man", "woman"), "imsitu": ("man", "woman")}


@dataclass(frozen=True)
class Cell:
    """What to run.

    Parameters
    ----------
    data : str
        Name of the data set, see :func:`reproduction.verbs.data.datasets`.
    rule : str
        A key of ``RULES``.
    seed : int
        Of the head, the order, the scenes and the halves of Waterbirds' validation part.
    is_small : bool
        Whether Waterbirds' pictures are smaller, and one penalty is tried.
    """

    data: str
    rule: str
    seed: int
    is_small: bool = False

    @property
    def name(self) -> str:
        """For the bar, and for the file it is kept in."""
        return f"{self.data}-{self.rule}-{self.seed}"

    @property
    def kind(self) -> str:
        """The data set without its pair."""
        return self.data.partition("-")[0]

    @property
    def size(self) -> int:
        """Pixels on a side."""
        return size_of(self.data, is_small=self.is_small)

    @property
    def settings(self) -> list[dict[str, float]]:
        """What the choice is among: the rule's own settings, on Waterbirds each with every penalty."""
        tried = (SWEPT_PENALTY,) if self.is_small else PENALTIES
        penalties = [{"l2": l2} for l2 in tried] if self.kind == "waterbirds" else [{}]
        return [{**own, **penalty} for own, penalty in product(RULES[self.rule].settings, penalties)]

    @property
    def sweep(self) -> list[dict[str, float]]:
        """Settings that are tested without a choice, on Waterbirds: every eta of three decades."""
        if self.kind != "waterbirds" or self.rule not in SWEPT:
            return []
        return [{**setting, "l2": SWEPT_PENALTY} for setting in SWEEP]

    @property
    def config(self) -> dict[str, Any]:
        """All that its figures depend on, but for the code and the pictures."""
        return {
            **asdict(self),
            "net": NET,
            "size": self.size,
            "recipe": asdict(RECIPES[self.kind]),
            "tol": RULES[self.rule].tol,
            "settings": self.settings,
            "sweep": self.sweep,
        }


def all_cells(data: Sequence[str], *, seeds: int, is_small: bool = False) -> list[Cell]:
    """Every rule on every data set with every seed.

    Rules with a held-out dual run on Waterbirds, the only set with pictures to spare.

    >>> [cell.name for cell in all_cells(["scenes-cooking"], seeds=1)][:2]
    ['scenes-cooking-unconstrained-0', 'scenes-cooking-l2-0']
    """
    return [
        Cell(name, rule, seed, is_small)
        for name in data
        for rule in (RULES if name == "waterbirds" else SEVEN)
        for seed in range(seeds)
    ]


def run_cell(cell: Cell, data_dir: str | None = None, *, folder: Path) -> dict[str, Any]:
    """Try every setting on the pictures that choose, then test the chosen one.

    Parameters
    ----------
    cell : Cell
        What to run.
    data_dir : str, optional
        Not used: the features are in `folder`, see :func:`reproduction.verbs.data.keep_features`.
    folder : Path
        Where the features are.

    Returns
    -------
    dict
        `config`; the `runs` by which the setting was chosen, its position `chosen`; error, DEO and worst-group error
        on the test part (`test`) and, of scenes, on many more (`fresh`); error and DEO on the test part after each
        epoch (`history`); figures on the test part for each eta that was only tested (`sweep`); and the `entry` of the
        test part for the page.
    """
    torch.set_num_threads(1)
    rule, recipe = RULES[cell.rule], RECIPES[cell.kind]
    parts = read_parts(cell.data, cell.seed, cell.size, folder)
    runs: list[dict[str, Any]] = []
    sweep: list[dict[str, Any]] = [{}] * len(cell.sweep)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a gap that stays shows in the figures
        for setting in [*cell.settings, *(s for s in cell.sweep if s not in cell.settings)]:
            head, _ = fit_head(parts, parts.choose, rule, setting, recipe=recipe, seed=cell.seed)
            if setting in cell.settings:
                runs.append(figures(parts.choose, predict(head, parts.choose)))
            if setting in cell.sweep:
                sweep[cell.sweep.index(setting)] = figures(parts.test, predict(head, parts.test))
        chosen = choose(runs)
        head, history = fit_head(parts, parts.test, rule, cell.settings[chosen], recipe=recipe, seed=cell.seed)
    with torch.no_grad():
        logits = head(parts.test.x)[:, 0].numpy()
    return {
        "config": cell.config,
        "runs": runs,
        "chosen": chosen,
        "test": figures(parts.test, predict(head, parts.test)),
        "fresh": None if parts.fresh is None else figures(parts.fresh, predict(head, parts.fresh)),
        "history": {name: history[f"valid_{name}"].tolist() for name in ("error", "deo") if len(history)},
        "sweep": sweep,
        "entry": net_entry(parts.test.y, logits, np.array(GROUPS[cell.kind])[parts.test.group]),
    }


def choose(runs: Sequence[dict[str, Any]]) -> int:
    """The run that NVP chooses; constant heads are left out unless there is nothing else."""
    columns: dict[str, list[float]] = {name: [run[name]["value"] for run in runs] for name in ("error", "deo")}
    table = pd.DataFrame({**columns, "selection": [run["selection"] for run in runs]})
    try:
        return CHOOSE(table)
    except InputError:
        return nvp()(table)


def figures(rows: Features, predicted: IntArray) -> dict[str, Any]:
    """Error, DEO and worst-group error with their intervals, and what they rest on."""
    rates = group_rates(rows.y, predicted, sensitive_features=rows.group, target=1)
    n0, n1 = (int(n) for n in rates.counts("tpr")[1])
    hits = rates.counts("tpr")[0]
    return {
        **{name: measure_of(name, rates).to_dict() for name in ("error", "deo")},
        "worst": worst_cell(rows, predicted).to_dict(),
        "selection": float(predicted.mean()),
        "positives": [n0, n1],
        "hits": [int(k) for k in hits],
        "chance": chance_gap(float(hits.sum()) / (n0 + n1), n0, n1),
    }


def worst_cell(rows: Features, predicted: IntArray) -> Measure:
    """The largest error of the four cells of label and group."""
    cell, wrong = 2 * rows.y + rows.group, predicted != rows.y
    n = np.bincount(cell, minlength=4)
    k = np.bincount(cell, wrong, minlength=4).astype(np.int64)
    rate = np.where(n > 0, k / np.maximum(n, 1), -1.0)
    at = int(rate.argmax())
    low, high = rate_interval(k[at], n[at])
    return Measure("worst", float(rate[at]), float(low), float(high), n=int(n.sum()), n_min=int(n[n > 0].min()))
