"""CelebA, "Attractive" by gender: the paper's table, its training profiles and what eta does to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import pandas as pd

from fairalm.datasets.images import load_celeba
from reproduction.celeba.display import draw_points, draw_profiles
from reproduction.celeba.job import FEATURES, TRAINING, HeadJob, NetJob
from reproduction.celeba.table import blocks, choose_eta, eta_table, models, points
from reproduction.experiment import Block, Experiment, Job, Result, Results
from reproduction.labels.job import group_names
from reproduction.options import Option, whole
from reproduction.page import Page

#: The ResNets, by the folder of the net. FairALM has the eta that the small nets choose, unless one is given: the
#: paper's smallest, which grows by 1 % in an epoch as in the authors' code. The appendix has five steps for each dual
#: step.
LARGE: dict[str, dict[str, Any]] = {
    "unconstrained": {"method": "unconstrained", "eta": None},
    "fairalm": {},
    "fairalm-growing": {"eta": 20.0, "growth": 0.01},
    "fairalm-5-steps": {"inner_steps": 5},
}


class Plan(NamedTuple):
    """How much to run; the paper's etas, and two smaller ones with which FairALM's net is more than a constant."""

    epochs: int = 5
    resnet_epochs: int = 10
    limit: int | None = None  # the largest number of faces of each part
    fairalm: tuple[float, ...] = (0.01, 0.1, 20.0, 40.0, 60.0, 80.0)
    l2: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 3.0)
    accumulating: tuple[float, ...] = (0.001, 3.0)  # l2 whose gradients are never set to zero


PLANS = {False: Plan(), True: Plan(3, 1, 1500, (0.1, 20.0), (0.1, 3.0), (0.1,))}  # by --quick


@dataclass(frozen=True)
class Celeba(Experiment):
    """Make the paper's results on CelebA again: who is "attractive", fairly by gender.

    There are three parts. Fair last layers on a net that is not trained on faces (tolerances 0.06 and 0.01). FairALM
    and the l2 penalty at the paper's values of eta on its three-layer ReLU net, at 28 pixels, measured after every
    epoch; and again with gradients that are never set to zero, which is what the authors' l2 does. A ResNet-18 at 64
    pixels, for ten epochs: without a constraint, with FairALM, with FairALM at the paper's eta of 20, which grows, and
    with five optimiser steps for each dual step; the other eta is chosen on the validation part, by the small nets.

    Written are the tables, with the paper's numbers, as table.md, table.csv and eta.csv; the figures points.png and
    profiles.png; report.html, a page with every model; and in nets/ the ResNets, for `fairalm cam`. With 29,175 faces
    it takes more than an hour on two cores. Give the folder of CelebA in FAIRALM_DATA or with --data-dir.
    """

    seeds: Annotated[int, Option("How many seeds of the small nets.", whole(), quick=1)] = 3

    def prepare(self) -> None:
        for settings in (FEATURES, *TRAINING.values()):  # which also caches the faces for the jobs
            load_celeba(self.data_dir, size=settings["size"], limit=PLANS[self.quick].limit)

    def jobs(self) -> list[Job]:
        plan = PLANS[self.quick]
        arms: list[tuple[str, float | None, bool]] = [("unconstrained", None, False), ("pi-control", None, False)]
        arms += [("fairalm", eta, False) for eta in plan.fairalm] + [("l2", eta, False) for eta in plan.l2]
        arms += [("unconstrained", None, True), *(("l2", eta, True) for eta in plan.accumulating)]
        small = [NetJob("relu3", *arm, seed, plan.epochs, plan.limit) for seed in range(self.seeds) for arm in arms]
        return [HeadJob(plan.limit, self.out / "features"), *small]  # the longest first

    def collect(self, run: Callable[[Sequence[Job]], list[Result]]) -> list[Result]:
        """Also ResNet-18: without a constraint, and with FairALM as :data:`LARGE` has it."""
        plan, results = PLANS[self.quick], run(self.jobs())
        chosen, large = choose_eta(results), []
        for name, arm in LARGE.items():
            given = {"method": "fairalm", "eta": chosen, "epochs": plan.resnet_epochs, "limit": plan.limit, **arm}
            large.append(NetJob("resnet18", **given, folder=self.out / "nets" / name))
        return results + run(large)

    def frames(self, results: Results) -> dict[str, pd.DataFrame]:
        return {"table": points(results), "eta": eta_table(results)}

    def facts(self, results: Results) -> dict[str, Any]:
        return {"etas": eta_table(results).to_dict("records"), "eta": choose_eta(results)}

    def text(self, results: Results) -> Iterable[Block]:
        return blocks(results, digits=0)

    def markdown(self, results: Results) -> Iterable[Block]:
        return filter(None, blocks(results))

    def figures(self, results: Results) -> Iterator[tuple[str, Any]]:
        yield "points.png", draw_points(points(results))
        yield "profiles.png", draw_profiles(results)

    def pages(self, results: Results) -> Iterator[Page]:
        faces = load_celeba(self.data_dir, size=TRAINING["relu3"]["size"], limit=PLANS[self.quick].limit)
        shown = sorted(models(results), key=lambda m: m.settings.get("tol") or 1)  # the smallest tolerance first
        yield Page("report", "celeba", faces, shown, group_names(faces, "Male"), {"image_column": "file"})
