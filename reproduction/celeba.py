"""CelebA, "Attractive" by gender: the paper's table, its training profiles and what eta does to them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from fairalm.constraints import EqualOpportunity
from fairalm.datasets.images import ImageDataset, load_celeba
from fairalm.exceptions import ToleranceWarning
from fairalm.measures.means import means_of
from fairalm.methods import METHODS, Unconstrained
from fairalm.nn import ConstrainedLoss, compute_features, refit_last_layer
from fairalm.nn.learning_rate import cosine_decay
from fairalm.report.runs import FAIRALM_MODEL, OTHER_MODEL, PLAIN_MODEL
from fairalm.selection import select_nvp
from fairalm.vision.image_batches import Scale, image_batches
from fairalm.vision.image_model import ImageModel
from fairalm.vision.image_sets import check_sets, group_labels
from fairalm.vision.imagenet import IMAGENET
from fairalm.vision.nets import make_net
from fairalm.vision.run_settings import describe
from reproduction.experiment import Block, Experiment, Job, Result, Results
from reproduction.figures import COLORS, interval_point, panels, plot_profile
from reproduction.labels.job import group_names
from reproduction.options import Option, whole
from reproduction.page import Model, Page, net_entry
from reproduction.saved_epochs import SavedEpochs
from reproduction.seeds import columns, text_table

BATCH_SIZE = 64
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
#: How each net is trained; the small one as in the paper. With bfloat16 a forward pass takes half as long.
TRAINING: dict[str, dict[str, Any]] = {
    "relu3": {"size": 28, "optimizer": "sgd", "lr": 0.01, "cosine": False, "flip": False, "bfloat16": False},
    "resnet18": {"size": 64, "optimizer": "adam", "lr": 1e-3, "cosine": True, "flip": True, "bfloat16": True},
}
#: The ResNets, by the folder of the net. FairALM has the eta that the small nets choose, unless one is given: the
#: paper's smallest, which grows by 1 % in an epoch as in the authors' code. The appendix has five steps for each dual
#: step.
LARGE: dict[str, dict[str, Any]] = {
    "unconstrained": {"method": "unconstrained", "eta": None},
    "fairalm": {},
    "fairalm-growing": {"eta": 20.0, "growth": 0.01},
    "fairalm-5-steps": {"inner_steps": 5},
}
#: Frozen features: the settings that benchmarks/celeba_last_layer.py chose on the validation part.
FEATURES: dict[str, Any] = {"net": "efficientnet-lite0-grid", "size": 96, "l2": 0.1, "n_folds": 3}
TOLS = (0.06, 0.01)
FIGURES = {"error": "error", "deo": "DEO", "fnr_women": "FNR women", "fnr_men": "FNR men"}
#: The paper's "Quantitative Results on CelebA". Two are quoted there (Sattigeri et al. 2018, Quadrianto et al. 2019).
PAPER = {
    "Fairness GAN": (26.6, 22.5, 21.2, 43.7),
    "Quadrianto": (24.1, 12.4, 12.8, 25.2),
    "the paper": (24.5, 10.4, 6.6, 17.0),
}
KINDS = {"unconstrained": PLAIN_MODEL, "l2": OTHER_MODEL}
ARM = ["method", "eta", "accumulates"]
POINT_LEGEND = (
    "Percent of the test part, with 95 % intervals; the first three are the paper's, without. Heads: a last layer on"
    " frozen features, fair to within the tolerance named. FNR: attractive people who are not predicted to be."
)
ETA_LEGEND = (
    "Three-layer ReLU net at 28 pixels; means over the seeds on the test part after the last epoch, with Student's 95 %"
    " intervals, cut at 0 and 100. predicted +: share predicted attractive. swing: mean change of the error from one"
    " epoch to the next. *: gradients are never set to zero, as in the authors' l2."
)
PROFILES = {"error": "test error, %", "deo": "test DEO, %", "selection": "predicted attractive, %"}
SHADES = (COLORS["unconstrained"], "#9ecae1", "#4292c6", "#08519c", "#fdbe85", "#fd8d3c", "#d94801", "#7f2704")
#: column of profiles.png -> the method beside the unconstrained net, and whether gradients accumulate
FAMILIES = {"FairALM": ("fairalm", False), "l2": ("l2", False), "l2, gradients never zeroed": ("l2", True)}


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
class NetJob(Job):
    """Train a net with a method, and measure it on the validation and the test part after every epoch."""

    net: str  # a key of TRAINING
    method: str
    eta: float | None = None  # None: the method's own default
    accumulates: bool = False  # never set the gradients to zero, as in the authors' l2
    seed: int = 0  # of weights and order
    epochs: int = 5
    limit: int | None = None  # the largest number of faces of each part
    growth: float = 0.0  # of eta, in an epoch
    inner_steps: int = 1  # optimiser steps for each dual step
    folder: Path | None = field(default=None, compare=False)  # where to save the net

    @property
    def name(self) -> str:
        eta = "" if self.eta is None else f"-{self.eta:g}"
        variant = "-accumulating" * self.accumulates + "-growing" * bool(self.growth)
        steps = f"-{self.inner_steps}-steps" * (self.inner_steps > 1)
        return f"{self.net}-{self.method}{eta}{variant}{steps}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, "batch_size": BATCH_SIZE, **TRAINING[self.net]}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Train and measure; ``diverged`` is the step at which an output was not finite, None if there is none.

        With a folder, a job that was killed continues after its last finished epoch.
        """
        how, constraint = self.config, EqualOpportunity()
        faces = load_celeba(data_dir, size=how["size"], limit=self.limit)
        train = faces.part("train")
        groups, scale = check_sets({"train": train}, constraint), Scale.of(train.pixels)
        loader = image_batches(train, groups, scale, BATCH_SIZE, seed=self.seed, flip=how["flip"])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            net = make_net(self.net, in_channels=3, size=how["size"])
        eta = {} if self.eta is None else {"eta": self.eta}
        if self.growth:  # of an epoch, spread over its dual steps
            eta["eta_beta"] = (1 + self.growth) ** (self.inner_steps / len(loader)) - 1
        method = METHODS[self.method](**eta)
        surrogate = "sigmoid" if method.traits.strict_dual else "log"  # the paper's methods need a convex loss
        loss, steps = nn.BCEWithLogitsLoss(reduction="none"), self.epochs * len(loader)
        criterion = ConstrainedLoss(loss, constraint, method, n_groups=2, surrogate=surrogate)
        optimizer = OPTIMIZERS[how["optimizer"]](net.parameters(), lr=how["lr"])
        # without a decay: a constant rate for all steps
        schedule = cosine_decay(optimizer, steps, head_steps=0 if how["cosine"] else steps + 1)
        settings = describe({"train": train}, groups, scale, self.net, None, constraint) | how
        model = ImageModel(net, settings, pd.DataFrame(), self.epochs - 1)
        path = self.folder and self.folder.with_name(f"{self.name}.epochs.pt")
        assert loader.generator is not None
        saved = SavedEpochs(path, self.config, [net, optimizer, criterion, schedule], loader.generator)
        history = saved.load()
        for epoch in range(len(history), self.epochs):
            net.train()
            for step, (x, y, group) in enumerate(loader, start=epoch * len(loader) + 1):
                if not self.accumulates:
                    optimizer.zero_grad()
                with torch.autocast("cpu", torch.bfloat16, enabled=how["bfloat16"]):
                    logits = net(x)[:, 0].float()
                if not bool(logits.isfinite().all()):
                    return {"history": history.to_dict("list"), "diverged": criterion.t}
                with np.errstate(over="ignore"):  # logits of a net about to diverge
                    criterion(logits, y, group).backward()
                optimizer.step()
                if step % self.inner_steps == 0:
                    criterion.step()
                schedule.step()
            row: dict[str, float] = {"epoch": epoch}
            for name in ("valid", "test"):
                entry, row[f"{name}_selection"] = measured(model, faces.part(name))
                row |= {f"{name}_{measure}": entry[measure]["value"] for measure in ("error", "deo")}
            history = pd.concat([history, pd.DataFrame([row])])
            saved.save(history)
        if self.folder is not None:
            replace(model, history=history).save(self.folder)
        entry, _ = measured(model, faces.part("test"))
        saved.remove()
        return {"history": history.to_dict("list"), "diverged": None, "entry": entry}


@dataclass(frozen=True)
class HeadJob(Job):
    """Fit a plain last layer and one for each of ``TOLS``, all on the same frozen features."""

    name: ClassVar[str] = "heads"
    limit: int | None = None  # the largest number of faces of each part
    folder: Path = field(default=Path("features"), compare=False)  # where to keep the features

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, **FEATURES, "tols": TOLS}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Fit and measure; ``heads`` has the tolerance and the ``entry`` of the test part of each last layer."""
        name, size, features = FEATURES["net"], FEATURES["size"], {}
        faces = load_celeba(data_dir, size=size, limit=self.limit)
        net = make_net(name, in_channels=3, size=size, weights=IMAGENET)
        for part in ("train", "test"):
            loader = image_batches(faces.part(part), group_labels(faces), Scale.published(name, 3), BATCH_SIZE)
            features[part] = compute_features(net, loader, cache=self.folder / part)
        test, heads = features["test"], []
        for tol in (None, *TOLS):
            fair = {"constraint": EqualOpportunity(tol=tol or 0.0), "n_folds": FEATURES["n_folds"]}
            how: dict[str, Any] = fair if tol else {"method": Unconstrained()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ToleranceWarning)  # with few faces; the table shows the gap
                fitted = refit_last_layer(net, features["train"], l2=FEATURES["l2"], **how)
            with torch.inference_mode():
                logits = fitted.model.get_submodule(fitted.head)(test.x)[:, 0].numpy()
            heads.append({"tol": tol, "entry": net_entry(test.y, logits, group_names(faces.part("test"), "Male"))})
        return {"heads": heads}


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
    it takes about 90 minutes on two cores. Give the folder of CelebA in FAIRALM_DATA or with --data-dir.
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


def measured(model: ImageModel, part: ImageDataset) -> tuple[dict[str, Any], float]:
    """The entry of some faces, and the share predicted attractive."""
    outputs = model.logits(part)
    return net_entry(part.y, outputs, group_names(part, "Male")), float((outputs > 0).mean())


def nets(results: Results, net: str) -> list[Result]:
    """The results of a net that was trained."""
    return [result for result in results if result["config"]["net"] == net and "history" in result]


def models(results: Results) -> Iterator[Model]:
    """The last layers, the ResNets, and the small nets by eta and seed."""
    for head, config in [(head, result["config"]) for result in results for head in result.get("heads", ())]:
        is_plain, settings = head["tol"] is None, {key: config[key] for key in ("net", "size", "l2")}
        name = "plain head" if is_plain else f"fair head {head['tol']:g}"
        kind = PLAIN_MODEL if is_plain else FAIRALM_MODEL
        yield Model(name, kind, head["entry"], settings=settings | {"tol": head["tol"]})
    for result in nets(results, "resnet18") + nets(results, "relu3"):
        config, history = result["config"], result["history"]
        kind = KINDS.get(config["method"], FAIRALM_MODEL)
        name, seed = "ResNet plain" if config["eta"] is None else f"ResNet FairALM, {arm_name(config)}", None
        if config["net"] == "relu3":
            eta, seed = "" if config["eta"] is None else f", eta {config['eta']:g}", config["seed"]
            name = f"ReLU net, {config['method']}{eta}{', accumulating' * config['accumulates']}"
        settings = {key: config[key] for key in ("net", "eta", "epochs", "batch_size", "optimizer", "lr", "size")}
        settings["gradients"] = "never set to zero" if config["accumulates"] else None
        curves = {"error": history["test_error"], "gap": history["test_deo"]} if history else {}
        yield Model(name, kind, result.get("entry"), seed, None, settings, curves)


def arm_name(config: Mapping[str, Any]) -> str:
    """How a net is trained, in the figures and, for a ResNet, in the table."""
    if config["eta"] is None:
        return "unconstrained"
    growing, steps = ", growing" * bool(config["growth"]), f", {config['inner_steps']} steps"
    return f"eta {config['eta']:g}{growing}{steps * (config['inner_steps'] > 1)}"


def points(results: Results) -> pd.DataFrame:
    """The paper's table: a row for each ``model``, ``by`` "paper" or "us", with ``_low`` and ``_high`` of ours."""
    rows = [{"model": name, "by": "paper", **dict(zip(FIGURES, row, strict=True))} for name, row in PAPER.items()]
    for model in models(results):
        if model.seed is None and model.entry:
            rates = (model.entry["groups"][name]["rates"]["fnr"] for name in ("women", "men"))
            measures = dict(zip(FIGURES, (model.entry["error"], model.entry["deo"], *rates), strict=True))
            rows.append({"model": model.name, "by": "us", **columns(measures, scale=100)})
    return pd.DataFrame(rows)


def eta_table(results: Results) -> pd.DataFrame:
    """What eta does to the small net, see ``ETA_LEGEND``; seeds that ``diverged`` are left out."""
    rows, small = [], pd.DataFrame([{**net["config"], "result": net} for net in nets(results, "relu3")])
    for arm, part in small.groupby(ARM, sort=False, dropna=False):
        ended = [100 * pd.DataFrame(net["history"], dtype=float) for net in part["result"] if net["diverged"] is None]
        row = dict(zip(ARM, arm, strict=True)) | {"seeds": len(part), "diverged": len(part) - len(ended)}
        if ended:
            last = pd.DataFrame([{name: net[f"test_{name}"].iloc[-1] for name in PROFILES} for net in ended])
            last["swing"] = [net["test_error"].diff().abs().mean() for net in ended]
            # the interval of three seeds is wide, but no share lies outside 0 to 100
            row |= {name: x if name in last else np.clip(x, 0, 100) for name, x in columns(means_of(last)).items()}
        rows.append(row)
    return pd.DataFrame(rows)


def choose_eta(results: Results) -> float:
    """FairALM's eta by NVP on the validation part: the small nets' last epochs, averaged over the seeds."""
    tried = [result for result in nets(results, "relu3") if result["config"]["method"] == "fairalm"]
    last = [{name: values[-1] for name, values in result["history"].items()} for result in tried]
    mean = pd.DataFrame(last).groupby([result["config"]["eta"] for result in tried]).mean()
    constant = (mean["valid_selection"] - 0.5).abs() > 0.45  # nearly all or none are predicted to be attractive
    return float(mean.index[select_nvp(mean["valid_error"], mean["valid_deo"], constant=constant)])


def blocks(results: Results, digits: int = 1) -> Iterator[Block]:
    """Both tables; `digits` of the ends of most intervals."""
    forms = dict.fromkeys(FIGURES, (1, digits)) | {"selection": (0, 0)}
    yield from (text_table(points(results), {"model": "model", **FIGURES}, forms), POINT_LEGEND, "")
    lines: list[dict[Any, Any]] = eta_table(results).to_dict("records")
    for line in lines:
        line["method"] += "*" * line["accumulates"] + ("" if pd.isna(line["eta"]) else f" {line['eta']:g}")
        if line["diverged"]:
            line["swing"] = f"{line['diverged']} of {line['seeds']} diverged"
    heads = {"method": "method, eta", "error": "error", "deo": "DEO", "selection": "predicted +", "swing": "swing"}
    yield from (text_table(pd.DataFrame(lines), heads, forms), ETA_LEGEND)
    yield f"FairALM's eta for ResNet-18, chosen on the validation part: {choose_eta(results):g}."


def draw_points(table: pd.DataFrame) -> Any:
    """Draw error against DEO: ours with intervals, the printed ones without."""
    title = "CelebA, Attractive by gender; bars are 95 % intervals, the paper prints none"
    figure, grid = panels(8.5, 4.5, {"error": "test error, %"}, [title], "test DEO, %")
    (axes,) = grid.values()
    ours = ("#444444", COLORS["fairalm"], "#56B4E9", "#999999", COLORS["l2"], "#CC79A7", "#E69F00")
    colors, marks = iter(ours), iter("sX^")
    for line in table.to_dict("records"):
        if line["by"] == "paper":
            axes.plot(line["deo"], line["error"], next(marks), mfc="none", mec="#a03030", ms=8, label=line["model"])
        else:
            interval_point(axes, line, "error", fmt="o", color=next(colors), ms=7, label=line["model"])
    axes.set_xlim(left=-1)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def draw_profiles(results: Results) -> Any:
    """Draw error, DEO and the share predicted attractive after every epoch, a column for each family of nets."""
    families = {"ResNet-18": nets(results, "resnet18")}
    for column, (method, accumulates) in FAMILIES.items():
        alike = [net for net in nets(results, "relu3") if net["config"]["accumulates"] == accumulates]
        families[column] = [net for net in alike if net["config"]["method"] in (method, "unconstrained")]
    figure, grid = panels(13, 8, PROFILES, families, "epoch", sharey="row", sharex="col")
    for (name, column), axes in grid.items():
        arms = [arm_name(net["config"]) for net in families[column]]
        for arm, color in zip(dict.fromkeys(arms), SHADES, strict=False):
            alike = [net for net, own in zip(families[column], arms, strict=True) if own == arm]
            seeds = [net["history"].get(f"test_{name}", []) for net in alike]
            plot_profile(axes, seeds, color=color, label=arm, marker="o", ms=2.5)
        axes.xaxis.get_major_locator().set_params(integer=True)
        if name == "error" and families[column]:
            axes.legend(fontsize=7, frameon=False, ncols=2)
    return figure
