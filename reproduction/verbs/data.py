"""The images, and the features of a frozen net, which are computed once and kept in a file for each data set."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fairalm.datasets import split
from fairalm.datasets.images import VERB_PAIRS, ImageDataset, imsitu_counts, load_imsitu, load_waterbirds, scenes
from fairalm.files import write_atomic
from fairalm.nn import Features, compute_features
from fairalm.vision.image_batches import Scale, image_batches
from fairalm.vision.image_sets import group_labels
from fairalm.vision.nets import make_net
from reproduction.types import IntArray

NET = "efficientnet-lite0"
PAIRS = {pair[0]: pair for pair in VERB_PAIRS}
FRESH, FRESH_SEED = 500, 10_000  # further scenes of each label and colour, to test on more than imSitu has
BATCH_SIZE = 32  # larger batches are slower on a CPU


class Parts(NamedTuple):
    """Features by part; their columns have mean 0 and deviation 1 in `train`."""

    train: Features
    choose: Features  # validation images, on which settings are chosen
    test: Features
    dual: Features | None = None  # Waterbirds: half of its validation part, which moves the multipliers if held out
    fresh: Features | None = None  # scenes: the further ones


def load_images(data: str, seed: int, size: int, data_dir: str | None, imsitu: str | None) -> ImageDataset:
    """The images of a data set; each seed draws its own scenes, with imSitu's counts."""
    kind, _, verb = data.partition("-")
    if kind == "waterbirds":
        return load_waterbirds(data_dir, size=size)
    if kind == "imsitu":
        return load_imsitu(imsitu, pair=PAIRS[verb], size=size)
    if verb == "fresh":
        every = {("test", label, gender): FRESH for label in (0, 1) for gender in ("man", "woman")}
        return scenes(counts=every, size=size, random_state=FRESH_SEED)
    return scenes(counts=imsitu_counts(data_dir, pair=PAIRS[verb]), size=size, random_state=seed)


def _path(data: str, seed: int, size: int, folder: Path) -> Path:
    has_seed = data.startswith("scenes") and data != "scenes-fresh"
    return folder / (f"{data}-{seed}-{size}.npz" if has_seed else f"{data}-{size}.npz")


def keep_features(data: str, seed: int, size: int, folder: Path, *, data_dir: str | None, imsitu: str | None) -> None:
    """Run the net over the images and write what its last layer gets, unless that was done."""
    path = _path(data, seed, size, folder)
    if path.exists():
        return
    images = load_images(data, seed, size, data_dir, imsitu)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # of the head, which is not used
        net = make_net(NET, in_channels=3, size=size, weights="imagenet")
    batches = image_batches(images, group_labels(images), Scale.published(NET, 3), BATCH_SIZE)
    found, part, buffer = compute_features(net, batches), images.frame["split"].to_numpy(), io.BytesIO()
    np.savez(buffer, x=found.x.numpy(), y=found.y, group=found.group, part=part.astype("U5"))
    write_atomic(path, buffer.getvalue())


def read_parts(data: str, seed: int, size: int, folder: Path) -> Parts:
    """The parts of a data set; the seed draws the half of Waterbirds' validation part on which settings are chosen."""
    with np.load(_path(data, seed, size, folder)) as kept:
        x, y, group, part = (kept[name] for name in ("x", "y", "group", "part"))
    train, valid, test = (np.flatnonzero(part == name) for name in ("train", "valid", "test"))
    mean, std = x[train].mean(axis=0), x[train].std(axis=0) + 1e-6

    def take(rows: IntArray) -> Features:
        return Features(torch.from_numpy((x[rows] - mean) / std), y[rows], group[rows])

    dual = fresh = None
    if data == "waterbirds":
        first, second = split(y[valid], group[valid], test_size=0.5, random_state=seed)
        dual, valid = take(valid[first]), valid[second]
    if data.startswith("scenes"):
        with np.load(_path("scenes-fresh", 0, size, folder)) as more:
            fresh = Features(torch.from_numpy((more["x"] - mean) / std), more["y"], more["group"])
    return Parts(take(train), take(valid), take(test), dual, fresh)
