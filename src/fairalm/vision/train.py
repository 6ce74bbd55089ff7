"""Training a net for pictures under a criterion."""

from __future__ import annotations

import math
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from fairalm.constraints import Constraint, EqualOpportunity
from fairalm.datasets.images import ImageDataset
from fairalm.exceptions import InputError, ToleranceWarning
from fairalm.files import AnyPath
from fairalm.methods import DEFAULT_METHOD, Method, Unconstrained
from fairalm.nn import ConstrainedLoss, Trainer
from fairalm.nn.adversarial_trainer import AdversarialTrainer
from fairalm.nn.checkpoint import CHECKPOINT
from fairalm.nn.distributed import n_ranks
from fairalm.nn.features import usable_device
from fairalm.nn.head import find_head
from fairalm.nn.loss import DualFrom
from fairalm.nn.trainer import Choose
from fairalm.vision._setup import check_data, describe, is_done, scale_of
from fairalm.vision.adversary import Adversary
from fairalm.vision.loader import PictureBatches
from fairalm.vision.model import BATCH_SIZE, PictureModel, load_run, write_settings
from fairalm.vision.nets import make_net

__all__ = ["Adversary", "PictureModel", "fit_pictures", "load_run"]

OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
CHECKPOINT_EVERY = 100  # steps: about a minute of a ResNet-18 on a CPU
HEAD_RATE = 10.0  # the head alone learns at ten times the rate, as in the paper's appendix


def fit_pictures(
    train: ImageDataset,
    valid: ImageDataset | None = None,
    *,
    heldout: ImageDataset | None = None,
    net: str = "resnet18",
    weights: AnyPath | None = None,
    constraint: Constraint | None = None,
    method: Method | Adversary | None = None,
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
) -> PictureModel:
    """Train a net on pictures under a criterion.

    The learning rate goes down to 0 along a cosine. The same seed gives the same net, and so does a run that was
    killed and taken up again.

    Parameters
    ----------
    train : ImageDataset
        What the net is trained on. Pixels are brought to mean 0 and deviation 1 by these pictures' own figures or,
        with `weights`, by those of ImageNet.
    valid : ImageDataset, optional
        What it is measured on after each epoch, with intervals.
    heldout : ImageDataset, optional
        Pictures that move the multipliers in place of the training batches: a net that knows its pictures by heart has
        no gap left on them, and one elsewhere. Not those that `choose` goes by. A rule without multipliers leaves them
        aside.
    net : {"resnet18", "relu3", "efficientnet-lite0"}
        See :func:`fairalm.vision.nets.make_net`.
    weights : path or "imagenet", optional
        Where all layers but the last begin.
    constraint : Constraint, optional
        The criterion; equal opportunity if left out. Its target is the data's positive label.
    method : Method or Adversary, optional
        The rule: any for mini-batches, or the adversarial baseline; :class:`fairalm.PIControl` if left out.
    epochs, batch_size : int
        Passes over the pictures, and pictures per step.
    lr : float
        The first step size.
    optimizer : {"adam", "sgd"}
        The second is plain: no momentum.
    head_epochs : int
        For so many epochs the last layer is trained alone, at ten times `lr`, as the paper does on imSitu.
    inner_steps : int
        Steps of the net per step of the multipliers (the paper on imSitu: 5).
    flip : bool
        Show each training picture mirrored, half of the time.
    choose : "best" or callable, optional
        Which epoch's weights to end with, by its figures on `valid`; for example :func:`fairalm.nvp`. By default the
        last one's.
    folder : path, optional
        For the checkpoints, the history and the net; read back by :func:`load_run`.
    resume : bool
        Go on from the folder's checkpoint; a run that has ended is read and not trained again.
    device : str, optional
        Where to train; the CPU if left out.
    progress : bool
        Show a bar on stderr.
    random_state : int
        Seed of weights, order and mirror images.

    Returns
    -------
    PictureModel

    Examples
    --------
    >>> from fairalm import EqualOpportunity
    >>> from fairalm.datasets.images import coloured_digits
    >>> data = coloured_digits(random_state=0)
    >>> model = fit_pictures(data, net="relu3", constraint=EqualOpportunity(tol=0.1), epochs=8)
    >>> bool(model.history["train_deo"].iloc[-1] < 0.1)
    True
    """
    constraint = EqualOpportunity() if constraint is None else constraint
    method = DEFAULT_METHOD["nn"]() if method is None else method
    sets = {"train": train, "valid": valid, "heldout": heldout}
    _check_counts(epochs=epochs, batch_size=batch_size, head_epochs=head_epochs, random_state=random_state)
    _check_settings(lr, optimizer, method)
    if choose is not None and valid is None:
        raise InputError("`choose` goes by figures on validation pictures: pass valid= too.")
    if choose is not None and heldout is valid:
        raise InputError("`heldout` is `valid`, by which the epoch is chosen: hold out pictures for each.")
    groups = check_data(sets, constraint)
    where = usable_device(nn.Identity(), device)
    scale = scale_of(train, net, weights)
    settings = describe(sets, groups, scale, net, weights, constraint) | {
        "method": repr(method),
        "epochs": epochs,
        "batch_size": batch_size,
        "lr": lr,
        "optimizer": optimizer,
        "head_epochs": head_epochs,
        "inner_steps": inner_steps,
        "flip": flip,
        "choose": re.sub(" at 0x[0-9a-fA-F]+", "", str(choose)),
        "random_state": random_state,
    }
    path = None if folder is None else Path(folder)
    if path is not None and is_done(path, settings, resume):
        return load_run(path)[0]
    train_loader = PictureBatches(train, groups, scale, batch_size, seed=random_state, flip=flip)
    valid_loader = None if valid is None else PictureBatches(valid, groups, scale, BATCH_SIZE)
    dual_loader = None
    if heldout is not None and isinstance(method, Method) and method.traits.has_dual:
        dual_loader = PictureBatches(heldout, groups, scale, batch_size, seed=random_state + 1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        model = make_net(net, in_channels=len(scale.mean), size=train.pixels.shape[1], weights=weights)
        trainer = _trainer(
            model.to(where),
            _criterion(constraint, method, len(groups), "forward" if dual_loader is None else "observe"),
            OPTIMIZERS[optimizer](model.parameters(), lr=lr),
            epochs=epochs,
            head_epochs=head_epochs,
            inner_steps=inner_steps,
            choose=choose,
            folder=path,
            checkpoint_every=None if path is None else CHECKPOINT_EVERY,
            progress=progress,
        )
        if path is not None:
            write_settings(path, settings, None)
        history = trainer.fit(train_loader, valid_loader, dual_loader=dual_loader, resume=resume)
    done = PictureModel(model, settings, history, trainer.chosen)
    if path is not None:
        done.save(path)
        (path / CHECKPOINT).unlink()  # several times the net's size, and of no more use
        shutil.rmtree(path / "weights", ignore_errors=True)
    if heldout is None and not isinstance(method, (Unconstrained, Adversary)):
        _warn(float(history[f"train_{constraint.measure}"].iloc[-1]), constraint.tol, epochs)
    return done


def _check_counts(**given: Any) -> None:
    least = {"epochs": 1, "batch_size": 2}  # a batch of one has no deviation to be normalised by
    for name, value in given.items():
        low = least.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise InputError(f"`{name}` must be an integer, {low} or more; got {value!r}.")


def _check_settings(lr: Any, optimizer: Any, method: Any) -> None:
    if n_ranks() > 1:
        raise InputError("Nets for pictures are trained in one process: start without torchrun.")
    if not isinstance(lr, (int, float)) or not 0 < lr < math.inf:
        raise InputError(f"`lr` must be positive; got {lr!r}.")
    if optimizer not in OPTIMIZERS:
        raise InputError(f"`optimizer` must be {' or '.join(map(repr, OPTIMIZERS))}; got {optimizer!r}.")
    is_rule = isinstance(method, Method) and method.traits.only_for != "full fits"
    if not is_rule and not isinstance(method, Adversary):
        raise InputError(f"`method` must be a rule for mini-batches or an Adversary; got {method!r}.")


def _criterion(
    constraint: Constraint, method: Method | Adversary, n_groups: int, dual_from: DualFrom
) -> ConstrainedLoss:
    criterion = ConstrainedLoss(
        nn.BCEWithLogitsLoss(reduction="none"),
        replace(constraint, target=None),  # class 1 here, whatever its label
        Unconstrained() if isinstance(method, Adversary) else method,
        n_groups=n_groups,
        dual_from=dual_from,
    )
    if isinstance(method, Adversary):
        criterion.adversary = method.make(criterion.constraint, n_groups)
    return criterion


def _trainer(
    net: nn.Module,
    criterion: ConstrainedLoss,
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    head_epochs: int,
    **more: Any,
) -> Trainer:
    def rate(epoch: int) -> float:
        if epoch < head_epochs:
            return HEAD_RATE
        return 0.5 + 0.5 * math.cos(math.pi * (epoch - head_epochs) / max(1, epochs - head_epochs))

    kind = AdversarialTrainer if hasattr(criterion, "adversary") else Trainer
    return kind(
        net,
        optimizer,
        criterion,
        epochs=epochs,
        scheduler=torch.optim.lr_scheduler.LambdaLR(optimizer, rate),
        head=net.get_submodule(find_head(net)) if head_epochs else None,
        head_epochs=head_epochs,
        **more,
    )


def _warn(gap: float, tol: float, epochs: int) -> None:
    if gap > tol:
        warnings.warn(
            f"The gap on the training pictures is {100 * gap:.1f} points after {epochs} epochs, above the tolerance of"
            f" {100 * tol:.1f}: more epochs (epochs) may close it.",
            ToleranceWarning,
            stacklevel=3,
        )
