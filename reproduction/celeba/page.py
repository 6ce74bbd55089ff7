"""Last layers and nets as a run that :mod:`fairalm.report` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairalm.datasets.images import ImageDataset
from reproduction import old_page as page
from reproduction.celeba.judge import named
from reproduction.celeba.summary import nets

KINDS = {"unconstrained": page.PLAIN, "l2": page.OTHER}
CURVES = {"error": "error", "gap": "deo"}
SHOWN = ("net", "eta", "epochs", "batch_size", "optimizer", "lr", "size")
Result = Mapping[str, Any]


def as_run(results: Sequence[Result], faces: ImageDataset, command: str) -> dict[str, Any] | None:
    """The last layers, ResNet-18, then the small nets by eta and seed; None if no cell keeps what a page needs.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`reproduction.celeba.run_cell` gives them.
    faces : ImageDataset
        What they are of.
    command : str
        As typed.
    """
    heads = [_head(head, result["config"]) for result in results for head in result.get("heads", ())[::-1]]
    models = [*heads, *_nets(results)]
    return page.as_run("celeba", faces, models, command, groups=named(faces.groups), image_column="file")


def _head(head: Result, config: Result) -> dict[str, Any]:
    tol = head["tol"]
    return page.model(
        "plain head" if tol is None else f"fair head {tol:g}",
        page.PLAIN if tol is None else page.OURS,
        head.get("entry"),
        settings={**{name: config[name] for name in ("net", "size", "l2")}, "tol": tol},
    )


def _nets(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    for result in nets(results, "resnet18"):
        yield _net(result, "ResNet plain" if result["config"]["eta"] is None else "ResNet FairALM", None)
    for result in nets(results, "relu3"):
        config = result["config"]
        eta = "" if config["eta"] is None else f", eta {config['eta']:g}"
        name = f"ReLU net, {config['rule']}{eta}{', accumulating' * config['accumulates']}"
        yield _net(result, name, config["seed"])


def _net(result: Result, name: str, seed: int | None) -> dict[str, Any]:
    config = result["config"]
    curves = {to: [row["test"][figure]["value"] for row in result["history"]] for to, figure in CURVES.items()}
    settings = {setting: config[setting] for setting in SHOWN}
    if config["accumulates"]:
        settings["gradients"] = "never set to zero"
    kind = KINDS.get(config["rule"], page.OURS)
    return page.model(name, kind, result.get("entry"), seed=seed, settings=settings, history=curves)
