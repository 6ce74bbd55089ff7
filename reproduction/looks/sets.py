"""The three sets of pictures, and how the nets that look at them are made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairalm.constraints import Constraint, EqualizedOdds, EqualOpportunity
from fairalm.datasets import split
from fairalm.datasets.images import ImageDataset, load_celeba, load_xray, scenes

TEST = 0.25  # of the X-rays, as in the paper
VALID = 0.25  # of the training pictures: eta is chosen by them
SMALL = 4  # the small version has so many times fewer pictures


@dataclass(frozen=True)
class Plan:
    """How one set is used.

    Parameters
    ----------
    title, mask : str
        For tables: which pictures, and what the mask is.
    constraint : Constraint
        The criterion of FairALM's net.
    size : int
        Of the pictures, in pixels.
    n_train, n_test : int
        Pictures, at most.
    epochs, batch_size : int
        Passes over the training pictures, and pictures per step.
    lr : float
        The first step size of Adam.
    layers : tuple of (channels, stride)
        Convolutions of the net.
    is_pretrained : bool
        Whether they stand on the frozen first half of EfficientNet-Lite0, with its ImageNet weights.
    correlation : float, optional
        Of label and group in the training scenes.
    """

    title: str
    mask: str
    constraint: Constraint
    size: int
    n_train: int
    n_test: int
    epochs: int
    batch_size: int
    lr: float
    layers: tuple[tuple[int, int], ...]
    is_pretrained: bool = True
    correlation: float | None = None

    @property
    def config(self) -> dict[str, Any]:
        """What figures depend on."""
        words = ("title", "mask", "constraint")
        plain = {name: value for name, value in vars(self).items() if name not in words}
        return {**plain, "constraint": self.constraint.name, "tol": self.constraint.tol}

    def small(self) -> Plan:
        """Fewer pictures."""
        return replace(self, n_train=self.n_train // SMALL, n_test=self.n_test // SMALL)


SCENES = Plan(
    "scenes, correlation 0.9",
    "the disc",
    EqualizedOdds(tol=0.0),
    size=48,
    n_train=2000,
    n_test=1000,
    epochs=6,
    batch_size=32,
    lr=5e-3,
    layers=((16, 2), (24, 2), (24, 1), (24, 1)),
    is_pretrained=False,
    correlation=0.9,
)
#: name -> plan
SETS: dict[str, Plan] = {
    "scenes": SCENES,
    "scenes-independent": replace(SCENES, title="scenes, correlation 0", correlation=0.0),
    "xray": Plan(
        "chest X-rays",
        "the lungs",
        EqualOpportunity(tol=0.0),
        size=128,
        n_train=600,
        n_test=200,
        epochs=12,
        batch_size=32,
        lr=2e-3,
        layers=((64, 1),),
    ),
    "faces": Plan(
        "faces",
        "the viewer's left half",
        EqualOpportunity(tol=0.0),
        size=96,
        n_train=2000,
        n_test=600,
        epochs=8,
        batch_size=64,
        lr=2e-3,
        layers=((64, 1),),
    ),
}


@dataclass(frozen=True, eq=False)
class Parts:
    """The pictures of one run.

    Parameters
    ----------
    fit, valid, test : ImageDataset
        To train on, to choose eta by, and to look at; the last with a mask for each picture.
    attribute : ImageDataset
        To train the net of the protected attribute on, which is its label here.
    """

    fit: ImageDataset
    valid: ImageDataset
    test: ImageDataset
    attribute: ImageDataset


def read(name: str, plan: Plan, seed: int, data_dir: str | None = None) -> Parts:
    """Make or load the pictures of a set, other ones for each seed.

    On the scenes, label and group are independent in all parts but the first: there every cell has as many pictures,
    and the net of the attribute has nothing but the square to go by. On the other sets it is trained on the same
    pictures as the others.
    """
    rng = np.random.default_rng(seed)
    if plan.correlation is not None:
        sizes = (plan.n_train, plan.n_test, plan.n_test, plan.n_train // 2)
        drawn = [
            scenes(n, correlation=plan.correlation if part == 0 else 0.0, size=plan.size, random_state=4 * seed + part)
            for part, n in enumerate(sizes)
        ]
        return Parts(drawn[0], drawn[1], drawn[2], _turned(drawn[3]))
    if name == "xray":
        data = load_xray(data_dir, size=plan.size)
        train, test = (data.rows(part) for part in split(data.y, data.groups, test_size=TEST, random_state=seed))
        assert test.has_mask is not None
        test = test.rows(test.has_mask)
    else:
        data = load_celeba(data_dir, size=plan.size)
        train, test = data.part("train"), data.part("test")
        left = np.zeros((len(test), plan.size, plan.size), np.uint8)
        left[:, :, : plan.size // 2] = 1
        test = replace(test, masks=left)
    train, test = (
        part.rows(np.sort(rng.permutation(len(part))[:n])) for part, n in ((train, plan.n_train), (test, plan.n_test))
    )
    fit, valid = (train.rows(part) for part in split(train.y, train.groups, test_size=VALID, random_state=seed))
    return Parts(fit, valid, test, _turned(fit))


def _turned(data: ImageDataset) -> ImageDataset:
    """The protected attribute as the label, the label as the protected attribute."""
    return data.retarget(target=data.protected[0], protected=data.target)


def group_names(name: str, groups: Any) -> Any:
    """The groups of a set's pictures, in words."""
    return np.array(("women", "men"))[np.asarray(groups)] if name == "faces" else np.asarray(groups)
