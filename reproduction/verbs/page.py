"""The heads of one data set as a run that :mod:`fairalm.report` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairalm.datasets.images import ImageDataset
from reproduction import old_page as page
from reproduction.verbs.rules import RULES
from reproduction.verbs.summary import OURS


def as_run(
    results: Sequence[Mapping[str, Any]], name: str, pictures: ImageDataset, command: str
) -> dict[str, Any] | None:
    """A model per rule and seed, with its profile on the test part; None if no cell keeps what a page needs.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`reproduction.verbs.cell.run_cell` gives them.
    name : str
        The data set.
    pictures : ImageDataset
        Its pictures; of scenes, which have the same counts with every seed, those of the first.
    command : str
        As typed.
    """
    found = [result for result in results if result["config"]["data"] == name]
    found.sort(key=lambda result: result["config"]["rule"] != OURS)  # the first model has the verdict
    models = [_model(result) for result in found]
    return page.as_run(name, pictures, models, command, image_column="file")


def _model(result: Mapping[str, Any]) -> dict[str, Any]:
    config, history = result["config"], result["history"]
    rule = RULES[config["rule"]]
    kind, chosen = _kind(rule.method), config["settings"][result["chosen"]]
    tol = None if kind == page.PLAIN else config["tol"]
    return page.model(
        rule.title,
        kind,
        result.get("entry"),
        seed=config["seed"],
        settings={"net": config["net"], "size": config["size"], **config["recipe"], "tol": tol, **chosen},
        history={"error": history["error"], "gap": history["deo"]} if history else {},
    )


def _kind(method: str) -> str:
    """FairALM and the fair head, which has no method's name, are this library's."""
    if method == "unconstrained":
        return page.PLAIN
    return page.OURS if method in ("fairalm", "") else page.OTHER
