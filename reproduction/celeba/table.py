"""The tables, in percent: the paper's, with ours beside it, and what eta does to the small net."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fairalm.measures.means import means_of
from fairalm.measures.text import interval
from fairalm.selection import select_nvp
from reproduction.experiment import Block, Result, Results, Table
from reproduction.page import OTHER, OURS, PLAIN, Model
from reproduction.seeds import columns

FIGURES = {"error": "error", "deo": "DEO", "fnr_women": "FNR women", "fnr_men": "FNR men"}
#: The paper's "Quantitative Results on CelebA". Two are quoted there (Sattigeri et al. 2018, Quadrianto et al. 2019).
PAPER = {
    "Fairness GAN": (26.6, 22.5, 21.2, 43.7),
    "Quadrianto": (24.1, 12.4, 12.8, 25.2),
    "the paper": (24.5, 10.4, 6.6, 17.0),
}
KINDS = {"unconstrained": PLAIN, "l2": OTHER}
SHOWN = ("net", "eta", "epochs", "batch_size", "optimizer", "lr", "size")  # settings on the page
ARM = ["method", "eta", "accumulates"]
POINT_LEGEND = (
    "Percent of the test part, with 95 % intervals; the first three are printed in the paper, without intervals. Heads:"
    " a last layer on frozen features, fair to within the tolerance named. FNR: attractive people who are predicted not"
    " to be."
)
ETA_LEGEND = (
    "Three-layer ReLU net at 28 pixels; means over the seeds on the test part after the last epoch, with Student's 95 %"
    " intervals, cut at 0 and 100. predicted +: share predicted attractive. swing: mean change of the error from one"
    " epoch to the next. *: gradients are never set to zero, as in the authors' l2."
)


def nets(results: Results, net: str) -> list[Result]:
    """The results of a net that was trained."""
    return [result for result in results if result["config"]["net"] == net and "history" in result]


def models(results: Results) -> Iterator[Model]:
    """The last layers, the ResNets, and the small nets by eta and seed."""
    for result in results:
        config = result["config"]
        for head in result.get("heads", ()):
            name = "plain head" if head["tol"] is None else f"fair head {head['tol']:g}"
            settings = {key: config[key] for key in ("net", "size", "l2")} | {"tol": head["tol"]}
            yield Model(name, PLAIN if head["tol"] is None else OURS, head["entry"], settings=settings)
    for result in nets(results, "resnet18") + nets(results, "relu3"):
        config, history, seed = result["config"], result["history"], None
        name = "ResNet plain" if config["eta"] is None else "ResNet FairALM"
        if config["net"] == "relu3":
            eta, seed = "" if config["eta"] is None else f", eta {config['eta']:g}", config["seed"]
            name = f"ReLU net, {config['method']}{eta}{', accumulating' * config['accumulates']}"
        settings = {key: config[key] for key in SHOWN}
        settings["gradients"] = "never set to zero" if config["accumulates"] else None
        curves = {"error": history["test_error"], "gap": history["test_deo"]} if history else {}
        yield Model(name, KINDS.get(config["method"], OURS), result.get("entry"), seed, None, settings, curves)


def points(results: Results) -> pd.DataFrame:
    """The paper's table: a row for each ``model``, ``by`` "paper" or "us", with ``_low`` and ``_high`` of ours."""
    rows = [{"model": name, "by": "paper", **dict(zip(FIGURES, row, strict=True))} for name, row in PAPER.items()]
    for model in models(results):
        if model.seed is None and model.entry:
            rates = (model.entry["groups"][name]["rates"]["fnr"] for name in ("women", "men"))
            measures = dict(zip(FIGURES, (model.entry["error"], model.entry["deo"], *rates), strict=True))
            rows.append({"model": model.name, "by": "us", **columns(measures, scale=100)})
    return pd.DataFrame(rows)


def profile(result: Result, name: str) -> list[float]:
    """A figure on the test part after every epoch, in percent."""
    return [100 * value for value in result["history"].get(f"test_{name}", [])]


def eta_table(results: Results) -> pd.DataFrame:
    """What eta does to the small net: means over the seeds on the test part after the last epoch.

    Seeds that ``diverged`` are left out of the means. ``swing`` is the mean change of the error from one epoch to the
    next.
    """
    rows, small = [], pd.DataFrame([{**result["config"], "result": result} for result in nets(results, "relu3")])
    for arm, part in small.groupby(ARM, sort=False, dropna=False):
        ended = pd.DataFrame([_last(result) for result in part["result"] if result["diverged"] is None])
        row = dict(zip(ARM, arm, strict=True)) | {"seeds": len(part), "diverged": len(part) - len(ended)}
        means = columns(means_of(ended)) if len(ended) else {}
        # the interval of three seeds is wide, but no share lies outside 0 to 100
        rows.append(row | {name: x if name in ended else np.clip(x, 0, 100) for name, x in means.items()})
    return pd.DataFrame(rows)


def _last(result: Result) -> dict[str, float]:
    error, deo, selection = (profile(result, name) for name in ("error", "deo", "selection"))
    swing = np.abs(np.diff(error)).mean() if len(error) > 1 else np.nan
    return {"error": error[-1], "deo": deo[-1], "selection": selection[-1], "swing": swing}


def choose_eta(results: Results) -> float:
    """FairALM's eta by NVP on the validation part: the small nets' last epochs, averaged over the seeds.

    A net that predicts "attractive" for nearly all faces, or for nearly none, is left out.
    """
    tried = [result for result in nets(results, "relu3") if result["config"]["method"] == "fairalm"]
    last = pd.concat(
        [pd.DataFrame(result["history"]).iloc[[-1]].assign(eta=result["config"]["eta"]) for result in tried]
    )
    mean = last.groupby("eta").mean()
    constant = (mean["valid_selection"] - 0.5).abs() > 0.45
    return float(mean.index[select_nvp(mean["valid_error"], mean["valid_deo"], constant=constant)])


def blocks(results: Results, digits: int = 1) -> Iterator[Block]:
    """Both tables; `digits` of the ends of the intervals of error, DEO and false negative rates."""
    lines = points(results).to_dict("records")
    rows = [[line["model"], *(_text(line, name, digits) for name in FIGURES)] for line in lines]
    yield from (Table(["model", *FIGURES.values()], rows), POINT_LEGEND, "")
    rows = [_eta_row(line, digits) for line in eta_table(results).to_dict("records")]
    yield from (Table(["method, eta", "error", "DEO", "predicted +", "swing"], rows), ETA_LEGEND)
    yield f"FairALM's eta for ResNet-18, chosen on the validation part: {choose_eta(results):g}."


def _eta_row(line: Any, digits: int) -> list[str]:
    eta = "" if pd.isna(line["eta"]) else f" {line['eta']:g}"
    selection = _text(line, "selection", 0, 1 if pd.isna(line.get("selection_low")) else 0)
    swing = f"{line['diverged']} of {line['seeds']} diverged" if line["diverged"] else _text(line, "swing")
    figures = [_text(line, "error", digits), _text(line, "deo", digits), selection, swing]
    return [f"{line['method']}{'*' * line['accumulates']}{eta}", *figures]


def _text(line: Any, name: str, end_digits: int = 1, digits: int = 1) -> str:
    """A figure with its interval, whose ends may have fewer digits."""
    value, low, high = (line.get(f"{name}{end}", np.nan) for end in ("", "_low", "_high"))
    text = "" if pd.isna(value) else f"{value:.{digits}f}"
    return text if pd.isna(low) else f"{text} {interval(low, high, end_digits, scale=1)}"
