"""From stored images to batches: shuffled, mirrored, and on the scale that a net expects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairalm.datasets.images import ImageDataset
from fairalm.files import AnyPath
from fairalm.nn.row_batches import RowBatches
from fairalm.vision.image_sets import group_codes
from fairalm.vision.nets import find_net, find_published

Pixels: TypeAlias = npt.NDArray[np.uint8]
CHUNK = 1024  # images read at a time


@dataclass(frozen=True)
class Scale:
    """What is subtracted from the pixels (0 to 255) of each channel, and what they are then divided by.

    >>> Scale((127.0,), (128.0,)).tensor(np.full((1, 2, 2, 1), 255, dtype=np.uint8))[0, 0, 0]
    tensor([1., 1.])
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, pixels: Pixels) -> Scale:
        """The images' own scale: mean 0 and standard deviation 1 in each channel."""
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
        """The scale of a net's ImageNet weights; for grey images, the mean over the colours."""
        weights = find_published(net)
        if n_channels == 3:
            return cls(weights.mean, weights.std)
        return cls((sum(weights.mean) / 3,), (sum(weights.std) / 3,))

    @classmethod
    def for_net(cls, net: str, weights: AnyPath | None, train: ImageDataset) -> Scale:
        """The scale of the net's ImageNet weights or, without weights, that of the training images."""
        find_net(net)
        return cls.of(train.pixels) if weights is None else cls.published(net, train.pixels.shape[3])

    def tensor(self, pixels: Pixels) -> Tensor:
        """Images as a net takes them: floats of shape (n, channels, height, width)."""
        x = torch.from_numpy(np.array(pixels)).permute(0, 3, 1, 2).float()
        mean, std = (torch.tensor(values).view(1, -1, 1, 1) for values in (self.mean, self.std))
        return x.sub_(mean).div_(std)


@dataclass(frozen=True, eq=False)
class ScaledImages:
    """Images that are read and scaled when some of them are asked for."""

    pixels: Pixels
    scale: Scale

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, rows: Tensor, /) -> Tensor:
        return self.scale.tensor(self.pixels[rows.numpy()])


def image_batches(
    data: ImageDataset,
    groups: Sequence[Hashable],
    scale: Scale,
    batch_size: int,
    *,
    seed: int | None = None,
    flip: bool = False,
) -> RowBatches:
    """Batches of (images, labels 0.0 and 1.0, positions in `groups`), in a new order each pass if there is a seed.

    A shuffled pass leaves out a last batch of one image, which batch normalisation cannot use.

    >>> from fairalm.datasets.images import coloured_digits
    >>> data = coloured_digits(100)
    >>> batches = image_batches(data, ("blue", "red"), Scale.of(data.pixels), 32, seed=0)
    >>> len(batches), next(iter(batches))[0].shape
    (4, torch.Size([32, 3, 28, 28]))
    """
    y, codes = torch.as_tensor(data.y, dtype=torch.float32), torch.as_tensor(group_codes(data, groups))
    return RowBatches([ScaledImages(data.pixels, scale), y, codes], batch_size, seed=seed, smallest=2, flip=flip)
