"""The tables of the results on CelebA, and the eta that they choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fairalm.measures.means import means_of
from fairalm.report.runs import FAIRALM_MODEL, OTHER_MODEL, PLAIN_MODEL
from fairalm.selection import select_nvp
from reproduction.experiment import Block, Result, Results
from reproduction.page import Model
from reproduction.seeds import columns, text_table

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
