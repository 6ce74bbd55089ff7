"""A fair last layer for a pretrained net."""

from __future__ import annotations

from dataclasses import replace

from fairalm.constraints import Constraint, as_constraint
from fairalm.datasets.images import ImageDataset
from fairalm.files import AnyPath
from fairalm.methods import Method, Unconstrained, as_method
from fairalm.nn import refit_last_layer
from fairalm.nn.seeds import seeded
from fairalm.vision.image_batches import Scale, image_batches
from fairalm.vision.image_model import BATCH_SIZE, ImageModel
from fairalm.vision.image_sets import check_sets
from fairalm.vision.imagenet import IMAGENET
from fairalm.vision.nets import make_net
from fairalm.vision.run_settings import describe


def fit_last_layer(
    train: ImageDataset,
    heldout: ImageDataset | None = None,
    *,
    net: str = "efficientnet-lite0",
    weights: AnyPath = IMAGENET,
    constraint: Constraint | str | None = None,
    method: Method | str | None = None,
    n_folds: int = 0,
    l2: float = 0.1,
    max_iter: int = 50,
    cache: AnyPath | None = None,
    device: str | None = None,
    progress: bool = False,
) -> ImageModel:
    """Fit a fair last layer to a pretrained net: the net runs once over the images, then each fit takes seconds.

    Parameters
    ----------
    train : ImageDataset
        Images to fit the last layer on.
    heldout : ImageDataset, optional
        Images to measure errors and gaps on in training, instead of `train`. The training gap of a layer with a
        thousand inputs says little about new images.
    net, weights
        The net, of which only the last layer changes, and its weights.
    constraint, method, n_folds, l2, max_iter, cache, device, progress
        As in :func:`fairalm.nn.refit_last_layer`.

    Returns
    -------
    ImageModel
        Its history has one row per round, and its settings the certificate, ``optimality_gap`` and ``saddle_gap``.

    Examples
    --------
    >>> from fairalm import EqualOpportunity
    >>> from fairalm.datasets.images import coloured_digits
    >>> train, heldout = coloured_digits(300), coloured_digits(300, random_state=1)
    >>> model = fit_last_layer(train, heldout, constraint=EqualOpportunity(tol=0.1))
    >>> bool(abs(model.history["gap"][0]) > 0.1), model.predict(heldout).shape
    (True, (300,))
    """
    constraint, method = as_constraint(constraint), as_method(method, "last-layer")
    sets = {"train": train, "heldout": heldout}
    groups = check_sets(sets, constraint)
    scale = Scale.for_net(net, weights, train)
    settings = describe(sets, groups, scale, net, weights, constraint) | {
        "method": repr(method),
        "n_folds": n_folds,
        "l2": l2,
        "max_iter": max_iter,
    }
    with seeded(0):  # for the head, which is replaced
        model = make_net(net, in_channels=len(scale.mean), size=train.pixels.shape[1], weights=weights)
    loaders = [data and image_batches(data, groups, scale, BATCH_SIZE) for data in (train, heldout)]
    fair = refit_last_layer(
        model,
        *loaders,  # type: ignore[arg-type]  # the first is never None
        constraint=replace(constraint, target=None),
        method=method,
        n_groups=len(groups),
        n_folds=n_folds,
        l2=l2,
        max_iter=max_iter,
        cache=cache,
        progress=progress,
        device=device,
    )
    certificate = {"optimality_gap": fair.optimality_gap, "saddle_gap": fair.saddle_gap}
    place = fair.game.weights("last" if isinstance(method, Unconstrained) else "single").argmax()
    head, played = int(fair.game.candidates.fit[place]), fair.game.played
    chosen = played.index(head) if head in played else -1
    return ImageModel(fair.model, settings | certificate, fair.history, chosen)
