"""Heat maps in numbers: how much two models' maps overlap (leak), and how much of a map lies in a mask (focus).

Both give a table with a row per picture; :func:`average` turns it into numbers with intervals, :func:`difference` two
tables of the same pictures into paired differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

from fairalm._validation import FloatArray
from fairalm.exceptions import InputError
from fairalm.measures import Measure, rate_interval

AREA = 0.2  # share of a picture that counts as looked at
FLAT = 1e-5  # of the largest value: a map that varies less is constant, but for rounding
LEVEL = 0.95


def leak(maps: npt.ArrayLike, against: npt.ArrayLike, *, area: float = AREA) -> pd.DataFrame:
    """How much a model looks where another one does.

    Of each map the highest places are taken, `area` of the picture, so that sharp and soft maps, and logits of any
    scale, compare. The overlap is the share of these places that the two maps have in common. Places of equal value at
    the edge share what is left of the area evenly, so that a constant map overlaps with any other by `area`: by chance.

    Parameters
    ----------
    maps, against : array of shape (n, height, width)
        Maps of the same pictures from two models: the one in question, and one that predicts the protected attribute.
    area : float
        Between 0 and 1.

    Returns
    -------
    DataFrame, one row per picture
        ``overlap``. ``chance``, whose mean is the overlap of maps of different pictures, averaged over all pairs: maps
        that prefer the middle of every picture overlap without leaking. (A row holds the picture's part in it, so that
        its spread is that of the mean; NaN for a single picture.) ``excess``, overlap less chance. ``constant``,
        whether one of the two maps is.

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
        raise InputError(f"`maps` has shape {first.shape}, `against` {second.shape}: pass maps of the same pictures.")
    n = len(first)
    u, v = top(first, area).reshape(n, -1), top(second, area).reshape(n, -1)
    places = float(u[0].sum())  # the same in every map
    overlap = np.einsum("ij,ij->i", u, v) / places
    chance = np.full(n, np.nan)
    if n > 1:
        with_others = (u @ v.sum(axis=0) + v @ u.sum(axis=0)) / places - 2 * overlap
        chance = with_others / (n - 1)
        chance -= chance.mean() / 2  # each pair stands in two rows: mean and spread of the mean are now right
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
    DataFrame, one row per picture
        ``inside``, the share of the map's positive mass (what speaks for the label) inside the mask; a map without any
        gets the mask's share of the picture. ``overlap``, the share of the highest places, as many as the mask has,
        that are inside: unlike the mass, it does not depend on where the map's zero is, which a net may move into its
        bias. ``chance``, the mask's share of the picture, which an even map has of both. ``mostly_outside``, whether
        less than half of the mass is inside. ``peak_outside``, whether the highest place is outside (of several equal
        ones, most). ``constant``, whether the map is constant or has no positive place.

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
    found = _as_maps(maps, "maps")
    inside = np.asarray(masks)
    if inside.dtype.kind not in "biuf" or not np.isin(inside, (0, 1)).all():
        raise InputError("`masks` must hold 0 and 1 only: compare them with a threshold first.")
    if inside.shape not in (found.shape, found.shape[1:]):
        raise InputError(
            f"`masks` has shape {inside.shape}, `maps` {found.shape}: pass one mask per map, or one for all, of the"
            " maps' height and width."
        )
    inside = np.broadcast_to(inside.astype(bool), found.shape)
    share = inside.mean(axis=(1, 2))
    empty = np.flatnonzero(share == 0)
    if len(empty):
        raise InputError(f"{len(empty)} masks have no place inside (the first: {empty[0]}): leave these pictures out.")
    mass = np.maximum(found, 0.0)
    total = mass.sum(axis=(1, 2), dtype=float)
    share_of_mass = share.copy()
    np.divide((mass * inside).sum(axis=(1, 2), dtype=float), total, out=share_of_mass, where=total > 0)
    peak = found == found.max(axis=(1, 2), keepdims=True)
    peak_inside = (peak & inside).sum(axis=(1, 2)) / peak.sum(axis=(1, 2))
    return pd.DataFrame(
        {
            "inside": share_of_mass,
            "overlap": (top(found, share) * inside).sum(axis=(1, 2), dtype=float) / inside.sum(axis=(1, 2)),
            "chance": share,
            "mostly_outside": share_of_mass < 0.5,
            "peak_outside": peak_inside < 0.5,
            "constant": _is_constant(found) | (total == 0),
        }
    )


def average(scores: pd.DataFrame) -> dict[str, Measure]:
    """Mean of each column with its 95 % interval over the rows.

    Pictures are taken as independent draws, and the models as given: how much another training run would differ is not
    in the interval. For that, make a table with a row per run and average it. A mean of many numbers between 0 and 1 is
    normal enough for Student's interval, which is the same at every call; columns of true and false are shares, and get
    :func:`fairalm.measures.rate_interval`.

    Parameters
    ----------
    scores : DataFrame
        From :func:`leak` or :func:`focus`, or any table of numbers whose rows are independent.

    Returns
    -------
    dict of str to Measure

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> maps = rng.normal(size=(200, 8, 8))
    >>> found = average(leak(maps, maps + rng.normal(size=maps.shape)))
    >>> print(found["overlap"], "by chance", found["chance"])
    57.1 % [55.6, 58.6] by chance 20.3 % [20.1, 20.4]
    """
    if not isinstance(scores, pd.DataFrame) or scores.empty:
        raise InputError("`scores` must be a table with at least one row, as from leak() or focus().")
    constant = int(scores["constant"].sum()) if "constant" in scores else 0
    note = f"{constant} of {len(scores)} pictures have a constant map, which counts as chance" if constant else ""
    return {str(name): _mean(str(name), column.to_numpy(), note) for name, column in scores.items()}


def difference(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, Measure]:
    """Mean of first less second with its 95 % interval, picture by picture.

    The pairing takes out what both models find hard in a picture. Student's interval, as in :func:`average`.

    Parameters
    ----------
    first, second : DataFrame
        From :func:`leak` or from :func:`focus`, of the same pictures.

    Returns
    -------
    dict of str to Measure

    Examples
    --------
    >>> lower, upper = np.zeros((3, 2, 2)), np.zeros((3, 2, 2))
    >>> lower[:, 1], upper[:, 0] = 1, 1
    >>> mask = [[0, 0], [1, 1]]
    >>> print(difference(focus(lower, mask), focus(upper, mask))["inside"])
    100.0 % [100.0, 100.0]
    """
    if list(first.columns) != list(second.columns) or not first.index.equals(second.index):
        raise InputError("The two tables must have the same columns and rows: pass the same pictures in one order.")
    return average((first.astype(float) - second.astype(float)).drop(columns="constant", errors="ignore"))


def top(maps: npt.NDArray[Any], area: float | FloatArray) -> npt.NDArray[np.float32]:
    """How much each place belongs to the highest `area` of its map: 1, 0, or a share where places are equal.

    The area is that of a whole number of places, the nearest and at least one.

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
    """Refuse what is no share of a picture."""
    if not 0 < area < 1:
        raise InputError(f"`area` must lie between 0 and 1, for example {AREA}; got {area!r}.")


def _is_constant(maps: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    low, high = maps.min(axis=(1, 2)), maps.max(axis=(1, 2))
    return np.asarray(high - low <= FLAT * np.maximum(abs(low), abs(high)))


def _as_maps(maps: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    found = np.asarray(maps)
    if found.dtype.kind not in "biuf" or found.ndim != 3 or not found.size:
        raise InputError(f"`{name}` must be numbers of shape (n, height, width); got {found.dtype} {found.shape}.")
    if found.dtype.kind != "f":
        found = found.astype(float)
    if not np.isfinite(found).all():
        raise InputError(f"`{name}` has NaN or infinite values: look at the net that it comes from.")
    return found


def _mean(name: str, values: npt.NDArray[Any], note: str) -> Measure:
    n = len(values)
    value = float(values.mean())
    if np.isnan(value):
        return Measure(name, None, None, None, n, n, note=f"undefined in {int(np.isnan(values).sum())} of {n} rows")
    low: FloatArray | float
    high: FloatArray | float
    if values.dtype == bool:
        low, high = rate_interval(values.sum(), n)
    elif n == 1:
        return Measure(name, value, None, None, n, n, note="one row: no interval")
    else:
        half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * float(values.std(ddof=1)) / n**0.5
        low, high = value - half, value + half
    return Measure(name, value, float(low), float(high), n, n, note=note)
