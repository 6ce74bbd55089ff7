"""Training a net on images under a constraint."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from fairalm.constraints import Constraint, as_constraint
from fairalm.datasets.images import ImageDataset
from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.methods import Method, Unconstrained, as_method
from fairalm.nn import ConstrainedLoss, Trainer
from fairalm.nn.checkpoint import CHECKPOINT, without_address
from fairalm.nn.checks import check_count, check_positive, usable_device, warn_about_gap
from fairalm.nn.choice import Choose
from fairalm.nn.distributed import n_ranks
from fairalm.nn.head import find_head
from fairalm.nn.learning_rate import cosine_decay
from fairalm.nn.seeds import seeded
from fairalm.vision.adversary import Adversary
from fairalm.vision.image_batches import Scale, image_batches
from fairalm.vision.image_model import BATCH_SIZE, ImageModel, load_image_model
from fairalm.vision.image_sets import check_sets
from fairalm.vision.nets import make_net
from fairalm.vision.run_settings import describe, is_finished, write_settings

OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
CHECKPOINT_EVERY = 100  # steps: about a minute of a ResNet-18 on a CPU
HEAD_FACTOR = 10.0  # the head alone learns at ten times the rate, as in the paper's appendix


def fit_images(
    train: ImageDataset,
    valid: ImageDataset | None = None,
    *,
    heldout: ImageDataset | None = None,
    net: str = "resnet18",
    weights: AnyPath | None = None,
    constraint: Constraint | str | None = None,
    method: Method | Adversary | str | None = None,
    surrogate: str = "sigmoid",
    epochs: int = 20,
    batch_size: int = 64,
    lr: float = 1e-3,
    optimizer: Literal["adam", "sgd"] = "adam",
    head_epochs: int = 0,
    inner_steps: int = 1,
    flip: bool = False,
    choose: Choose | None = None,
    folder: AnyPath | None = None,
    resume: bool = False,
    device: str | None = None,
    progress: bool = False,
    random_state: int = 0,
) -> ImageModel:
    """Train a net on images under a constraint.

    The learning rate falls to 0 along a cosine. The same seed gives the same net, also when the run was killed and
    resumed.

    Parameters
    ----------
    train : ImageDataset
        Training images. Pixels are scaled to mean 0 and standard deviation 1 over these images or, with `weights`, as
        on ImageNet.
    valid : ImageDataset, optional
        Images to measure on after each epoch, with intervals.
    heldout : ImageDataset, optional
        Images, other than `valid`, that move the multipliers instead of the training batches: a net that memorises its
        training images can have no gap on them and a large one on new images.
    net, weights
        As for :func:`fairalm.vision.nets.make_net`.
    constraint : Constraint or str, optional
        The constraint, or its name; equal opportunity if left out. Its target is the data's positive label.
    method : Method, str or Adversary, optional
        Any method for mini-batches, or its name, or the adversarial baseline; :class:`fairalm.PIControl` if left out.
    surrogate : {"sigmoid", "log", "hinge"}
        See :class:`fairalm.nn.ConstrainedLoss`.
    epochs, batch_size, lr
        Passes over the images, images per step, and the first learning rate.
    optimizer : {"adam", "sgd"}
        "sgd" has no momentum.
    head_epochs : int
        Number of first epochs in which the last layer is trained alone, at ten times `lr`, as the paper does on imSitu.
    inner_steps : int
        Steps of the net per step of the multipliers (the paper on imSitu: 5).
    flip : bool
        Mirror half of the training images, at random.
    choose : "best" or callable, optional
        Which epoch's weights to end with, by the measures on `valid`; for example :func:`fairalm.nvp`. By default the
        last.
    folder : path, optional
        For the checkpoints, the history and the net; :func:`~fairalm.vision.image_model.load_image_model` reads it.
    resume : bool
        Resume from the folder's checkpoint; a finished run is read and not trained again.
    device, progress
        Where to train, the CPU if left out, and whether to show a progress bar.
    random_state : int
        Seed of weights, order and mirror images.

    Examples
    --------
    >>> from fairalm import EqualOpportunity
    >>> from fairalm.datasets.images import coloured_digits
    >>> data = coloured_digits(random_state=0)
    >>> model = fit_images(data, net="relu3", constraint=EqualOpportunity(tol=0.1), epochs=8)
    >>> bool(model.history["train_deo"].iloc[-1] < 0.1)
    True
    """
    constraint = as_constraint(constraint)
    method = method if isinstance(method, Adversary) else as_method(method, "nn")
    sets = {"train": train, "valid": valid, "heldout": heldout}
    recipe = {
        "epochs": epochs,
        "batch_size": batch_size,
        "lr": lr,
        "optimizer": optimizer,
        "head_epochs": head_epochs,
        "inner_steps": inner_steps,
        "random_state": random_state,
    }
    _check_settings(recipe)
    if choose is not None and valid is None:
        raise InputError("`choose` compares measures on validation images: pass {valid} too.", valid=None)
    if choose is not None and heldout is valid:
        raise InputError("`heldout` is `valid`, by which the epoch is chosen: hold out images for each.")
    groups = check_sets(sets, constraint)
    where = usable_device(None, device)
    scale = Scale.for_net(net, weights, train)
    settings = describe(sets, groups, scale, net, weights, constraint) | recipe
    settings |= {"method": repr(method), "surrogate": surrogate, "flip": flip, "choose": without_address(choose)}
    path = None if folder is None else Path(folder)

    def warned(fitted: ImageModel) -> ImageModel:
        if heldout is None and not isinstance(method, (Unconstrained, Adversary)):
            gap = float(fitted.history[f"train_{constraint.measure}"].iloc[-1])
            warn_about_gap(gap, constraint.tol, epochs, stacklevel=3)
        return fitted

    if path is not None and is_finished(path, settings, resume):
        return warned(load_image_model(path))
    train_loader = image_batches(train, groups, scale, batch_size, seed=random_state, flip=flip)
    valid_loader = None if valid is None else image_batches(valid, groups, scale, BATCH_SIZE)
    dual_loader = None
    if heldout is not None and isinstance(method, Method) and method.traits.has_dual:
        dual_loader = image_batches(heldout, groups, scale, batch_size, seed=random_state + 1)
    criterion = ConstrainedLoss(
        nn.BCEWithLogitsLoss(reduction="none"),
        replace(constraint, target=None),  # class 1 here, whatever its label
        Unconstrained() if isinstance(method, Adversary) else method,
        n_groups=len(groups),
        surrogate=surrogate,
        dual_from="forward" if dual_loader is None else "observe",
    )
    with seeded(random_state):
        model = make_net(net, in_channels=len(scale.mean), size=train.pixels.shape[1], weights=weights).to(where)
        trainer = _make_trainer(model, criterion, method, recipe, choose=choose, folder=path, progress=progress)
        if path is not None:
            write_settings(path, settings, None)
        history = trainer.fit(train_loader, valid_loader, dual_loader=dual_loader, resume=resume)
    fitted = ImageModel(model, settings, history, trainer.chosen)
    if path is not None:
        fitted.save(path)
        (path / CHECKPOINT).unlink()  # several times the net's size, and no longer needed
        shutil.rmtree(path / "weights", ignore_errors=True)
    return warned(fitted)


def _check_settings(recipe: dict[str, Any]) -> None:
    least = {"epochs": 1, "batch_size": 2, "head_epochs": 0, "random_state": 0}  # batch normalisation needs two images
    for name, low in least.items():
        check_count(name, recipe[name], low)
    if n_ranks() > 1:
        raise InputError("Nets for images are trained in one process: start without torchrun.")
    check_positive("lr", recipe["lr"])
    if recipe["optimizer"] not in OPTIMIZERS:
        raise InputError(f"`optimizer` must be {' or '.join(map(repr, OPTIMIZERS))}; got {recipe['optimizer']!r}.")


def _make_trainer(
    net: nn.Module, criterion: ConstrainedLoss, method: Method | Adversary, recipe: dict[str, Any], **more: Any
) -> Trainer:
    epochs, head_epochs = recipe["epochs"], recipe["head_epochs"]
    optimizer = OPTIMIZERS[recipe["optimizer"]](net.parameters(), lr=recipe["lr"])
    return Trainer(
        net,
        optimizer,
        criterion,
        epochs=epochs,
        inner_steps=recipe["inner_steps"],
        backward=method.make(criterion.constraint, criterion.n_groups) if isinstance(method, Adversary) else None,
        scheduler=cosine_decay(optimizer, epochs, head_steps=head_epochs, head_factor=HEAD_FACTOR),
        head=net.get_submodule(find_head(net)) if head_epochs else None,
        head_epochs=head_epochs,
        checkpoint_every=None if more["folder"] is None else CHECKPOINT_EVERY,
        **more,
    )
