"""What is run, in stages, and what is chosen by figures of the validation part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from fairalm.datasets.images import ImageDataset
from fairalm.selection import nvp
from reproduction.cells import Result
from reproduction.labels.cell import GROUPS, Cell
from reproduction.labels.paper import LEAST_DEO, LEAST_PRECISION, PAPER
from reproduction.labels.rates import Counts, deo, error, precision

RATES = (0.03, 0.1, 0.3)  # step sizes tried; at 1 some nets diverge
ETAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: The paper gives neither: both are chosen, once for all labels, on these
TRIED = (("Male", "Attractive"), ("Male", "Smiling"), ("Young", "Wearing_Lipstick"))
Pair = tuple[str, str]  # protected, label


def label_names(faces: ImageDataset) -> list[str]:
    """All attributes, in the order of the official file."""
    return [str(name) for name in faces.frame.columns if name not in ("file", "split")]


def rate_cells(**given: Any) -> list[Cell]:
    """Unconstrained nets to choose the step size by."""
    return [Cell(label, "unconstrained", lr=lr, is_tested=False, **given) for lr in RATES for _, label in TRIED]


def eta_cells(lr: float, **given: Any) -> list[Cell]:
    """FairALM's nets to choose eta by."""
    return [
        Cell(label, "fairalm", protected, lr, eta, is_tested=False, **given)
        for eta in ETAS
        for protected, label in TRIED
    ]


def plain_cells(labels: Sequence[str], lr: float, **given: Any) -> list[Cell]:
    """Every label without a constraint."""
    return [Cell(label, "unconstrained", lr=lr, **given) for label in labels]


def fair_cells(pairs: Sequence[Pair], lr: float, eta: float, **given: Any) -> list[Cell]:
    """FairALM and the default rule.

    >>> [cell.name for cell in fair_cells([("Male", "Bangs")], 0.1, 0.3)]
    ['Bangs-Male-fairalm', 'Bangs-Male-pi-control']
    """
    rules = (("fairalm", eta), ("pi-control", 0.0))
    return [Cell(label, rule, protected, lr, step, **given) for rule, step in rules for protected, label in pairs]


def tried(results: Sequence[Result], setting: str) -> pd.DataFrame:
    """Means on the validation part over the pairs tried, one row per value of a setting."""
    rows = [
        {
            setting: result["config"][setting],
            "error": error(counts).value,
            "deo": deo(counts, protected).value,
            "precision": precision(counts).value,
        }
        for result in results
        for protected, counts in result["counts"]["valid"].items()
        if (protected, result["config"]["label"]) in TRIED
    ]
    return pd.DataFrame(rows).astype(float).groupby(setting, as_index=False).mean()


def choose_rate(runs: pd.DataFrame) -> float:
    """The step size with the smallest mean error."""
    return float(runs["lr"].iloc[int(runs["error"].argmin())])


def choose_eta(runs: pd.DataFrame) -> float:
    """The eta that NVP, the paper's way to choose, takes by the means."""
    return float(runs["eta"].iloc[nvp()(runs)])


def in_table(results: Sequence[Result]) -> list[Pair]:
    """The pairs that pass the screen on the validation part, or stand in the paper's table."""
    plain = {result["config"]["label"]: result["counts"].get("valid", {}) for result in results}
    return [
        (protected, label)
        for protected in GROUPS
        for label, counts in plain.items()
        if label in PAPER[protected] or (protected in counts and passes(counts[protected], protected))
    ]


def passes(counts: Counts, protected: str) -> bool:
    """The paper's two conditions, on the counts of an unconstrained net."""
    gap, share = deo(counts, protected).value, precision(counts).value
    return gap is not None and share is not None and gap >= LEAST_DEO and share >= LEAST_PRECISION
