"""The nets of one set as a run that :mod:`fairalm.report` reads, and where they look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.datasets import Dataset
from fairalm.report.maps import Maps
from reproduction import old_page as page
from reproduction.looks.cell import ATTRIBUTE, FAIR, PLAIN
from reproduction.looks.sets import Parts, group_names

KINDS = {FAIR: page.OURS, PLAIN: page.PLAIN}
SHOWN = ("size", "epochs", "batch_size", "lr", "tol")


def as_run(results: Sequence[Mapping[str, Any]], name: str, parts: Parts, command: str) -> dict[str, Any] | None:
    """The nets of the label, of each seed; None if no cell keeps what a page needs.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`run_cell` gives them.
    name : str
        The set.
    parts : Parts
        Its pictures, those of the first seed.
    command : str
        As typed.
    """
    found = [result for result in results if result["config"]["set"] == name]
    models = [_model(result, net) for result in found for net in result["nets"] if net != ATTRIBUTE]
    frames = {"train": parts.fit.frame, "valid": parts.valid.frame, "test": parts.test.frame}
    data = Dataset.from_frame(
        pd.concat([frame.assign(split=part) for part, frame in frames.items()]),
        target=parts.test.target,
        protected=parts.test.protected,
        positive=parts.test.positive,
    )
    groups, constraint = group_names(name, data.groups), found[0]["config"]["constraint"]
    return page.as_run(name, data, models, command, constraint=constraint, groups=groups, image_column="file")


def _model(result: Mapping[str, Any], net: str) -> dict[str, Any]:
    config = result["config"]
    settings = {name: config[name] for name in SHOWN if name != "tol" or net != PLAIN}
    return page.model(
        net,
        KINDS.get(net, page.OTHER),
        result["nets"][net].get("entry"),
        seed=config["seed"],
        settings={**settings, "eta": result["eta"] if net == FAIR else None},
    )


def first_maps(results: Sequence[Mapping[str, Any]], name: str, sheet: Path) -> Maps | None:
    """The sheet of heat maps, of the first seed, with leak and focus of its nets; None if it was not drawn.

    Parameters
    ----------
    results : sequence of dicts
        As :func:`run_cell` gives them.
    name : str
        The set.
    sheet : Path
        The picture.
    """
    cell = next((result for result in results if result["config"]["set"] == name and "sheet" in result), None)
    if cell is None or not sheet.is_file():
        return None
    nets = {net: found for net, found in cell["nets"].items() if found["leak"] is not None}
    n_pictures = next(iter(nets.values()))["focus"]["inside"]["n"]
    tables = {kind: {net: _measures(found[kind]) for net, found in nets.items()} for kind in ("leak", "focus")}
    return Maps(sheet, {"data": {"images": n_pictures}, **tables})


def _measures(found: Mapping[str, Any]) -> dict[str, Any]:
    """Without the count of constant maps, which is no measure."""
    return {name: measure for name, measure in found.items() if isinstance(measure, Mapping)}
