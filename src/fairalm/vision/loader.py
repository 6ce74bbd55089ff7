"""From stored pictures to batches: shuffled, mirrored, on the scale a net takes, from a place that can be kept."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairalm._validation import IntArray, encode_groups, group_name
from fairalm.datasets.images import ImageDataset
from fairalm.exceptions import InputError
from fairalm.vision.nets import find_published

Pixels: TypeAlias = npt.NDArray[np.uint8]
CHUNK = 1024  # pictures looked at in one go


@dataclass(frozen=True)
class Scale:
    """What is taken off the pixels (0 to 255) of each channel, and what they are then divided by.

    Examples
    --------
    >>> Scale((127.0,), (128.0,)).tensor(np.full((1, 2, 2, 1), 255, dtype=np.uint8))[0, 0, 0]
    tensor([1., 1.])
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, pixels: Pixels) -> Scale:
        """The pictures' own: mean 0 and deviation 1 in each channel."""
        counts = np.zeros((pixels.shape[3], 256), dtype=np.int64)
        for start in range(0, len(pixels), CHUNK):
            chunk = np.asarray(pixels[start : start + CHUNK])
            for channel, row in enumerate(counts):
                row += np.bincount(chunk[..., channel].ravel(), minlength=256)
        values, share = np.arange(256.0), counts / counts.sum(axis=1, keepdims=True)
        mean = share @ values
        std = np.sqrt((share * (values - mean[:, None]) ** 2).sum(axis=1))
        return cls(tuple(mean.tolist()), tuple(np.where(std > 0, std, 1.0).tolist()))

    @classmethod
    def published(cls, net: str, n_channels: int) -> Scale:
        """That of a net's ImageNet weights; for grey pictures, the mean over the colours."""
        found = find_published(net)
        if n_channels == 3:
            return cls(found.mean, found.std)
        return cls((sum(found.mean) / 3,), (sum(found.std) / 3,))

    def tensor(self, pixels: Pixels) -> Tensor:
        """Pictures as a net takes them: floats of shape (n, channels, height, width)."""
        x = torch.from_numpy(np.array(pixels)).permute(0, 3, 1, 2).float()
        mean, std = (torch.tensor(values).view(1, -1, 1, 1) for values in (self.mean, self.std))
        return x.sub_(mean).div_(std)


class PictureBatches:
    """Batches of (pictures, label, group), in a new order each pass if `seed` is given.

    Labels are floats 0 and 1; groups are positions in `groups`. A last batch of one picture is left out of a shuffled
    pass, since batch normalisation has nothing to go by in it. All random numbers come from `generator`, whose state
    :class:`fairalm.nn.Trainer` keeps, so that a run that was stopped goes on with the same batches.

    Parameters
    ----------
    data : ImageDataset
        The pictures.
    groups : sequence of hashable
        Labels of the groups, in the order of their codes.
    scale : Scale
        Of the pixels.
    batch_size : int
        Pictures per batch.
    seed : int, optional
        Of the order and the mirror images. Without it, all pictures in their own order.
    flip : bool
        Mirror each picture with probability one half, left to right; only where there is a seed.

    Examples
    --------
    >>> from fairalm.datasets.images import coloured_digits
    >>> data = coloured_digits(100)
    >>> batches = PictureBatches(data, group_labels(data), Scale.of(data.pixels), 32, seed=0)
    >>> len(batches), next(iter(batches))[0].shape
    (4, torch.Size([32, 3, 28, 28]))
    """

    def __init__(
        self,
        data: ImageDataset,
        groups: Sequence[Hashable],
        scale: Scale,
        batch_size: int,
        *,
        seed: int | None = None,
        flip: bool = False,
    ) -> None:
        self.pixels, self.scale, self.batch_size, self.flip = data.pixels, scale, batch_size, flip
        self.y = torch.as_tensor(data.y, dtype=torch.float32)
        self.codes = torch.as_tensor(group_codes(data, groups))
        self.generator = None if seed is None else torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return len(self._split(torch.arange(len(self.y))))

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        n = len(self.y)
        order, mirrored = torch.arange(n), torch.zeros(n, dtype=torch.bool)
        if self.generator is not None:
            order = torch.randperm(n, generator=self.generator)
            if self.flip:
                mirrored = torch.rand(n, generator=self.generator) < 0.5
        for rows in self._split(order):
            x = self.scale.tensor(self.pixels[rows.numpy()])
            turned = mirrored[rows]
            if turned.any():
                x[turned] = x[turned].flip(3)
            yield x, self.y[rows], self.codes[rows]

    def _split(self, rows: Tensor) -> list[Tensor]:
        parts = list(torch.split(rows, self.batch_size))
        return parts[:-1] if self.generator is not None and len(parts) > 1 and len(parts[-1]) == 1 else parts


def group_labels(data: ImageDataset) -> tuple[Hashable, ...]:
    """The groups that occur, in the order of their codes."""
    return encode_groups(data.groups, n_rows=len(data.pixels)).labels


def group_codes(data: ImageDataset, groups: Sequence[Hashable]) -> IntArray:
    """The position in `groups` of each picture's group."""
    found = encode_groups(data.groups, n_rows=len(data.pixels), min_groups=1)
    place: dict[Any, int] = {label: code for code, label in enumerate(groups)}
    strange = [label for label in found.labels if label not in place]
    if strange:
        known = ", ".join(group_name(label) for label in groups)
        raise InputError(
            f"{data.name} has a group {group_name(strange[0])!r} that the training pictures do not have ({known}):"
            " leave those rows out."
        )
    return np.array([place[label] for label in found.labels], dtype=np.int64)[found.codes]
