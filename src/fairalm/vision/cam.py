"""Heat maps: which places of an image are a net's evidence for a label."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sized
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from fairalm.exceptions import FairALMWarning, InputError
from fairalm.nn.checks import check_count, usable_device
from fairalm.nn.modes import evaluating
from fairalm.nn.surrogates import target_margin
from fairalm.progress import progress_bar

Maps = npt.NDArray[np.float32]
Mapper: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]  # from images to small maps and logits
COARSE = 4  # places per side
TOLERANCE = 1e-3  # relative to the largest logit: more than rounding explains


def maps(
    model: nn.Module,
    x: Tensor | npt.NDArray[np.floating[Any]] | Iterable[Any],
    *,
    target: Literal[0, 1] | None = 1,
    layer: str | None = None,
    batch_size: int = 64,
    progress: bool = False,
) -> Maps:
    """One map per image: how much each place adds to the logit of a label.

    A net whose logit is ``head(features(x).mean((2, 3)))``, with a linear head of weights w and bias b, gets its class
    activation map (CAM, Zhou et al. 2016), which is exact: ::

        map[place] = sum over channels c of w[c] * features[c, place],    mean over places = logit - b

    Other nets get Grad-CAM (Selvaraju et al. 2017) from captum: the same sum, with the mean gradient of the logit
    instead of w. Both are interpolated to the image's size and keep their sign: a negative place is evidence against
    the label. The logit is the net's only output or, of two, the second less the first.

    Parameters
    ----------
    model : nn.Module
        The net. It runs on its own device, in evaluation mode, and is not changed.
    x : float tensor or array of shape (n, channels, height, width), or iterable of such batches
        Images as the net takes them. If a batch is a tuple, its first part.
    target : {1, 0, None}
        The label: 1 is the (+) of the paper; None is the label that the net predicts for each image.
    layer : str, optional
        Grad-CAM at the output of this layer. If left out: CAM where it is exact, else Grad-CAM at the last
        convolution whose output has more than one place.
    batch_size, progress
        Images at a time, if `x` is one tensor, and whether to show a progress bar.

    Returns
    -------
    float32 array of shape (n, height, width)

    Examples
    --------
    The evidence is in the lower right corner:

    >>> net = nn.Sequential(nn.Conv2d(1, 1, 1, bias=False), nn.Flatten(), nn.Linear(4, 1))
    >>> net = net.requires_grad_(False)
    >>> _ = nn.init.ones_(net[0].weight), nn.init.ones_(net[2].weight)
    >>> maps(net, torch.tensor([[[[0.0, 0.0], [0.0, 1.0]]]])).tolist()
    [[[0.0, 0.0], [0.0, 1.0]]]
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"`model` must be a torch.nn.Module; got {type(model).__name__}.")
    if target not in (0, 1, None):
        raise InputError(f"`target` must be 1, 0 or None (what the net predicts); got {target!r}.")
    if isinstance(x, (np.ndarray, Tensor)):
        check_count("batch_size", batch_size, 1)
        x = torch.split(_check(torch.as_tensor(x)), batch_size)
    if not isinstance(x, Iterable):
        raise InputError(f"`x` must be a tensor or batches of them; got {type(x).__name__}.")
    where = usable_device(model, None)
    made: list[Maps] = []
    mapper: Mapper | None = None
    total = len(x) if isinstance(x, Sized) else None
    with evaluating(model), progress_bar(total, shown=progress, text="heat maps") as update:
        for i, batch in enumerate(x):
            images = _check(batch[0] if isinstance(batch, (tuple, list)) else batch).to(where)
            if mapper is None:
                mapper = _choose(model, layer, images[:1])
            small, logit = mapper(images)
            if i == 0:
                _check_places(small, images)
            positive = logit >= 0 if target is None else torch.full_like(logit, target, dtype=torch.bool)
            signed = torch.where(positive.view(-1, 1, 1, 1), small, -small)
            large = nn.functional.interpolate(signed, images.shape[2:], mode="bilinear", align_corners=False)
            if not bool(large.isfinite().all()):
                raise InputError("The maps have NaN or infinite values: check the net's inputs and weights.")
            made.append(large[:, 0].float().cpu().numpy())
            update(i + 1, "heat maps")
    if not made:
        raise InputError("There is no image: pass at least one.")
    return np.concatenate(made)


def _check(x: Any) -> Tensor:
    if not isinstance(x, Tensor) or x.ndim != 4 or not len(x):
        got = f"shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise InputError(f"Images must be a tensor of shape (n, channels, height, width), n > 0; got {got}.")
    if not x.is_floating_point():
        raise InputError(f"Images must be floats, scaled as in the training of the net; got {x.dtype}.")
    return x.detach()


def _check_places(small: Tensor, images: Tensor) -> None:
    if small.ndim != 4 or small[0].numel() < 2:
        raise InputError("The map would have one place: pass larger images, or name an earlier layer.")
    height, width = small.shape[2:]
    if min(height, width) < COARSE and (height, width) != images.shape[2:]:
        few = f"The maps have {height} × {width} places, too few to tell where a net looks"
        warnings.warn(f"{few}: pass larger images, or name an earlier layer.", FairALMWarning, stacklevel=3)


def _choose(model: nn.Module, layer: str | None, x: Tensor) -> Mapper:
    """CAM if no layer is named and the head takes the mean of the maps, tried on one image; else Grad-CAM."""
    if layer is None:
        head, features = getattr(model, "head", None), getattr(model, "features", None)
        if isinstance(head, nn.Linear) and callable(features) and _pools(model, features, head, x):
            return _cam(features, head)
        layer = _last_convolution(model, x)
    named = dict(model.named_modules())
    if layer not in named:
        raise InputError(f"The net has no layer {layer!r}: choose among {', '.join(filter(None, named))}.")
    return _grad_cam(model, named[layer])


@torch.no_grad()
def _pools(model: nn.Module, features: Callable[[Tensor], Tensor], head: nn.Linear, x: Tensor) -> bool:
    """Whether the head, applied to the mean over places, gives the logit."""
    logit, maps = _logit(model(x)), features(x)
    if maps.ndim != 4 or maps.shape[1] != head.in_features or head.out_features > 2:
        return False
    pooled = _logit(head(maps.mean((2, 3))))
    return bool((pooled - logit).abs().max() <= TOLERANCE * (1 + logit.abs().max()))


def _cam(features: Callable[[Tensor], Tensor], head: nn.Linear) -> Mapper:
    weight = head.weight[0] if head.out_features == 1 else head.weight[1] - head.weight[0]

    @torch.no_grad()
    def cam(x: Tensor) -> tuple[Tensor, Tensor]:
        maps = features(x)
        return torch.einsum("c,nchw->nhw", weight, maps)[:, None], _logit(head(maps.mean((2, 3))))

    return cam


def _grad_cam(model: nn.Module, layer: nn.Module) -> Mapper:
    try:
        from captum.attr import LayerGradCam
    except ImportError as error:
        raise ImportError('Grad-CAM needs captum: pip install "fairalm[vision]".') from error
    logits: list[Tensor] = []

    def forward(x: Tensor) -> Tensor:
        logits[:] = [_logit(model(x))]
        return logits[0]

    attribution = LayerGradCam(forward, layer)

    @torch.enable_grad()
    def grad_cam(x: Tensor) -> tuple[Tensor, Tensor]:
        small: Tensor = attribution.attribute(x)  # signed: captum's default, unlike the Grad-CAM paper
        return small.detach(), logits.pop().detach()

    return grad_cam


def _logit(outputs: Tensor) -> Tensor:
    if outputs.ndim not in (1, 2) or (outputs.ndim == 2 and outputs.shape[1] > 2):
        raise InputError(f"The net must return one logit or two per image; got shape {tuple(outputs.shape)}.")
    return target_margin(outputs, 1)


def _last_convolution(model: nn.Module, x: Tensor) -> str:
    """Name of the last convolution that runs and whose output has more than one place."""
    ran: list[str] = []

    def note(name: str, output: Tensor) -> None:
        if output[0, 0].numel() > 1:
            ran.append(name)

    handles = [
        module.register_forward_hook(lambda _, __, output, name=name: note(name, output))
        for name, module in model.named_modules()
        if isinstance(module, nn.Conv2d)
    ]
    try:
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
    if len(set(ran)) < len(ran):
        twice = "The net runs a convolution twice per image, so one map would not show all that it uses"
        raise InputError(f"{twice}: use another net, such as efficientnet-lite0.")
    if not ran:
        raise InputError("The net has no convolution with more than one place, so it has no map: use another net.")
    return ran[-1]
