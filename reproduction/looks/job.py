"""A job: the nets of a set of images with a seed, whose class activation maps are exact, and where they look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from fairalm.arrays import FloatArray
from fairalm.constraints import Constraint, EqualizedOdds, EqualOpportunity
from fairalm.datasets import split
from fairalm.datasets.images import ImageDataset, load_celeba, load_xray, scenes
from fairalm.measures import group_rates, measure_of
from fairalm.measures.means import means_of
from fairalm.methods import FairALM, Method, Reweight, Unconstrained
from fairalm.nn import ConstrainedLoss, Trainer
from fairalm.selection import select_nvp
from fairalm.vision.cam import Maps, maps
from fairalm.vision.heat_map_scores import SHARES, focus, leak
from fairalm.vision.image_batches import Pixels, Scale
from fairalm.vision.image_sets import group_codes, group_labels
from fairalm.vision.nets import PooledNet, make_net
from reproduction.experiment import Job
from reproduction.page import net_entry

ETAS = (0.1, 0.3, 1.0)  # FairALM's; NVP chooses on the validation images
KEEP = 0.95  # of the best accuracy, where NVP has 0.9: where a bad net looks says little
TEST, VALID = 0.25, 0.25  # shares of the X-rays, as in the paper, and of the training images
ATTRIBUTE, UNCONSTRAINED, FAIR, AGAIN, BOTH = "attribute", "unconstrained", "fairalm", "again", "both"
SMALL, ON_SHEET = 4, 6  # the small version has a fourth of the images; images on a sheet
OTHER = 1000  # added to the seed of a second unconstrained net, on scenes
LITE0 = "efficientnet-lite0"
N_BLOCKS = 11  # of it: their output is 1/16 of the image's size, that of the last ones 1/32
BATCH_SIZE = 128
DEO = EqualOpportunity(tol=0.0)


@dataclass(frozen=True)
class Plan:
    """How a set of images is used. The nets stand on the first half of EfficientNet-Lite0, except on scenes."""

    title: str
    mask: str
    size: int  # pixels on a side
    n_train: int  # images, at most
    n_test: int
    epochs: int
    batch_size: int
    constraint: Constraint = DEO  # of FairALM's net
    lr: float = 2e-3  # first step size of Adam
    layers: tuple[tuple[int, int], ...] = ((64, 1),)  # channels and stride of each convolution
    correlation: float | None = None  # of label and group in training scenes; None for real images


LAYERS = ((16, 2), (24, 2), (24, 1), (24, 1))  # of the nets for scenes
SCENES = Plan("scenes, correlation 0.9", "the disc", 48, 2000, 1000, 6, 32, EqualizedOdds(tol=0.0), 5e-3, LAYERS, 0.9)
SETS = {
    "scenes": SCENES,
    "scenes-independent": replace(SCENES, title="scenes, correlation 0", correlation=0.0),
    "xray": Plan("chest X-rays", "the lungs", size=128, n_train=600, n_test=200, epochs=12, batch_size=32),
    "faces": Plan("faces", "the viewer's left half", size=96, n_train=2000, n_test=600, epochs=8, batch_size=64),
}


@dataclass(frozen=True)
class LooksJob(Job):
    """Train the nets of a set (a key of ``SETS``) with a seed, and measure where they look."""

    set: str
    seed: int
    is_small: bool = False  # fewer images

    @property
    def plan(self) -> Plan:
        plan, share = SETS[self.set], SMALL if self.is_small else 1
        return replace(plan, n_train=plan.n_train // share, n_test=plan.n_test // share)

    @property
    def name(self) -> str:
        return f"{self.set}-{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        plan = {name: value for name, value in vars(self.plan).items() if name not in ("title", "mask")}
        plan |= {"constraint": self.plan.constraint.name, "tol": self.plan.constraint.tol}
        return {"set": self.set, "seed": self.seed, "etas": ETAS, "keep": KEEP, "other": OTHER, **plan}

    def run(self, data_dir: str | None = None) -> dict[str, Any]:
        """Train a net for the attribute, an unconstrained one and FairALM's; choose eta; measure on the test images.

        Among the ``nets`` are, on scenes, a second unconstrained one (``again``), and where ``both`` nets look outside.
        The first seed has a ``sheet``: rows of some test images, and their maps, from 0 to 255.
        """
        plan, (fit, valid, test, swapped) = self.plan, self.read(data_dir)
        encode = make_encoder(plan, fit)
        x, unseen, tested = (encode(part.pixels) for part in (fit, valid, test))
        methods: dict[str, Method] = {UNCONSTRAINED: Unconstrained(), **{str(eta): FairALM(eta=eta) for eta in ETAS}}
        tried = {name: train(x, fit, plan, plan.constraint, method, self.seed) for name, method in methods.items()}
        trials = {name: _rates(valid, logits(net, unseen), plan) for name, net in tried.items()}
        errors, gaps = (np.array([trials[str(eta)][key]["value"] for eta in ETAS], float) for key in ("error", "gap"))
        eta = ETAS[select_nvp(errors, gaps, keep=KEEP)]
        balanced = x if plan.correlation is None else encode(swapped.pixels)
        # weights bring label and attribute into balance, so that the net for one does not learn the other
        nets = {ATTRIBUTE: train(balanced, swapped, plan, EqualizedOdds(), Reweight(), self.seed)}
        nets |= {UNCONSTRAINED: tried[UNCONSTRAINED], FAIR: tried[str(eta)]}
        if plan.correlation is not None:
            nets[AGAIN] = train(x, fit, plan, plan.constraint, Unconstrained(), self.seed + OTHER)
        shown = {name: heat_maps(net, tested, plan.size) for name, net in nets.items()}
        focuses = {name: focus(map_, np.asarray(test.masks)) for name, map_ in shown.items()}
        results: dict[str, Any] = {name: {"focus": _means(table)} for name, table in focuses.items()}
        for name in [name for name in nets if name != ATTRIBUTE]:
            results[name]["leak"] = _means(leak(shown[name], shown[ATTRIBUTE]))
        groups = group_names(self.set, test.groups)
        for name in (UNCONSTRAINED, FAIR):
            logit = logits(nets[name], tested)
            results[name] |= _rates(test, logit, plan) | {"entry": net_entry(test.y, logit, groups)}
        results[ATTRIBUTE] |= _rates(swap(test), logits(nets[ATTRIBUTE], tested), plan)
        outside = [focuses[name][["peak_outside", "mostly_outside"]] for name in (UNCONSTRAINED, FAIR)]
        results[BOTH] = {"focus": _means(outside[0] & outside[1])}
        result = {"eta": eta, "trials": trials, "nets": results}
        if self.seed == 0:
            rows = np.sort(np.random.default_rng(0).permutation(len(test))[:ON_SHEET])
            sheet = {name: _to_bytes(shown[name][rows]) for name in (ATTRIBUTE, UNCONSTRAINED, FAIR)}
            result["sheet"] = {"rows": rows.tolist(), "maps": sheet}
        return result

    def read(self, data_dir: str | None = None) -> tuple[ImageDataset, ImageDataset, ImageDataset, ImageDataset]:
        """Make or load images to train on, to choose eta on, to test on (with masks), and for the attribute's net.

        Label and group of the scenes are independent in all parts but the first, so that the net for the attribute has
        nothing but the square to go by. On real images it is trained on the same images as the others.
        """
        plan, seed = self.plan, self.seed
        if plan.correlation is not None:
            parts = []
            for part, n in enumerate((plan.n_train, plan.n_test, plan.n_test, plan.n_train // 2)):
                correlation = 0.0 if part else plan.correlation
                parts.append(scenes(n, correlation=correlation, size=plan.size, random_state=4 * seed + part))
            return parts[0], parts[1], parts[2], swap(parts[3])
        if self.set == "xray":
            data = load_xray(data_dir, size=plan.size)
            train, test = (data.rows(part) for part in split(data.y, data.groups, test_size=TEST, random_state=seed))
            test = test.rows(np.asarray(test.has_mask))
        else:
            data = load_celeba(data_dir, size=plan.size)
            train, test = data.part("train"), data.part("test")
            is_left = np.arange(plan.size) < plan.size // 2
            test = replace(test, masks=np.tile(is_left.astype(np.uint8), (len(test), plan.size, 1)))
        rng = np.random.default_rng(seed)
        train = train.rows(np.sort(rng.permutation(len(train))[: plan.n_train]))
        test = test.rows(np.sort(rng.permutation(len(test))[: plan.n_test]))
        fit, valid = (train.rows(part) for part in split(train.y, train.groups, test_size=VALID, random_state=seed))
        return fit, valid, test, swap(fit)


def swap(data: ImageDataset) -> ImageDataset:
    """The protected attribute as the label, the label as the protected attribute."""
    return data.retarget(target=data.protected[0], protected=data.target)


def group_names(name: str, groups: Any) -> Any:
    """The group of each image, in words."""
    return np.array(("women", "men"))[np.asarray(groups)] if name == "faces" else np.asarray(groups)


def _rates(data: ImageDataset, logit: Any, plan: Plan) -> dict[str, Any]:
    rates = group_rates(data.y, (logit > 0).astype(int), sensitive_features=np.asarray(data.groups))
    return {"error": measure_of("error", rates).to_dict(), "gap": measure_of(plan.constraint.measure, rates).to_dict()}


def _means(table: Any) -> dict[str, Any]:
    return {name: measure.to_dict() for name, measure in means_of(table, shares=SHARES).items()}


def _to_bytes(maps: Any) -> Any:
    """Each map from 0, its lowest place, to 255, its highest."""
    low, high = maps.min(axis=(1, 2), keepdims=True), maps.max(axis=(1, 2), keepdims=True)
    return np.rint(255 * (maps - low) / np.where(high > low, high - low, 1)).astype(int).tolist()


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
    body: Any = make_net(LITE0, in_channels=fit.pixels.shape[3], size=plan.size, weights="imagenet").eval().body
    first = nn.Sequential(body._conv_stem, body._bn0, body._swish, *body._blocks[:N_BLOCKS])

    @torch.no_grad()
    def encode(pixels: Pixels) -> Tensor:
        return torch.cat([first(scale.tensor(pixels[i : i + BATCH_SIZE])) for i in range(0, len(pixels), BATCH_SIZE)])

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
