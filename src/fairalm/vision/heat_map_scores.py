"""Scores of heat maps: how much the maps of two models overlap (leak), and how much of a map lies in a mask (focus).

Both return a table with one row per image, for :func:`fairalm.measures.means.means_of` and, to compare two models,
:func:`fairalm.measures.means.differences_of`. Their intervals are over images, for these models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm.arrays import FloatArray
from fairalm.exceptions import InputError

AREA = 0.2  # share of an image that counts as looked at
SHARES = ("overlap", "chance", "inside")  # columns that lie in [0, 1]
FLAT = 1e-5  # relative to the largest value: a map that varies less is constant, but for rounding


def leak(maps: npt.ArrayLike, against: npt.ArrayLike, *, area: float = AREA) -> pd.DataFrame:
    """How much a model looks where another one does.

    The highest places of each map are compared, `area` of the image, so the scale of the logits does not matter. Places
    with the value of the threshold share the rest of the area evenly: a constant map overlaps with any other by `area`.

    Parameters
    ----------
    maps, against : array of shape (n, height, width)
        Maps of the same images from two models: the one in question, and one that predicts the protected attribute.
    area : float
        Between 0 and 1.

    Returns
    -------
    DataFrame, one row per image
        ``overlap``, the share of the highest places that the two maps have in common. ``chance``, whose mean is the
        overlap of maps of different images, over all pairs; NaN for a single image. ``excess``, overlap less chance.
        ``constant``, whether one of the two maps is constant.

    Examples
    --------
    >>> left, right = [[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]
    >>> leak([left, right, left], [left, right, right], area=0.5)[["overlap", "constant"]]
       overlap  constant
    0      1.0     False
    1      1.0     False
    2      0.0     False
    """
    check_area(area)
    first, second = _as_maps(maps, "maps"), _as_maps(against, "against")
    if first.shape != second.shape:
        raise InputError(f"`maps` has shape {first.shape}, `against` {second.shape}: pass maps of the same images.")
    n = len(first)
    u, v = top(first, area).reshape(n, -1), top(second, area).reshape(n, -1)
    places = float(u[0].sum())  # the same in every map
    overlap = np.einsum("ij,ij->i", u, v) / places
    chance = np.full(n, np.nan)
    if n > 1:
        with_others = (u @ v.sum(axis=0) + v @ u.sum(axis=0)) / places - 2 * overlap
        chance = with_others / (n - 1)
        chance -= chance.mean() / 2  # each pair is in two rows: this makes the mean and its interval right
    constant = _is_constant(first) | _is_constant(second)
    return pd.DataFrame({"overlap": overlap, "chance": chance, "excess": overlap - chance, "constant": constant})


def focus(maps: npt.ArrayLike, masks: npt.ArrayLike) -> pd.DataFrame:
    """How much of a map lies inside a mask.

    Parameters
    ----------
    maps : array of shape (n, height, width)
        Of one model.
    masks : array of shape (n, height, width), or (height, width) for all
        1 or True inside.

    Returns
    -------
    DataFrame, one row per image
        ``inside``, the share of the map's positive mass (evidence for the label) inside the mask. ``overlap``, the
        share of the highest places, as many as the mask has, that are inside: unlike the mass, it does not depend on
        the map's zero, which a net can shift by its bias. ``chance``, the mask's share of the image: both for a
        constant map. ``mostly_outside``, whether less than half of the mass is inside. ``peak_outside``, whether the
        highest place is outside. ``constant``, whether the map is constant or has no positive place.

    Examples
    --------
    >>> focus([[[3.0, -1.0], [1.0, 0.0]]], [[1, 1], [0, 0]]).T
                        0
    inside           0.75
    overlap           0.5
    chance            0.5
    mostly_outside  False
    peak_outside    False
    constant        False
    """
    values = _as_maps(maps, "maps")
    inside = np.asarray(masks)
    if inside.dtype.kind not in "biuf" or not np.isin(inside, (0, 1)).all():
        raise InputError("`masks` must hold 0 and 1 only: compare them with a threshold first.")
    if inside.shape not in (values.shape, values.shape[1:]):
        raise InputError(f"`masks` has shape {inside.shape}, `maps` {values.shape}: pass one per map, or one for all.")
    inside = np.broadcast_to(inside.astype(bool), values.shape)
    share = inside.mean(axis=(1, 2))
    empty = np.flatnonzero(share == 0)
    if len(empty):
        raise InputError(f"{len(empty)} masks have no place inside (the first: {empty[0]}): leave these images out.")
    mass = np.maximum(values, 0.0)
    total = mass.sum(axis=(1, 2), dtype=float)
    share_of_mass = share.copy()
    np.divide((mass * inside).sum(axis=(1, 2), dtype=float), total, out=share_of_mass, where=total > 0)
    peak = values == values.max(axis=(1, 2), keepdims=True)
    peak_inside = (peak & inside).sum(axis=(1, 2)) / peak.sum(axis=(1, 2))
    return pd.DataFrame(
        {
            "inside": share_of_mass,
            "overlap": (top(values, share) * inside).sum(axis=(1, 2), dtype=float) / inside.sum(axis=(1, 2)),
            "chance": share,
            "mostly_outside": share_of_mass < 0.5,
            "peak_outside": peak_inside < 0.5,
            "constant": _is_constant(values) | (total == 0),
        }
    )


def top(maps: npt.NDArray[Any], area: float | FloatArray) -> npt.NDArray[np.float32]:
    """How much each place belongs to the highest `area` of its map: 1, 0, or a share where places are equal.

    The area is rounded to a whole number of places, at least one.

    >>> top(np.array([[[3.0, 1.0], [1.0, 0.0]]]), 0.5).tolist()
    [[[1.0, 0.5], [0.5, 0.0]]]
    """
    flat = maps.reshape(len(maps), -1)
    wanted = np.broadcast_to(np.maximum(np.rint(np.multiply(area, flat.shape[1])), 1), len(maps))[:, None]
    edge = np.take_along_axis(np.sort(flat, axis=1), flat.shape[1] - wanted.astype(np.int64), axis=1)
    above, at = flat > edge, flat == edge
    left = (wanted - above.sum(axis=1, keepdims=True)) / at.sum(axis=1, keepdims=True)
    member = np.where(above, 1.0, np.where(at, left, 0.0))
    member = np.where(_is_constant(maps)[:, None], wanted / flat.shape[1], member)
    return member.astype(np.float32).reshape(maps.shape)


def check_area(area: float) -> None:
    """Refuse what is not a share of an image."""
    if not 0 < area < 1:
        raise InputError(f"`area` must lie between 0 and 1, for example {AREA}; got {area!r}.")


def _is_constant(maps: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    low, high = maps.min(axis=(1, 2)), maps.max(axis=(1, 2))
    return np.asarray(high - low <= FLAT * np.maximum(abs(low), abs(high)))


def _as_maps(maps: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    values = np.asarray(maps)
    if values.dtype.kind not in "biuf" or values.ndim != 3 or not values.size:
        raise InputError(f"`{name}` must be numbers of shape (n, height, width); got {values.dtype} {values.shape}.")
    if values.dtype.kind != "f":
        values = values.astype(float)
    if not np.isfinite(values).all():
        raise InputError(f"`{name}` has NaN or infinite values: check the net that made them.")
    return values
