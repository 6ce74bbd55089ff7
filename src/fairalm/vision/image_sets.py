"""Checks that the image sets of a run fit together, and the codes of their groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from fairalm._coding import group_name
from fairalm._validation import check_binary, encode_groups
from fairalm.arrays import IntArray
from fairalm.constraints import Constraint, check_cells
from fairalm.datasets.images import ImageDataset
from fairalm.exceptions import InputError

Sets: TypeAlias = Mapping[str, ImageDataset | None]  # "train" is never None


def group_labels(data: ImageDataset) -> tuple[Hashable, ...]:
    """The groups that occur, in the order of their codes."""
    return encode_groups(data.groups, n_rows=len(data.pixels)).labels


def group_codes(data: ImageDataset, groups: Sequence[Hashable]) -> IntArray:
    """The position in `groups` of each image's group."""
    own = encode_groups(data.groups, n_rows=len(data.pixels), min_groups=1, refuse_ids=False)
    code_of: dict[Any, int] = {label: code for code, label in enumerate(groups)}
    unknown = [label for label in own.labels if label not in code_of]
    if unknown:
        known = ", ".join(group_name(label) for label in groups)
        what = f"{data.name} has a group {group_name(unknown[0])!r} that the training images do not have ({known})"
        raise InputError(f"{what}: leave those rows out.")
    return np.array([code_of[label] for label in own.labels], dtype=np.int64)[own.codes]


def check_sets(sets: Sets, constraint: Constraint) -> tuple[Hashable, ...]:
    """Check every set against the constraint and against "train"; returns the groups."""
    train = sets["train"]
    for name, data in sets.items():
        if data is not None and not isinstance(data, ImageDataset):
            raise InputError(f"`{name}` must be an ImageDataset; got {type(data).__name__}.")
    assert train is not None
    if constraint.target is not None and constraint.target != train.positive:
        labels = f"target is {constraint.target!r}, the positive label of {train.name} is {train.positive!r}"
        advice = "leave the target out, or name the label with retarget(positive=...)"
        raise InputError(f"The constraint's {labels}: {advice}.")
    if train.pixels.shape[1] != train.pixels.shape[2]:
        raise InputError(f"The images must be square; got {train.pixels.shape[1]} × {train.pixels.shape[2]} pixels.")
    groups = group_labels(train)
    names = tuple(group_name(label) for label in groups)
    _, classes = check_binary(train.frame[train.target].to_numpy(), target=train.positive)
    for part, data in sets.items():
        if data is None:
            continue
        for name in ("target", "positive", "protected"):
            if getattr(data, name) != getattr(train, name):
                other, own = getattr(data, name), getattr(train, name)
                raise InputError(f"`{part}` has {name} {other!r}, `train` has {own!r}: retarget one.")
        if data.pixels.shape[1:] != train.pixels.shape[1:]:
            sizes = f"`{part}` has images of {data.pixels.shape[1:]}, `train` of {train.pixels.shape[1:]}"
            raise InputError(f"{sizes}: read both at one size.")
        codes = group_codes(data, groups)
        if part != "valid":
            check_cells(constraint, data.y == 1, codes, names, classes)
    return groups
