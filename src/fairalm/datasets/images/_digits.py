"""Digits whose colour is correlated with the label."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from fairalm._validation import FloatArray, IntArray
from fairalm.datasets.images._checks import check_correlation, check_whole
from fairalm.datasets.images._dataset import ImageDataset

SIZE = 28
COLOURS = {"blue": (0.25, 0.45, 1.0), "red": (1.0, 0.35, 0.25)}
DESCRIPTION = (
    "The label says that a handwritten digit is 5 or more; the protected attribute is the colour it is drawn in. Digits"
    " of scikit-learn (Alpaydin and Kaynak 1998), enlarged from 8 × 8."
)


def draw_groups(label: IntArray, correlation: float, rng: np.random.RandomState) -> IntArray:
    """Random groups 0 and 1 whose expected correlation with the label is this."""
    agree = rng.random_sample(len(label)) < (1 + correlation) / 2
    return np.where(agree, label, 1 - label)


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
    >>> pd.crosstab(data.groups, data.y).to_numpy().diagonal().sum()
    np.int64(500)
    """
    from sklearn.datasets import load_digits

    check_correlation(correlation)
    digits = load_digits()
    if n is not None:
        check_whole("n", n, 2, len(digits.target))
    rng = check_random_state(random_state)
    chosen = np.arange(len(digits.target)) if n is None else np.sort(rng.permutation(len(digits.target))[:n])
    digit = digits.target[chosen]
    high = (digit >= 5).astype(np.int64)
    colour = draw_groups(high, correlation, rng)
    spread = _enlarging(8, SIZE)
    ink = np.einsum("ai,nij,bj->nab", spread, digits.images[chosen] / 16, spread)
    pixels = np.round(255 * ink[..., None] * np.array(list(COLOURS.values()))[colour][:, None, None]).astype(np.uint8)
    frame = pd.DataFrame(
        {
            "file": [f"digit-{row:04d}" for row in chosen],
            "digit": digit,
            "high": high,
            "colour": np.array(list(COLOURS))[colour],
        }
    )
    return ImageDataset("coloured-digits", pixels, frame, "high", 1, ("colour",), description=DESCRIPTION)


def _enlarging(small: int, large: int) -> FloatArray:
    """Matrix that interpolates a column of pixels linearly."""
    where = np.clip((np.arange(large) + 0.5) * small / large - 0.5, 0, small - 1)
    weights: FloatArray = np.maximum(0, 1 - np.abs(where[:, None] - np.arange(small)))
    return weights
