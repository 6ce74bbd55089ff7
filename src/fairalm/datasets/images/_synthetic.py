"""Synthetic images: coloured digits, and scenes for which the decisive and the misleading pixels are known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_random_state

from fairalm.arrays import FloatArray, IntArray
from fairalm.datasets.images._build import check_whole
from fairalm.datasets.images._dataset import SPLITS, ImageDataset
from fairalm.exceptions import InputError

SIZE = 28  # of a digit
COLOURS = {"blue": (0.25, 0.45, 1.0), "red": (1.0, 0.35, 0.25)}
DIGITS = (
    "The label says that a handwritten digit is 5 or more; the protected attribute is the colour it is drawn in. Digits"
    " of scikit-learn (Alpaydin and Kaynak 1998), enlarged from 8 × 8."
)
TINTS = np.array([(-40.0, -8.0, 48.0), (48.0, -8.0, -40.0)])  # of the square, one row per group
CONTRAST = 270.0  # of the strongest stripes, in grey levels, times the root of the size: large discs are easier
NOISE = 30.0  # standard deviation, in grey levels
TILT = 0.25  # of the stripes, radians either way
SCENES = (
    "The label says that the stripes on a disc run upright (0: level); the protected attribute is the colour of a"
    " square elsewhere in the image. Synthetic."
)


def coloured_digits(
    n: int | None = None, *, correlation: float = 0.9, random_state: int | np.random.RandomState | None = 0
) -> ImageDataset:
    """Colour scikit-learn's digits: label ``high`` (5 or more), protected ``colour``; 28 × 28 pixels.

    Shape and colour are in the same pixels, so no mask can tell them apart; :func:`scenes` has masks.

    Parameters
    ----------
    n : int, optional
        Number of digits, drawn without replacement; all 1,797 if left out.
    correlation : float
        Between label and colour: at 0 they are independent, at 1 all high digits are red and all others blue.
    random_state : int, RandomState or None
        The same number gives the same images.

    Examples
    --------
    >>> data = coloured_digits(500, correlation=1.0)
    >>> int(pd.crosstab(data.groups, data.y).to_numpy().diagonal().sum())
    500
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    if n is not None:
        check_whole("n", n, 2, len(digits.target))
    rng = check_random_state(random_state)
    chosen = np.arange(len(digits.target)) if n is None else np.sort(rng.permutation(len(digits.target))[:n])
    digit = digits.target[chosen]
    high = (digit >= 5).astype(np.int64)
    colour = _draw_groups(high, correlation, rng)
    spread = _enlarging(8, SIZE)
    ink = np.einsum("ai,nij,bj->nab", spread, digits.images[chosen] / 16, spread)
    pixels = np.round(255 * ink[..., None] * np.array(list(COLOURS.values()))[colour][:, None, None]).astype(np.uint8)
    frame = pd.DataFrame({"digit": digit, "high": high, "colour": np.array(list(COLOURS))[colour]})
    frame.insert(0, "file", [f"digit-{row:04d}" for row in chosen])
    return ImageDataset("coloured-digits", pixels, frame, "high", 1, ("colour",), description=DIGITS)


def _enlarging(small: int, large: int) -> FloatArray:
    """Matrix that interpolates a column of pixels linearly."""
    where = np.clip((np.arange(large) + 0.5) * small / large - 0.5, 0, small - 1)
    weights: FloatArray = np.maximum(0, 1 - np.abs(where[:, None] - np.arange(small)))
    return weights


def scenes(
    n: int = 2000,
    *,
    correlation: float = 0.9,
    size: int = 64,
    random_state: int | np.random.RandomState | None = 0,
    counts: Mapping[tuple[Any, ...], int] | None = None,
) -> ImageDataset:
    """Make images of a striped disc and a coloured square: label ``upright``, protected ``group``.

    The direction of the stripes is the label, the colour of the square is the group. The colour is easy to see; the
    stripes are harder to learn and in some images too faint to see, so a net gains by using the square, the more the
    higher the correlation. `masks` are the disc, `spurious_masks` the square.

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
    rng = check_random_state(random_state)
    if counts is None:
        label = rng.permutation(np.arange(n) % 2)
        group = _draw_groups(label, correlation, rng)
        frame = pd.DataFrame({"upright": label, "group": np.array(list(COLOURS))[group]})
    else:
        frame, group = _counted(counts, rng)
    frame.insert(0, "file", [f"scene-{row:05d}" for row in range(len(frame))])
    drawn = [_draw(label, which, size, rng) for label, which in zip(frame["upright"], group, strict=True)]
    pixels, discs, squares = (np.stack(part) for part in zip(*drawn, strict=True))
    has_mask = np.ones(len(frame), dtype=bool)
    return ImageDataset("scenes", pixels, frame, "upright", 1, ("group",), discs, has_mask, (), SCENES, squares)


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


def _draw_groups(label: IntArray, correlation: float, rng: np.random.RandomState) -> IntArray:
    """Random groups 0 and 1 whose expected correlation with the label is this."""
    if not 0 <= correlation <= 1:
        raise InputError(f"correlation must lie between 0 (independent) and 1 (the same); got {correlation!r}.")
    agree = rng.random_sample(len(label)) < (1 + correlation) / 2
    return np.where(agree, label, 1 - label)
