"""The sets of images, and how the nets that look at them are trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fairalm.constraints import Constraint, EqualizedOdds, EqualOpportunity
from fairalm.datasets import split
from fairalm.datasets.images import ImageDataset, load_celeba, load_xray, scenes

TEST = 0.25  # share of the X-rays, as in the paper
VALID = 0.25  # share of the training images, by which eta is chosen
DEO = EqualOpportunity(tol=0.0)
SMALL = 4  # the small version has a fourth of the images


@dataclass(frozen=True)
class Plan:
    """How a set is used; by default the nets stand on the frozen first half of EfficientNet-Lite0."""

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
    correlation: float | None = None  # of label and group in the training scenes; None for real images

    @property
    def is_scenes(self) -> bool:
        """Whether images are generated and nets see the pixels themselves."""
        return self.correlation is not None

    def small(self) -> Plan:
        """With fewer images."""
        return replace(self, n_train=self.n_train // SMALL, n_test=self.n_test // SMALL)


_NET: dict[str, Any] = {
    "constraint": EqualizedOdds(tol=0.0),
    "lr": 5e-3,
    "layers": ((16, 2), (24, 2), (24, 1), (24, 1)),
}
SCENES = Plan("scenes, correlation 0.9", "the disc", 48, 2000, 1000, 6, 32, correlation=0.9, **_NET)
SETS = {
    "scenes": SCENES,
    "scenes-independent": replace(SCENES, title="scenes, correlation 0", correlation=0.0),
    "xray": Plan("chest X-rays", "the lungs", size=128, n_train=600, n_test=200, epochs=12, batch_size=32),
    "faces": Plan("faces", "the viewer's left half", size=96, n_train=2000, n_test=600, epochs=8, batch_size=64),
}


class Parts(NamedTuple):
    """The images of a job."""

    fit: ImageDataset
    valid: ImageDataset  # by which eta is chosen
    test: ImageDataset  # with a mask for each image
    attribute: ImageDataset  # to train the net for the protected attribute, which is its label here


def read(name: str, plan: Plan, seed: int, data_dir: str | None = None) -> Parts:
    """Make or load the images of a set, different ones for each seed.

    Label and group of the scenes are independent in all parts but the first, so that the net for the attribute has
    nothing but the square to go by. On real images it is trained on the same images as the others.
    """
    if plan.correlation is not None:
        sizes, correlations = (plan.n_train, plan.n_test, plan.n_test, plan.n_train // 2), (plan.correlation, 0, 0, 0)
        fit, valid, test, other = (
            scenes(n, correlation=correlation, size=plan.size, random_state=4 * seed + part)
            for part, (n, correlation) in enumerate(zip(sizes, correlations, strict=True))
        )
        return Parts(fit, valid, test, swap(other))
    if name == "xray":
        data = load_xray(data_dir, size=plan.size)
        train, test = (data.rows(part) for part in split(data.y, data.groups, test_size=TEST, random_state=seed))
        has_mask: Any = test.has_mask
        test = test.rows(has_mask)
    else:
        data = load_celeba(data_dir, size=plan.size)
        train, test = data.part("train"), data.part("test")
        left = np.zeros((len(test), plan.size, plan.size), np.uint8)
        left[:, :, : plan.size // 2] = 1
        test = replace(test, masks=left)
    rng = np.random.default_rng(seed)
    train, test = (
        part.rows(np.sort(rng.permutation(len(part))[:n])) for part, n in ((train, plan.n_train), (test, plan.n_test))
    )
    fit, valid = (train.rows(part) for part in split(train.y, train.groups, test_size=VALID, random_state=seed))
    return Parts(fit, valid, test, swap(fit))


def swap(data: ImageDataset) -> ImageDataset:
    """The protected attribute as the label, the label as the protected attribute."""
    return data.retarget(target=data.protected[0], protected=data.target)


def group_names(name: str, groups: Any) -> Any:
    """The group of each image, in words."""
    return np.array(("women", "men"))[np.asarray(groups)] if name == "faces" else np.asarray(groups)
