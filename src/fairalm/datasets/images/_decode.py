"""Decoding one image file to a square of bytes, or to the reason why it failed. Runs in worker processes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["colour", "grey", "mask"]
Job = tuple[str, ...]  # the file; for a mask, also that of its image
CHANNELS: dict[Kind, int] = {"colour": 3, "grey": 1, "mask": 1}


def check_pillow() -> None:
    """Raise an error that says what to install if pillow is missing."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise ImportError('Reading images needs pillow: pip install "fairalm[vision]"') from error


def decode(job: Job, size: int, kind: Kind) -> npt.NDArray[np.uint8]:
    """Read a file as an array of shape (size, size, channels): the square in its middle, resized.

    EXIF orientation is applied. A mask must have the size of its image, and is 1 wherever it is not black.
    """
    from PIL import Image, ImageOps

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of odd metadata
        with Image.open(job[0]) as image:
            if kind == "mask":
                _check_size(image.size, job[1])
                square = _square(image.convert("L"), size, Image.Resampling.NEAREST)
                return (np.asarray(square)[..., None] > 0).astype(np.uint8)
            image.draft(None, (2 * size, 2 * size))  # decodes a large JPEG faster, at 1/2, 1/4 or 1/8
            square = _square(_eight_bits(ImageOps.exif_transpose(image), kind), size, Image.Resampling.BILINEAR)
    pixels = np.asarray(square)
    return pixels[..., None] if kind == "grey" else pixels


def _eight_bits(image: Any, kind: Kind) -> Any:
    """Grey or colour with 8 bits per channel; Pillow would clip 16 bits at 255."""
    from PIL import Image

    if image.mode == "F":
        raise ValueError("its pixels are real numbers: save it with 8 or 16 bits")
    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))
    return image.convert("L" if kind == "grey" else "RGB")


def _square(image: Any, size: int, resampling: Any) -> Any:
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    return image.crop((left, top, left + side, top + side)).resize((size, size), resampling)


def _check_size(size: tuple[int, int], image_file: str) -> None:
    from PIL import Image

    with Image.open(image_file) as image:
        if image.size != size:
            raise ValueError(
                f"the mask is {size[0]} × {size[1]} and its image {image.size[0]} × {image.size[1]}:"
                " save it at the image's size"
            )


def decode_all(jobs: Sequence[Job], size: int, kind: Kind) -> tuple[npt.NDArray[np.uint8], list[str | None]]:
    """The images that can be read, and for each job None, or the reason why it failed."""
    good, reasons = [], list[str | None]()
    for job in jobs:
        try:
            good.append(decode(job, size, kind))
            reasons.append(None)
        except Exception as error:  # decoders raise anything; one bad file must not end the run
            reasons.append(_reason(error, job[0]))
    pixels = np.stack(good) if good else np.empty((0, size, size, CHANNELS[kind]), np.uint8)
    return pixels, reasons


def _reason(error: Exception, path: str) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, IsADirectoryError):
        return "it is a folder"
    if type(error).__name__ == "UnidentifiedImageError":
        return "it is empty" if Path(path).stat().st_size == 0 else "it is not an image"
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(reason.split())
