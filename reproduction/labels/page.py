"""Labels found unfair, each with its nets as a run that :mod:`fairalm.report` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from fairalm.datasets.images import ImageDataset
from reproduction import old_page as page
from reproduction.labels.cell import group_names
from reproduction.labels.summary import F, U

KINDS = {F: page.OURS, U: page.PLAIN}
SHOWN = ("lr", "epochs", "batch_size", "size")


def screened(table: pd.DataFrame) -> list[tuple[str, str]]:
    """The pairs of a protected attribute and a label that the screen found unfair.

    Parameters
    ----------
    table : pandas.DataFrame
        From :func:`reproduction.labels.summary.summarise`.
    """
    rows = table[(table["rule"] == U) & table["is_screened"]]
    return [(str(protected), str(label)) for protected, label in zip(rows["protected"], rows["label"], strict=True)]


def as_runs(
    results: Sequence[Mapping[str, Any]], pairs: Sequence[tuple[str, str]], faces: ImageDataset, command: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A run per pair, the unconstrained net and FairALM's, named "Male-Attractive"; none of cells that keep too little.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`reproduction.labels.cell.run_cell` gives them, of nets that were tested.
    pairs : sequence of (protected, label)
        From :func:`screened`.
    faces : ImageDataset
        What they are of.
    command : str
        As typed.
    """
    for protected, label in pairs:
        models = [
            _model(result, protected)
            for result in results
            if result["config"]["label"] == label
            and result["config"]["rule"] in KINDS
            and result["config"]["protected"] in ("", protected)
        ]
        data = faces.retarget(target=label, protected=protected)
        groups, name = group_names(data, protected), f"celeba, {label.replace('_', ' ')} by {protected}"
        run = page.as_run(name, data, models, command, groups=groups, image_column="file")
        if run is not None:
            yield f"{protected}-{label}", run


def _model(result: Mapping[str, Any], protected: str) -> dict[str, Any]:
    config = result["config"]
    return page.model(
        config["rule"],
        KINDS[config["rule"]],
        result.get("entries", {}).get(protected),
        seed=config["seed"],
        settings={"net": "relu3", "eta": config["eta"] or None, **{name: config[name] for name in SHOWN}},
        history=_curves(result["history"], is_own=config["protected"] == protected),
        history_of="train",
    )


def _curves(history: Mapping[str, Any], *, is_own: bool) -> dict[str, Any]:
    """The training curves; of a net that knows of no protected attribute the gap may be another's."""
    return dict(history) if is_own else {"train_error": history["train_error"]} if history else {}
