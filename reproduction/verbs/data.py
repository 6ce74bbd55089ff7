"""The pictures of the experiment as a frozen net sees them: computed once, kept in a file per data set."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairalm.datasets import split
from fairalm.datasets.images import VERB_PAIRS, ImageDataset, imsitu_counts, load_imsitu, load_waterbirds, scenes
from fairalm.io import write_atomic
from fairalm.nn import Features, compute_features
from fairalm.vision.loader import PictureBatches, Scale, group_labels
from fairalm.vision.nets import make_net
from reproduction.types import IntArray

NET = "efficientnet-lite0"
SIZES = {"waterbirds": 224, "scenes": 48, "imsitu": 224}  # pixels on a side; the net was made for 224
SMALL = 96  # at most, in the small version
PAIRS = {pair[0]: pair for pair in VERB_PAIRS}
FRESH = 500  # scenes of each label and colour, to measure what a few test scenes cannot
FRESH_SEED = 10_000
BATCH = 32  # larger ones are slower on a CPU: their maps do not fit the allocator's pool


@dataclass(frozen=True)
class Parts:
    """Features by part; ``dual`` moves multipliers where they are held out, ``choose`` settles the settings.

    Parameters
    ----------
    train, choose, test : Features
        Columns have mean 0 and deviation 1 in `train`.
    dual : Features, optional
        Of Waterbirds only: half of its validation part, of which `choose` is the other half.
    fresh : Features, optional
        Of scenes only: many more, for a test without chance.
    """

    train: Features
    choose: Features
    test: Features
    dual: Features | None = None
    fresh: Features | None = None


def datasets(kinds: Sequence[str]) -> list[str]:
    """Names of the data sets of these kinds: one for Waterbirds, one per pair of verbs for scenes and for imSitu.

    >>> datasets(["waterbirds", "scenes"])[:3]
    ['waterbirds', 'scenes-cooking', 'scenes-shaving']
    """
    return [
        name for kind in kinds for name in ([kind] if kind == "waterbirds" else [f"{kind}-{verb}" for verb in PAIRS])
    ]


def size_of(data: str, *, is_small: bool) -> int:
    """Pixels on a side of the pictures of a data set."""
    size = SIZES[data.partition("-")[0]]
    return min(size, SMALL) if is_small else size


def find_pictures(data: str, seed: int, size: int, data_dir: str | None, imsitu: str | None) -> ImageDataset:
    """The pictures of a data set; scenes are drawn anew for each seed, with imSitu's counts."""
    kind, _, verb = data.partition("-")
    if kind == "waterbirds":
        return load_waterbirds(data_dir, size=size)
    if kind == "imsitu":
        return load_imsitu(imsitu, pair=PAIRS[verb], size=size)
    if verb == "fresh":
        every = {("test", label, gender): FRESH for label in (0, 1) for gender in ("man", "woman")}
        return scenes(counts=every, size=size, random_state=FRESH_SEED)
    return scenes(counts=imsitu_counts(data_dir, pair=PAIRS[verb]), size=size, random_state=seed)


def keep_features(data: str, seed: int, size: int, folder: Path, *, data_dir: str | None, imsitu: str | None) -> None:
    """Run the net over the pictures, unless that was done, and write what its last layer is given."""
    path = _path(data, seed, size, folder)
    if path.exists():
        return
    found = find_pictures(data, seed, size, data_dir, imsitu)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # of the head, which is not used
        net = make_net(NET, in_channels=3, size=found.pixels.shape[1], weights="imagenet")
    batches = PictureBatches(found, group_labels(found), Scale.published(NET, 3), BATCH)
    seen = compute_features(net, batches)
    buffer = io.BytesIO()
    part = found.frame["split"].to_numpy().astype("U5")
    np.savez(buffer, x=seen.x.numpy(), y=seen.y, group=seen.group, part=part)
    write_atomic(path, buffer.getvalue())


def read_parts(data: str, seed: int, size: int, folder: Path) -> Parts:
    """The parts of a data set; of Waterbirds' validation part, the seed draws which half chooses."""
    x, y, group, part = _read(data, seed, size, folder)
    rows = {name: np.flatnonzero(part == name) for name in ("train", "valid", "test")}
    mean, std = x[rows["train"]].mean(axis=0), x[rows["train"]].std(axis=0) + 1e-6

    def take(index: IntArray) -> Features:
        return Features(torch.from_numpy((x[index] - mean) / std), y[index], group[index])

    valid = rows["valid"]
    dual = fresh = None
    if data == "waterbirds":
        first, second = split(y[valid], group[valid], test_size=0.5, random_state=seed)
        dual, valid = take(valid[first]), valid[second]
    if data.startswith("scenes"):
        more, labels, groups, _ = _read("scenes-fresh", 0, size, folder)
        fresh = Features(torch.from_numpy((more - mean) / std), labels, groups)
    return Parts(take(rows["train"]), take(valid), take(rows["test"]), dual, fresh)


def _path(data: str, seed: int, size: int, folder: Path) -> Path:
    is_drawn = data.startswith("scenes") and data != "scenes-fresh"
    return folder / (f"{data}-{seed}-{size}.npz" if is_drawn else f"{data}-{size}.npz")


def _read(data: str, seed: int, size: int, folder: Path) -> tuple[Any, Any, Any, Any]:
    with np.load(_path(data, seed, size, folder)) as kept:
        return kept["x"], kept["y"], kept["group"], kept["part"]
