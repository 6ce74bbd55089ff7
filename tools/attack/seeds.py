"""The intact files that the attacks alter: small tables, images, a folder of every kind that a command writes."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROWS, IMAGES = 80, 40
LABELS = ("--target", "hired", "--protected", "sex")
TRAIN = ("train", "people.csv", *LABELS, "--max-iter", "3")
IMAGE_TABLE = ("--image-column", "image", "--target", "over30", "--protected", "gender", "--image-size", "24")
LDA = ("--reference", "M", "--acceptance", "0.5", "--folds", "2", "--estimator", "logistic")
#: folder or file -> the command that writes it
RUNS: dict[str, tuple[str, ...]] = {
    "logistic": TRAIN,
    "forest": (*TRAIN, "--estimator", "forest"),
    "boosting": (*TRAIN, "--estimator", "boosting"),
    "mlp": ("train", "people.csv", *LABELS, "--estimator", "mlp", "--epochs", "2"),
    "frontier": ("frontier", "people.csv", *LABELS, "--folds", "2"),
    "lda": ("lda", "people.csv", *LABELS, *LDA),
    "audit": ("audit", "people.csv", "--decision", "hired", "--score", "skill", "--protected", "sex"),
    "compare.json": ("compare", "people.csv", *LABELS, "--seeds", "1", "--methods", "secant", "--max-iter", "3"),
    "relu3": ("train", "faces.csv", *IMAGE_TABLE, "--estimator", "relu3", "--epochs", "1", "--tol", "1"),
    "maps": ("cam", "resnet18", "faces", "--masks", "left"),
}
CHECKPOINT = "checkpoint"  # of a net that was trained and not saved
IMAGE_CACHE, FEATURE_CACHE = "image_cache", "feature_cache"


def make_seeds(folder: Path, runs: Collection[str] = tuple(RUNS)) -> None:
    """Write them, with some of the runs; the folder becomes the current one, and caches of images are kept in it."""
    from fairalm.cli import app

    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    os.environ["FAIRALM_CACHE"] = str(folder / IMAGE_CACHE)
    _people().to_csv("people.csv", index=False)
    _people().to_csv("people.csv.gz", index=False)
    _people().to_parquet("people.parquet")
    _people().drop(columns=["hired"]).to_csv("new.csv", index=False)
    _faces()
    for name in runs:
        command = RUNS[name]
        if name == "maps":
            _untrained_net(Path("resnet18"))
        code = app([*command, "-o", name], prog_name="fairalm", standalone_mode=False)
        if code:
            raise RuntimeError(f"fairalm {' '.join(command)} ended with {code}")
    _checkpoint()
    features(Path(FEATURE_CACHE))


def _people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], ROWS)
    skill = rng.normal(size=ROWS) + 0.5 * (sex == "M")
    hired, approved = (np.where(skill + 0.7 * rng.normal(size=ROWS) > 0, "yes", "no") for _ in range(2))
    town, race = rng.choice(["Åbo", "b", "c"], ROWS), rng.choice(["x", "y"], ROWS)
    weight = rng.integers(1, 4, ROWS)
    columns = {"skill": skill.round(3), "town": town, "race": race, "weight": weight, "sex": sex}
    return pd.DataFrame({**columns, "hired": hired, "approved": approved})


def _faces() -> None:
    from PIL import Image

    rng = np.random.default_rng(1)
    old, male = rng.random(IMAGES) < 0.5, rng.random(IMAGES) < 0.5
    Path("faces").mkdir()
    suffixes = ["png", "jpg", "gif", "bmp", "tif", "webp"]
    files = [f"faces/{i}.{suffixes[i % len(suffixes)]}" for i in range(IMAGES)]
    for i, file in enumerate(files):
        pixels = rng.integers(0, 150, (14, 12, 3)) + 100 * int(old[i])
        Image.fromarray(pixels.astype(np.uint8)).save(file)
    labels: dict[str, Any] = {"over30": np.where(old, "yes", "no"), "gender": np.where(male, "M", "F")}
    pd.DataFrame({"image": files, **labels, "weight": 1}).to_csv("faces.csv", index=False)


def _untrained_net(folder: Path) -> None:
    """A net that has heat maps, with the settings of relu3, which has none."""
    from fairalm.vision.image_model import ImageModel, load_image_model
    from fairalm.vision.nets import make_net

    like = load_image_model("relu3")
    net = make_net("resnet18", in_channels=3, size=64).eval()
    ImageModel(net, like.settings | {"net": "resnet18", "size": 64}, like.history, like.chosen).save(folder)


def net_run(checkpoint: Path, *, resume: bool) -> Any:
    """Train a net with checkpoints in a folder, or go on from there."""
    from fairalm.runs import Settings, Source, run

    source = Source("people.csv", target="hired", protected="sex")
    return run(source, Settings(estimator="mlp", epochs=2), checkpoint=checkpoint, resume=resume)


def _checkpoint() -> None:
    net_run(Path(CHECKPOINT), resume=False)


def features(cache: Path) -> Any:
    """The inputs of the last layer of a net, through a cache in a folder."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    from fairalm.nn.features import compute_features

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
        rows = TensorDataset(torch.randn(50, 3), torch.tensor([0, 1] * 25), torch.tensor([0, 0, 1, 1, 1] * 10))
    return compute_features(net, DataLoader(rows, batch_size=16), cache=cache).x.numpy()
