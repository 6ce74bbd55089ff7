"""A trained net for images, with everything that is needed to use it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor, nn

from fairalm.arrays import FloatArray
from fairalm.datasets.images import ImageDataset
from fairalm.exceptions import InputError
from fairalm.files import AnyPath, write_atomic, write_json
from fairalm.json_reader import RESTORE, read_json
from fairalm.manifest import check_manifest, digest_of, write_manifest
from fairalm.nn.checkpoint import load_tensors, reading, to_bytes
from fairalm.nn.modes import evaluating
from fairalm.vision.image_batches import Pixels, Scale
from fairalm.vision.nets import make_net
from fairalm.vision.run_settings import read_settings, write_settings

WEIGHTS, HISTORY = "model.pt", "history.json"
BATCH_SIZE = 256  # images run at a time; it does not change the predictions
Images: TypeAlias = ImageDataset | Pixels


@dataclass(frozen=True, eq=False)
class ImageModel:
    """A net that predicts one of two labels for an image; it needs no group to predict.

    Attributes
    ----------
    net : torch.nn.Module
        Returns the logit of the positive label, in evaluation mode.
    settings : dict
        How it was made: net, size, channels, scale of the pixels, labels, groups, constraint, method, data.
    history : pandas.DataFrame
        One row per epoch, see :class:`fairalm.nn.Trainer`; for a last layer, one row per round.
    chosen : int
        The row whose weights these are; -1 for a last layer that none of the rounds has.

    Examples
    --------
    >>> from fairalm import Unconstrained
    >>> from fairalm.datasets.images import coloured_digits
    >>> from fairalm.vision.training import fit_images
    >>> data = coloured_digits(200)
    >>> model = fit_images(data, net="relu3", method=Unconstrained(), epochs=1)
    >>> model.predict(data).shape, model.predict_proba(data).shape
    ((200,), (200, 2))
    """

    net: nn.Module
    settings: dict[str, Any]
    history: pd.DataFrame
    chosen: int

    @property
    def labels(self) -> npt.NDArray[Any]:
        """The two labels, the positive one last."""
        return np.array([self.settings["negative"], self.settings["positive"]])

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The two labels, in the order of the columns of :meth:`predict_proba`."""
        return np.sort(self.labels)

    def predict(self, images: Images) -> npt.NDArray[Any]:
        """The label of each image, as named in the training data."""
        predicted: npt.NDArray[Any] = self.labels[(self.logits(images) > 0).astype(int)]
        return predicted

    def predict_proba(self, images: Images) -> FloatArray:
        """Sigmoids of the logits. They come from a penalised loss and are not calibrated."""
        share = 1.0 / (1.0 + np.exp(-self.logits(images)))
        both = np.stack([1.0 - share, share], axis=1)
        return both if self.classes_[1] == self.labels[1] else both[:, ::-1]

    @torch.no_grad()
    def logits(self, images: Images) -> FloatArray:
        """The logit of the positive label for each image."""
        with evaluating(self.net):
            logits = [self.net(x)[:, 0].cpu() for x in self.batches(images)]
        return torch.cat(logits).double().numpy() if logits else np.zeros(0)

    def batches(self, images: Images) -> Iterator[Tensor]:
        """The images in batches, scaled as the net expects them, on its device."""
        pixels: Any = images.pixels if isinstance(images, ImageDataset) else images
        size, channels = self.settings["size"], self.settings["channels"]
        if getattr(pixels, "dtype", None) != np.uint8 or pixels.shape[1:] != (size, size, channels):
            got = f"{getattr(pixels, 'dtype', type(pixels).__name__)} {getattr(pixels, 'shape', '')}".strip()
            wanted = f"uint8 of shape (n, {size}, {size}, {channels})"
            raise InputError(f"The net takes images as {wanted}; got {got}: read them with size={size}.")
        scale = Scale(tuple(self.settings["mean"]), tuple(self.settings["std"]))
        device = next(self.net.parameters()).device
        for start in range(0, len(pixels), BATCH_SIZE):
            yield scale.tensor(pixels[start : start + BATCH_SIZE]).to(device)

    def save(self, folder: AnyPath) -> None:
        """Write model.pt, history.json, manifest.json and, last, settings.json; :func:`load_image_model` reads them."""
        folder = Path(folder)
        write_atomic(folder / WEIGHTS, to_bytes(self.net.state_dict()))
        write_json(folder / HISTORY, self.history.to_dict("list"))
        made_from: Any = {"data": digest_of(self.settings["data"]), "settings": self.settings}
        write_manifest(folder, **made_from, names=(WEIGHTS, HISTORY))
        write_settings(folder, self.settings, self.chosen)


def load_image_model(folder: AnyPath) -> ImageModel:
    """Read an image model from a folder, without running code from it; the net is on the CPU.

    The folder is one of ``fairalm train``, :func:`fairalm.vision.training.fit_images` or :meth:`ImageModel.save`.

    Examples
    --------
    >>> import tempfile
    >>> from fairalm import Unconstrained
    >>> from fairalm.datasets.images import coloured_digits
    >>> from fairalm.vision.training import fit_images
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = fit_images(coloured_digits(), net="relu3", method=Unconstrained(), epochs=1, folder=folder)
    ...     settings = load_image_model(folder).settings
    >>> settings["net"], settings["groups"]
    ('relu3', ['blue', 'red'])
    """
    folder = Path(folder)
    settings, chosen = read_settings(folder)
    if chosen is None:
        raise InputError(f"The training in {folder} has not finished: pass {{resume}} to continue it.", resume=True)
    check_manifest(folder, (WEIGHTS, HISTORY))
    net = make_net(settings["net"], in_channels=settings["channels"], size=settings["size"])
    path, what = folder / WEIGHTS, f"the weights of a {settings['net']}"
    weights = load_tensors(path, what)
    with reading(path, what):
        net.load_state_dict(weights)
    columns = read_json(folder / HISTORY, "history")
    if len({len(column) for column in columns.values()}) > 1:
        raise InputError(f"{folder / HISTORY} cannot be used: its columns differ in length; {RESTORE}.")
    history = pd.DataFrame(columns).apply(pd.to_numeric)
    return ImageModel(net.eval(), settings, history, chosen)
