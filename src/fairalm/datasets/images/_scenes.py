"""Small synthetic images for which the decisive and the misleading pixels are known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_random_state

from fairalm._validation import IntArray
from fairalm.datasets.images._checks import check_correlation, check_whole
from fairalm.datasets.images._dataset import SPLITS, ImageDataset
from fairalm.datasets.images._digits import draw_groups
from fairalm.exceptions import InputError

GROUPS = ("blue", "red")
TINTS = np.array([(-40.0, -8.0, 48.0), (48.0, -8.0, -40.0)])  # of the square, one row per group
CONTRAST = 270.0  # of the strongest stripes, in grey levels, times the root of the size: large discs are easier
NOISE = 30.0  # standard deviation, in grey levels
TILT = 0.25  # of the stripes, radians either way
DESCRIPTION = (
    "The label says that the stripes on a disc run upright (0: level); the protected attribute is the colour of a"
    " square elsewhere in the image. Synthetic."
)


def scenes(
    n: int = 2000,
    *,
    correlation: float = 0.9,
    size: int = 64,
    random_state: int | np.random.RandomState | None = 0,
    counts: Mapping[tuple[Any, ...], int] | None = None,
) -> ImageDataset:
    """Make images of a striped disc and a coloured square: label ``upright``, protected ``group``.

    The direction of the stripes is the label, the colour of the square is the group. Disc and square lie at random
    places that do not overlap, on a noisy background. The colour is easy to see; the stripes are harder to learn and in
    some images too faint to see, so a net gains by using the square, the more the higher the correlation. `masks` are
    the disc, `spurious_masks` the square.

    Parameters
    ----------
    n : int
        Number of images; half of them are upright.
    correlation : float
        Between label and group: at 0 they are independent, at 1 the upright discs, and no others, have a red square.
    size : int
        Pixels per side, at least 24.
    random_state : int, RandomState or None
        The same number gives the same images.
    counts : dict, optional
        Instead of `n` and `correlation`: the number of images of each (label, group), or of each (part, label, group)
        for a set with official parts. Labels are 0 and 1; the two groups may have any names; the first in sort order is
        blue. :func:`imsitu_counts` returns such a dict.

    Examples
    --------
    >>> data = scenes(100, correlation=1.0, size=32)
    >>> data.pixels.shape, pd.crosstab(data.groups, data.y).to_numpy().tolist()
    ((100, 32, 32, 3), [[50, 0], [0, 50]])
    >>> few = scenes(size=32, counts={("train", 0, "m"): 3, ("train", 1, "w"): 5, ("test", 1, "m"): 2})
    >>> few.part("train").groups.value_counts().to_dict()
    {'w': 5, 'm': 3}
    """
    check_whole("n", n, 2)
    check_whole("size", size, 24)
    check_correlation(correlation)
    rng = check_random_state(random_state)
    if counts is None:
        label = rng.permutation(np.arange(n) % 2)
        group = draw_groups(label, correlation, rng)
        frame = pd.DataFrame({"upright": label, "group": np.array(GROUPS)[group]})
    else:
        frame, group = _counted(counts, rng)
    frame.insert(0, "file", [f"scene-{row:05d}" for row in range(len(frame))])
    drawn = [_draw(label, which, size, rng) for label, which in zip(frame["upright"], group, strict=True)]
    pixels, discs, squares = (np.stack(part) for part in zip(*drawn, strict=True))
    return ImageDataset(
        "scenes",
        pixels,
        frame,
        "upright",
        1,
        ("group",),
        masks=discs,
        has_mask=np.ones(len(frame), dtype=bool),
        description=DESCRIPTION,
        spurious_masks=squares,
    )


def _counted(counts: Mapping[tuple[Any, ...], int], rng: np.random.RandomState) -> tuple[pd.DataFrame, IntArray]:
    """Rows with exactly these counts, part by part, shuffled within each, and their groups as 0 and 1."""
    shapes = {len(key) if isinstance(key, tuple) else 0 for key in counts}
    if shapes not in ({2}, {3}):
        raise InputError("The keys of counts must all be (label, group), or all (part, label, group).")
    for key, many in counts.items():
        if key[-2] not in (0, 1) or isinstance(many, bool) or not isinstance(many, (int, np.integer)) or many < 0:
            raise InputError(f"counts must give a number from 0 for labels 0 and 1; got {key!r}: {many!r}.")
        if len(key) == 3 and key[0] not in SPLITS:
            raise InputError(f"counts has a part {key[0]!r}: use {', '.join(SPLITS)}.")
    names: list[Hashable] = sorted({key[-1] for key in counts}, key=lambda name: (str(type(name)), name))
    if len(names) != 2 or not any(counts.values()):
        raise InputError(f"counts must name two groups and count at least one image; got groups {names!r}.")
    rows = [key for key, many in counts.items() for _ in range(many)]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    columns = {"upright": [int(row[-2]) for row in rows], "group": [row[-1] for row in rows]}
    if shapes == {3}:
        columns["split"] = [row[0] for row in rows]
        order = np.argsort([SPLITS.index(row[0]) for row in rows], kind="stable")
        columns = {name: [values[i] for i in order] for name, values in columns.items()}
    frame = pd.DataFrame(columns)
    return frame, np.array([names.index(name) for name in columns["group"]])


def _draw(
    label: int, group: int, size: int, rng: np.random.RandomState
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """One image, its disc and its square."""
    radius, half = (rng.uniform(0.15, 0.2) * size for _ in range(2))
    while True:
        (x, y), (u, v) = (rng.uniform(reach, size - 1 - reach, 2) for reach in (radius, half))
        if max(abs(x - u), abs(y - v)) > radius + half + 1:
            break
    down, across = np.mgrid[:size, :size].astype(float)
    disc = (across - x) ** 2 + (down - y) ** 2 <= radius**2
    square = np.maximum(np.abs(across - u), np.abs(down - v)) <= half
    angle = rng.uniform(-TILT, TILT) + (0 if label else np.pi / 2)
    along = np.cos(angle) * (across - x) + np.sin(angle) * (down - y)
    stripes = np.sign(np.sin(2 * np.pi * along / (0.11 * size) + rng.uniform(0, 2 * np.pi)))
    slope = rng.uniform(-40, 40, 2) / size
    background = 110 + slope[0] * (across - size / 2) + slope[1] * (down - size / 2)
    strength = rng.random_sample() * CONTRAST / np.sqrt(size)
    image = np.repeat((background + strength * stripes * disc)[..., None], 3, axis=2)
    image += TINTS[group] * square[..., None] + rng.normal(0, NOISE, image.shape)
    return np.round(image).clip(0, 255).astype(np.uint8), disc.astype(np.uint8), square.astype(np.uint8)
