"""Which cells there are, and how eta is chosen for the large net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.selection import select_nvp
from reproduction.celeba.cell import HeadCell, NetCell

PAPER_FAIRALM, PAPER_L2 = (20.0, 40.0, 60.0, 80.0), (0.001, 0.01, 0.1, 1.0, 3.0)
OUR_FAIRALM = (0.01, 0.1)  # below the paper's, where the net is more than a constant
ACCUMULATING = (0.001, 3.0)


@dataclass(frozen=True)
class Plan:
    """How much of the experiment to run.

    Parameters
    ----------
    seeds : int
        Of the small nets.
    epochs, resnet_epochs : int
        Passes over the faces.
    limit : int, optional
        Faces of each part; all if left out.
    fairalm, l2, accumulating : tuple of float
        The values of eta; the last of l2 whose gradients are never set to zero.
    """

    seeds: int = 3
    epochs: int = 5
    resnet_epochs: int = 2
    limit: int | None = None
    fairalm: tuple[float, ...] = OUR_FAIRALM + PAPER_FAIRALM
    l2: tuple[float, ...] = PAPER_L2
    accumulating: tuple[float, ...] = ACCUMULATING

    @classmethod
    def quick(cls) -> Plan:
        """A small version of everything."""
        return cls(1, 3, 1, 1500, (0.1, 20.0), (0.1, 3.0), (0.1,))

    def small(self, out: Path) -> list[NetCell | HeadCell]:
        """The last layers, and the small nets: every rule with every eta and seed."""
        arms: list[tuple[str, float | None, bool]] = [("unconstrained", None, False), ("pi-control", None, False)]
        arms += [("fairalm", eta, False) for eta in self.fairalm] + [("l2", eta, False) for eta in self.l2]
        arms += [("unconstrained", None, True), *(("l2", eta, True) for eta in self.accumulating)]
        nets = [
            NetCell("relu3", rule, eta, accumulates, seed, self.epochs, self.limit)
            for seed in range(self.seeds)
            for rule, eta, accumulates in arms
        ]
        return [HeadCell(self.limit, str(out / "features")), *nets]  # the longest first

    def large(self, out: Path, eta: float) -> list[NetCell]:
        """ResNet-18 without and with FairALM."""
        return [
            NetCell("resnet18", rule, step, False, 0, self.resnet_epochs, self.limit, str(out / "nets" / rule))
            for rule, step in (("unconstrained", None), ("fairalm", eta))
        ]


def choose_eta(results: Sequence[Mapping[str, Any]]) -> float:
    """FairALM's eta by the validation part: NVP on the small nets' last epochs, averaged over the seeds.

    A net that predicts "attractive" for nearly everybody is left out.
    """
    rows = [
        {"eta": result["config"]["eta"], **_last(result)}
        for result in results
        if result["config"].get("rule") == "fairalm"
    ]
    mean = pd.DataFrame(rows).groupby("eta").mean()
    constant = (mean["selection"] - 0.5).abs() > 0.45
    return float(mean.index[select_nvp(mean["error"], mean["deo"], constant=constant)])


def _last(result: Mapping[str, Any]) -> dict[str, float]:
    valid = result["history"][-1]["valid"]
    return {"error": valid["error"]["value"], "deo": valid["deo"]["value"], "selection": valid["selection"]}
