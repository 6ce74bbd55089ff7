"""Before a net sees pictures: do the sets go together, on what scale are they, and what must a run remember."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fairalm._validation import check_binary, group_name
from fairalm.constraints import Constraint, check_cells
from fairalm.datasets.images import ImageDataset
from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.vision.loader import Scale, group_codes, group_labels
from fairalm.vision.model import SETTINGS, read_settings
from fairalm.vision.nets import find_net

Sets: TypeAlias = dict[str, ImageDataset | None]  # "train" is always there


def check_data(sets: Sets, constraint: Any) -> tuple[Hashable, ...]:
    """The groups, after a look at every set."""
    train = sets["train"]
    for name, data in sets.items():
        if data is not None and not isinstance(data, ImageDataset):
            raise InputError(f"`{name}` must be an ImageDataset; got {type(data).__name__}.")
    assert train is not None
    if not isinstance(constraint, Constraint):
        raise InputError(f"`constraint` must be a Constraint; got {constraint!r}.")
    if constraint.target is not None and constraint.target != train.positive:
        raise InputError(
            f"The criterion's target is {constraint.target!r}, the positive label of {train.name} is"
            f" {train.positive!r}: leave the target out, or name the label with retarget(positive=...)."
        )
    if train.pixels.shape[1] != train.pixels.shape[2]:
        raise InputError(f"The pictures must be square; got {train.pixels.shape[1]} × {train.pixels.shape[2]} pixels.")
    groups = group_labels(train)
    names = tuple(group_name(label) for label in groups)
    _, classes = check_binary(train.frame[train.target].to_numpy(), target=train.positive)
    for part, data in sets.items():
        if data is None:
            continue
        for name in ("target", "positive", "protected"):
            if getattr(data, name) != getattr(train, name):
                raise InputError(
                    f"`{part}` has {name} {getattr(data, name)!r}, `train` has {getattr(train, name)!r}: retarget one."
                )
        if data.pixels.shape[1:] != train.pixels.shape[1:]:
            raise InputError(
                f"`{part}` has pictures of {data.pixels.shape[1:]}, `train` of {train.pixels.shape[1:]}: read both at"
                " one size."
            )
        codes = group_codes(data, groups)
        if part != "valid":
            check_cells(constraint, data.y == 1, codes, names, classes)
    return groups


def scale_of(train: ImageDataset, net: str, weights: AnyPath | None) -> Scale:
    """That of the published weights, or without them, of the training pictures."""
    find_net(net)
    return Scale.of(train.pixels) if weights is None else Scale.published(net, train.pixels.shape[3])


def describe(
    sets: Sets,
    groups: Sequence[Hashable],
    scale: Scale,
    net: str,
    weights: AnyPath | None,
    constraint: Constraint,
) -> dict[str, Any]:
    """What a model must know, and what a run that goes on must share, in plain values."""
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
    """A few words that other data would not share: labels, groups and some of the pictures."""
    found = hashlib.sha256(np.stack([data.y, group_codes(data, groups)]).tobytes())
    found.update(data.pixels[:: len(data.pixels) // 100 + 1].tobytes())
    return f"{data.name}, {len(data.pixels)} pictures, {found.hexdigest()[:16]}"


def is_done(folder: Path, settings: dict[str, Any], resume: bool) -> bool:
    """Whether the folder holds this run, ended; another run, or one that nobody asked to go on with, is refused."""
    if not (folder / SETTINGS).exists():
        return False
    if not resume:
        raise InputError(f"{folder} holds a run already: pass resume=True to go on, or choose another folder.")
    saved, chosen = read_settings(folder)
    for key in {**saved, **settings}:
        then, now = saved.get(key), settings.get(key)
        if then != now:
            raise InputError(
                f"{key} is {then} in the run of {folder} and {now} here: pass what the run had, or choose another"
                " folder."
            )
    return chosen is not None
