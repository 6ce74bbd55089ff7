"""The paper's figure: the same images under the heat maps of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fairalm.exceptions import InputError
from fairalm.files import AnyPath, write_png
from fairalm.vision.heat_map_scores import AREA, check_area, top

MOST_ROWS = 60  # larger figures are hard to open
WIDTH = 1.3  # of an image, in inches
OPACITY = 0.65  # of the coloured places


def draw_heat_maps(
    images: npt.NDArray[np.uint8],
    columns: Mapping[str, npt.NDArray[Any]],
    path: AnyPath,
    *,
    area: float = AREA,
    rows: Sequence[str] | None = None,
    masks: npt.NDArray[Any] | None = None,
) -> None:
    """Write a PNG with one row per image: the image, then the image under each model's map.

    Only the highest places of a map are coloured, `area` of the image, as in
    :func:`fairalm.vision.heat_map_scores.leak`; the brighter, the higher. A constant map gives a faint even tint.

    Parameters
    ----------
    images : uint8 array of shape (n, height, width, 1 or 3)
    columns : mapping of title to array of shape (n, height, width)
        The maps of each model. The paper shows a model of the protected attribute, the unconstrained one, FairALM's.
    path : path
        The file.
    area : float
        Between 0 and 1.
    rows : sequence of str, optional
        Text beside each image.
    masks : array of shape (n, height, width), optional
        Outlined on the images.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> images = np.full((2, 8, 8, 3), 128, np.uint8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "maps.png"
    ...     draw_heat_maps(images, {"gender": np.ones((2, 8, 8)), "FairALM": np.eye(8)[None].repeat(2, 0)}, path)
    ...     path.read_bytes()[1:4]
    b'PNG'
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('The figure needs matplotlib: pip install "fairalm[vision]".') from error
    check_area(area)
    _check(images, columns, rows, masks)
    n, (height, width) = len(images), images.shape[1:3]
    figure = Figure(figsize=(WIDTH * (1 + len(columns)) + (rows is not None), WIDTH * n * height / width + 0.3))
    figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.02, wspace=0, hspace=0)
    axes = figure.subplots(n, 1 + len(columns), squeeze=False)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    for axis, title in zip(axes[0], ("image", *columns), strict=True):
        axis.set_title(title, size=9)
    layers = [_layer(np.asarray(maps), area) for maps in columns.values()]
    for i in range(n):
        for axis in axes[i]:
            axis.imshow(images[i], cmap="gray", vmin=0, vmax=255)
        if masks is not None and 0 < np.mean(masks[i]) < 1:
            axes[i, 0].contour(masks[i], [0.5], colors="#39c0f0", linewidths=0.8)
        for axis, layer in zip(axes[i, 1:], layers, strict=True):
            axis.imshow(layer[i])
        if rows is not None:
            axes[i, 0].set_ylabel(rows[i], rotation=0, ha="right", va="center", size=8)
    write_png(path, figure)


def _layer(maps: npt.NDArray[Any], area: float) -> npt.NDArray[np.float64]:
    """Colour and opacity per place, as RGBA."""
    from matplotlib import colormaps

    member = top(maps, area)
    high = maps.max(axis=(1, 2), keepdims=True)
    edge = np.where(member > 0, maps, high).min(axis=(1, 2), keepdims=True)
    rank = np.clip((maps - edge) / np.where(high > edge, high - edge, 1.0), 0.0, 1.0)
    layer = np.array(colormaps["plasma"](0.45 + 0.55 * rank), dtype=float)
    layer[..., 3] = OPACITY * member
    return layer


def _check(images: npt.NDArray[Any], columns: Mapping[str, Any], rows: Sequence[str] | None, masks: Any) -> None:
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3):
        got = f"{images.dtype} {images.shape}"
        raise InputError(f"`images` must be uint8 of shape (n, height, width, 1 or 3); got {got}.")
    if not 0 < len(images) <= MOST_ROWS:
        raise InputError(f"A figure has 1 to {MOST_ROWS} images; got {len(images)}: pass some of them.")
    if not columns:
        raise InputError("There is no map to draw: pass columns={title: maps}.")
    for name, array in {**columns, "masks": masks}.items():
        if array is not None and np.shape(array) != images.shape[:3]:
            raise InputError(f"{name!r} has shape {np.shape(array)}, the images {images.shape[:3]}.")
    if rows is not None and len(rows) != len(images):
        raise InputError(f"`rows` has {len(rows)} texts for {len(images)} images: pass one for each.")
