"""What the benchmarks share."""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from fairalm import InputError
from fairalm.datasets import load, names


def start(doc: str | None, **numbers: int) -> argparse.ArgumentParser:
    """A parser with these options; finds Law's folder if it lies beside the project, and switches warnings off."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("FAIRALM_DATA", str(beside))
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser


def tables(chosen=None):
    """The data sets with their names; those that are not there are skipped with a message."""
    for name in chosen or names():
        try:
            yield name, load(name)
        except InputError as error:
            print(f"{name} left out: {error}")


def samples(seeds, rows):
    """For each data set and seed: name, seed, and the features, labels and groups of at most `rows` random rows."""
    for name, data in tables():
        for seed in range(seeds):
            chosen = np.random.RandomState(seed).permutation(len(data.y))[:rows]
            X = data.features_frame(with_protected=True).iloc[chosen]
            yield name, seed, X, data.y[chosen], data.groups.to_numpy()[chosen]


def write_between(path, marker, text):
    """Replace the text between the two comments of a marker, ``<!-- marker -->`` and ``<!-- /marker -->``."""
    start, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    page = path.read_text(encoding="utf-8")
    before, after = page.split(start)[0], page.split(end)[1]
    path.write_text(f"{before}{start}\n{text}\n{end}{after}", encoding="utf-8")


def cell_rates(chosen, y, s, constraint):
    """The rates that a constraint compares, and the rows behind each: shape (events, groups)."""
    group = pd.factorize(s, sort=True)[0]
    rows = constraint.rows(y, group, group.max() + 1)
    return rows.moments(abs(chosen - y)).mu, rows.sizes


def spread(chosen, y, s, constraint):
    """Largest difference between two groups; of expected rates, for predictions that are probabilities."""
    mu, _ = cell_rates(chosen, y, s, constraint)
    return float((mu.max(axis=1) - mu.min(axis=1)).max())


def floor(chosen, y, s, constraint):
    """The mean of that difference by chance, if all groups had the rate of their event."""
    mu, sizes = cell_rates(chosen, y, s, constraint)
    mean = (mu * sizes).sum(axis=1, keepdims=True) / sizes.sum(axis=1, keepdims=True)
    drawn = np.random.RandomState(0).binomial(sizes, np.broadcast_to(mean, sizes.shape), (2000, *sizes.shape)) / sizes
    return float((drawn.max(axis=2) - drawn.min(axis=2)).max(axis=1).mean())
