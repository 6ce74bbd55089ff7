"""Nets for images: the two of the paper, and a small one whose ImageNet weights come as a package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from fairalm._validation import check_choice
from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.nn.checks import check_count
from fairalm.vision.imagenet import LITE0, RESNET18, Published

HIDDEN = (256, 128)  # of relu3; the paper says "3-layer ReLU network" and no more
MOMENTUM = 0.1  # of the running statistics; the 0.01 of efficientnet-lite0 is too slow for a short run
BLOCKS, GRID = {7: 80, 10: 112}, 3  # of Lite0Grid: blocks (from 0) with their channels, fields per side


class PooledNet(nn.Module):
    """A net that ends in global average pooling and one linear layer, which is what class activation maps need."""

    head: nn.Linear  # from the means of the maps to the logits

    def features(self, x: Tensor) -> Tensor:
        """The last maps, of shape (n, channels, height, width)."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Logits, of shape (n, outputs)."""
        logits: Tensor = self.head(self.features(x).mean((2, 3)))
        return logits


class ResidualBlock(nn.Module):
    """Two 3 × 3 convolutions with a shortcut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample: nn.Module = nn.Identity()
        if stride > 1:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        """Maps of the new width, at half the size if the stride is 2."""
        change = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(change + self.downsample(x))


class ResNet18(PooledNet):
    """He et al. 2016, with torchvision's parameter names, so that its weight files fit; only `fc` is `head` here.

    The last maps are 1/32 of the image: 2 × 2 at 64 pixels, 7 × 7 at 224.
    """

    def __init__(self, in_channels: int, n_outputs: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        self.layer1 = nn.Sequential(ResidualBlock(64, 64, 1), ResidualBlock(64, 64, 1))
        self.layer2 = nn.Sequential(ResidualBlock(64, 128, 2), ResidualBlock(128, 128, 1))
        self.layer3 = nn.Sequential(ResidualBlock(128, 256, 2), ResidualBlock(256, 256, 1))
        self.layer4 = nn.Sequential(ResidualBlock(256, 512, 2), ResidualBlock(512, 512, 1))
        self.head = nn.Linear(512, n_outputs)
        for part in self.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")

    def features(self, x: Tensor) -> Tensor:
        """The last maps."""
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        maps: Tensor = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return maps


class EfficientNetLite0(PooledNet):
    """EfficientNet-Lite0; its code and its ImageNet weights come from packages.

    The last maps are 1/32 of the image, with 1280 channels.
    """

    def __init__(self, in_channels: int, n_outputs: int, size: int) -> None:
        super().__init__()
        self.body = _lite0_body(in_channels, size)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(1280, n_outputs)

    def features(self, x: Tensor) -> Tensor:
        """The last maps."""
        maps: Tensor = self.body.extract_features(x)
        return maps

    def forward(self, x: Tensor) -> Tensor:
        """Logits, of shape (n, outputs)."""
        logits: Tensor = self.head(self.dropout(self.features(x).mean((2, 3))))
        return logits


class Lite0Grid(nn.Module):
    """The middle of EfficientNet-Lite0, averaged over a grid: features for a fair last layer on aligned images.

    The outputs of some blocks are averaged over each field of a grid, and over the image and its mirror image. A heat
    map would show only one of these two passes.
    """

    def __init__(self, in_channels: int, n_outputs: int, size: int) -> None:
        super().__init__()
        self.body = _lite0_body(in_channels, size)
        self.head = nn.Linear(sum(BLOCKS.values()) * GRID**2, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, of shape (n, outputs)."""
        logits: Tensor = self.head((self._fields(x) + self._fields(x.flip(3))) / 2)
        return logits

    def _fields(self, x: Tensor) -> Tensor:
        body, fields = self.body, []
        x = body._swish(body._bn0(body._conv_stem(x)))
        for i, block in enumerate(body._blocks[: max(BLOCKS) + 1]):
            x = block(x)
            if i in BLOCKS:
                fields.append(nn.functional.adaptive_avg_pool2d(x, GRID).flatten(1))
        return torch.cat(fields, 1)


def _lite0_body(in_channels: int, size: int) -> Any:
    """The package's net without its last layer; its padding depends on the size."""
    try:
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise ImportError('efficientnet-lite0 needs its package: pip install "fairalm[vision]".') from error
    body = EfficientNet.from_name("efficientnet-lite0", in_channels=in_channels, image_size=size)
    body._dropout = body._fc = None
    for part in body.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.momentum = MOMENTUM
    return body


def _relu3(in_channels: int, n_outputs: int, size: int) -> nn.Module:
    first, second = HIDDEN
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(in_channels * size * size, first),
        nn.ReLU(),
        nn.Linear(first, second),
        nn.ReLU(),
        nn.Linear(second, n_outputs),
    )


@dataclass(frozen=True)
class Kind:
    """How to make a net, and its published weights."""

    make: Callable[[int, int, int], nn.Module]  # channels, outputs, size
    published: Published | None = None


#: name -> net
NETS: dict[str, Kind] = {
    "relu3": Kind(_relu3),
    "resnet18": Kind(lambda channels, outputs, size: ResNet18(channels, outputs), RESNET18),
    "efficientnet-lite0": Kind(EfficientNetLite0, LITE0),
    "efficientnet-lite0-grid": Kind(Lite0Grid, LITE0),
}


def make_net(
    name: str, *, in_channels: int, n_outputs: int = 1, size: int, weights: AnyPath | None = None
) -> nn.Module:
    """Make a net for square images.

    Parameters
    ----------
    name : {"relu3", "resnet18", "efficientnet-lite0", "efficientnet-lite0-grid"}
        `resnet18` and `efficientnet-lite0` end in global pooling: they have ``features(x)``, the last maps, and
        ``head``, a linear layer. The last one is the middle of `efficientnet-lite0` with a grid instead of global
        pooling, for :func:`fairalm.vision.last_layer.fit_last_layer`.
    in_channels, n_outputs, size : int
        1 or 3 channels, logits per image, height and width of the images.
    weights : path or "imagenet", optional
        Initial weights of all layers but the last, random if left out: a file with a state dict of the same net trained
        on ImageNet, or "imagenet" for the published weights (resnet18's are downloaded). A grey image is treated as one
        in colour.

    Examples
    --------
    >>> net = make_net("resnet18", in_channels=1, size=64)
    >>> net.features(torch.zeros(2, 1, 64, 64)).shape, net(torch.zeros(2, 1, 64, 64)).shape
    (torch.Size([2, 512, 2, 2]), torch.Size([2, 1]))
    """
    if in_channels not in (1, 3):
        raise InputError(f"`in_channels` must be 1 or 3; got {in_channels!r}.")
    check_count("n_outputs", n_outputs, 1)
    check_count("size", size, 1)
    net = find_net(name).make(in_channels, n_outputs, size)
    if weights is not None:
        find_published(name).load(getattr(net, "body", net), weights, name)
    made: nn.Module = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a third faster on a CPU
    return made


def find_net(name: str) -> Kind:
    """The net of this name; for an unknown name, an error that suggests the nearest."""
    check_choice("net", name, NETS)
    return NETS[name]


def find_published(name: str) -> Published:
    """The ImageNet weights of a net; an error if it has none."""
    published = find_net(name).published
    if published is None:
        text = f"There are no ImageNet weights for {name}: leave {{weights}} out to train from scratch."
        raise InputError(text, weights=None)
    return published
