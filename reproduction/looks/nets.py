"""Small nets whose class activation maps are exact and fine, on pixels or on a frozen pretrained net."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from fairalm.constraints import Constraint
from fairalm.datasets.images import ImageDataset
from fairalm.methods import Method
from fairalm.nn import ConstrainedLoss, Trainer
from fairalm.vision.cam import Maps, maps
from fairalm.vision.image_batches import Pixels, Scale
from fairalm.vision.image_sets import group_codes, group_labels
from fairalm.vision.nets import PooledNet, make_net
from reproduction.looks.job import Plan
from reproduction.types import FloatArray

LITE0 = "efficientnet-lite0"
N_BLOCKS = 11  # of it: their output is 1/16 of the image's size, that of the last ones 1/32
BATCH_SIZE = 128


class LookNet(PooledNet):
    """Convolutions of 3 × 3 places, a mean over places, a linear layer."""

    def __init__(self, in_channels: int, layers: tuple[tuple[int, int], ...]) -> None:
        super().__init__()
        self.body = nn.Sequential()
        for channels, stride in layers:
            convolution = nn.Conv2d(in_channels, channels, 3, stride, padding=1, bias=False)
            self.body.extend([convolution, nn.BatchNorm2d(channels), nn.ReLU()])
            in_channels = channels
        self.head = nn.Linear(in_channels, 1)

    def features(self, x: Tensor) -> Tensor:
        features: Tensor = self.body(x)
        return features


def make_encoder(plan: Plan, fit: ImageDataset) -> Callable[[Pixels], Tensor]:
    """From images to what the nets are trained on: scaled pixels, or the output of a frozen pretrained net."""
    if plan.correlation is not None:
        return Scale.of(fit.pixels).tensor
    scale = Scale.published(LITE0, fit.pixels.shape[3])
    net: Any = make_net(LITE0, in_channels=fit.pixels.shape[3], size=plan.size, weights="imagenet").eval()
    body = net.body
    first = nn.Sequential(body._conv_stem, body._bn0, body._swish, *body._blocks[:N_BLOCKS])

    @torch.no_grad()
    def encode(pixels: Pixels) -> Tensor:
        starts = range(0, len(pixels), BATCH_SIZE)
        return torch.cat([first(scale.tensor(pixels[start : start + BATCH_SIZE])) for start in starts])

    return encode


def train(x: Tensor, data: ImageDataset, plan: Plan, constraint: Constraint, method: Method, seed: int) -> LookNet:
    """Train a net on encoded images; the same seed gives the same net."""
    codes = torch.as_tensor(group_codes(data, group_labels(data)))
    rows = TensorDataset(x, torch.as_tensor(data.y, dtype=torch.float32), codes)
    order = RandomSampler(rows, generator=torch.Generator().manual_seed(seed))
    loader = DataLoader(rows, batch_size=None, sampler=BatchSampler(order, plan.batch_size, drop_last=True))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = LookNet(x.shape[1], plan.layers)
        optimizer = torch.optim.Adam(net.parameters(), lr=plan.lr)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, plan.epochs)
        criterion = ConstrainedLoss(nn.BCEWithLogitsLoss(reduction="none"), constraint, method, n_groups=2)
        Trainer(net, optimizer, criterion, epochs=plan.epochs, scheduler=schedule).fit(loader)
    return net


@torch.no_grad()
def logits(net: LookNet, x: Tensor) -> FloatArray:
    """The logits of the positive label."""
    return np.asarray(torch.cat([net(part)[:, 0] for part in torch.split(x, BATCH_SIZE)]).double().numpy())


def heat_maps(net: LookNet, x: Tensor, size: int) -> Maps:
    """Maps of the label that the net predicts, at the size of the images."""
    small = torch.from_numpy(maps(net, x, target=None))[:, None]
    large = nn.functional.interpolate(small, (size, size), mode="bilinear", align_corners=False)
    return np.asarray(large[:, 0].numpy())
