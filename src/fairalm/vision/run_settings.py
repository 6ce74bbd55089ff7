"""The settings of a run on images: what a model needs to be used again, and what a resumed run must share."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairalm._coding import group_name
from fairalm._validation import check_binary
from fairalm.constraints import Constraint
from fairalm.datasets.images import ImageDataset
from fairalm.exceptions import InputError
from fairalm.files import AnyPath, write_json
from fairalm.json_reader import read_json
from fairalm.nn.checkpoint import check_resume, check_settings
from fairalm.vision.image_batches import Scale
from fairalm.vision.image_sets import Sets, group_codes

SCHEMA = 1
SETTINGS = "settings.json"


def describe(
    sets: Sets, groups: Sequence[Hashable], scale: Scale, net: str, weights: AnyPath | None, constraint: Constraint
) -> dict[str, Any]:
    """The settings that every way of training has, as plain values."""
    train = sets["train"]
    assert train is not None
    _, (negative, positive) = check_binary(train.frame[train.target].to_numpy(), target=train.positive)
    return {
        "data": {name: _digest(data, groups) for name, data in sets.items() if data is not None},
        "net": net,
        "weights": None if weights is None else str(weights),
        "size": train.pixels.shape[1],
        "channels": train.pixels.shape[3],
        "mean": list(scale.mean),
        "std": list(scale.std),
        "target": train.target,
        "positive": positive,
        "negative": negative,
        "protected": list(train.protected),
        "groups": [group_name(label) for label in groups],
        "constraint": constraint.name,
        "tol": constraint.tol,
    }


def _digest(data: ImageDataset, groups: Sequence[Hashable]) -> str:
    """Text that differs for other data: made from labels, groups and some of the images."""
    digest = hashlib.sha256(np.stack([data.y, group_codes(data, groups)]).tobytes())
    digest.update(data.pixels[:: len(data.pixels) // 100 + 1].tobytes())
    return f"{data.name}, {len(data.pixels)} images, {digest.hexdigest()[:16]}"


def write_settings(folder: Path, settings: dict[str, Any], chosen: int | None) -> None:
    """Write the settings of a run; `chosen` is None until it has finished."""
    write_json(folder / SETTINGS, {"schema": SCHEMA, "chosen": chosen, **settings})


def read_settings(folder: Path) -> tuple[dict[str, Any], int | None]:
    """Read the settings and the chosen epoch, as :func:`write_settings` wrote them."""
    if not (folder / SETTINGS).is_file():
        raise InputError(f"{folder} holds no image model: it has no {SETTINGS}.")
    settings = read_json(
        folder / SETTINGS, "settings", advice="it was not written by this version of fairalm: train again"
    )
    chosen = settings.pop("chosen")
    del settings["schema"]
    return settings, chosen


def is_finished(folder: Path, settings: dict[str, Any], resume: bool) -> bool:
    """Whether the folder holds this run, finished; another run, or one that is not to be resumed, is an error."""
    if not (folder / SETTINGS).exists():
        return False
    check_resume(folder, resume)
    saved, chosen = read_settings(folder)
    check_settings(f"the run of {folder}", saved, settings)
    return chosen is not None
