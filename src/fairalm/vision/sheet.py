"""The paper's picture: the same photographs under the maps of several models, on one sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fairalm.exceptions import InputError
from fairalm.files import AnyPath, write_png
from fairalm.vision.leak import AREA, check_area, top

MOST = 60  # rows that one sheet can hold and still be opened
CELL = 1.3  # inches
OPACITY = 0.65  # of the highest place's colour


def draw_sheet(
    pictures: npt.NDArray[np.uint8],
    columns: Mapping[str, npt.NDArray[Any]],
    path: AnyPath,
    *,
    area: float = AREA,
    rows: Sequence[str] | None = None,
    masks: npt.NDArray[Any] | None = None,
) -> None:
    """Draw a row per picture: the picture, then the picture under each model's map, and write a PNG.

    Only the highest places of a map are coloured, `area` of the picture, as :func:`fairalm.vision.leak.leak` takes
    them; the brighter, the higher. A constant map is a faint even tint.

    Parameters
    ----------
    pictures : uint8 array of shape (n, height, width, channels)
        One or three channels.
    columns : mapping of title to array of shape (n, height, width)
        The maps; in the paper: of the protected attribute's model, of the unconstrained one and of FairALM's.
    path : path
        The file.
    area : float
        Between 0 and 1.
    rows : sequence of str, optional
        A few words beside each picture.
    masks : array of shape (n, height, width), optional
        Outlined on the pictures.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> pictures = np.full((2, 8, 8, 3), 128, np.uint8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "sheet.png"
    ...     draw_sheet(pictures, {"gender": np.ones((2, 8, 8)), "FairALM": np.eye(8)[None].repeat(2, 0)}, path)
    ...     path.read_bytes()[1:4]
    b'PNG'
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('The sheet needs matplotlib: pip install "fairalm[vision]".') from error
    check_area(area)
    _check(pictures, columns, rows, masks)
    n, (height, width) = len(pictures), pictures.shape[1:3]
    figure = Figure(figsize=(CELL * (1 + len(columns)) + (rows is not None), CELL * n * height / width + 0.3))
    figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.02, wspace=0, hspace=0)
    axes = figure.subplots(n, 1 + len(columns), squeeze=False)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    for axis, title in zip(axes[0], ("picture", *columns), strict=True):
        axis.set_title(title, size=9)
    layers = [_layer(np.asarray(maps), area) for maps in columns.values()]
    for i in range(n):
        for axis in axes[i]:
            axis.imshow(pictures[i], cmap="gray", vmin=0, vmax=255)
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


def _check(
    pictures: npt.NDArray[Any],
    columns: Mapping[str, npt.NDArray[Any]],
    rows: Sequence[str] | None,
    masks: npt.NDArray[Any] | None,
) -> None:
    if pictures.dtype != np.uint8 or pictures.ndim != 4 or pictures.shape[3] not in (1, 3):
        raise InputError(
            f"`pictures` must be uint8 of shape (n, height, width, 1 or 3); got {pictures.dtype} {pictures.shape}."
        )
    if not 0 < len(pictures) <= MOST:
        raise InputError(f"A sheet has 1 to {MOST} pictures; got {len(pictures)}: choose some.")
    if not columns:
        raise InputError("There is no map to draw: pass columns={title: maps}.")
    for name, array in {**columns, "masks": masks}.items():
        if array is not None and np.shape(array) != pictures.shape[:3]:
            raise InputError(f"{name!r} has shape {np.shape(array)}, the pictures {pictures.shape[:3]}.")
    if rows is not None and len(rows) != len(pictures):
        raise InputError(f"`rows` has {len(rows)} texts for {len(pictures)} pictures: pass one for each.")
