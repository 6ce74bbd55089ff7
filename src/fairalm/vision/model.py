"""A trained net for pictures, with all that it takes to use it again."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor, nn

from fairalm._validation import FloatArray
from fairalm.datasets.images import ImageDataset
from fairalm.exceptions import InputError
from fairalm.files import AnyPath, read_json, write_atomic, write_json
from fairalm.nn.checkpoint import to_bytes
from fairalm.nn.modes import evaluating
from fairalm.vision.loader import Pixels, Scale
from fairalm.vision.nets import make_net

SCHEMA = 1
SETTINGS, WEIGHTS, HISTORY = "settings.json", "model.pt", "history.json"
BATCH_SIZE = 256  # pictures looked at in one go; it does not change what is predicted
Pictures: TypeAlias = ImageDataset | Pixels


@dataclass(frozen=True, eq=False)
class PictureModel:
    """A net that predicts one of two labels of a picture; it needs no group for that.

    Attributes
    ----------
    net : torch.nn.Module
        Gives the logit of the positive label, in evaluation mode.
    settings : dict
        What it was made with: net, size, channels, scale of the pixels, labels, groups, criterion, rule, data.
    history : pandas.DataFrame
        One row per epoch, see :class:`fairalm.nn.Trainer`; of a last layer, one row per round.
    chosen : int
        The row whose weights these are; -1 for a last layer that was found beside the rounds.

    Examples
    --------
    >>> from fairalm import Unconstrained
    >>> from fairalm.datasets.images import coloured_digits
    >>> from fairalm.vision.train import fit_pictures
    >>> data = coloured_digits(200)
    >>> model = fit_pictures(data, net="relu3", method=Unconstrained(), epochs=1)
    >>> model.predict(data).shape, model.predict_proba(data).shape
    ((200,), (200, 2))
    """

    net: nn.Module
    settings: dict[str, Any]
    history: pd.DataFrame
    chosen: int

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The two labels, in the order of the columns of :meth:`predict_proba`."""
        return np.sort(np.array([self.settings["negative"], self.settings["positive"]]))

    def predict(self, pictures: Pictures) -> npt.NDArray[Any]:
        """The label of each picture, as it was called in training."""
        labels = np.array([self.settings["negative"], self.settings["positive"]])
        found: npt.NDArray[Any] = labels[(self.logits(pictures) > 0).astype(int)]
        return found

    def predict_proba(self, pictures: Pictures) -> FloatArray:
        """Sigmoids of the logits. They come from a penalised loss and are not calibrated."""
        share = 1.0 / (1.0 + np.exp(-self.logits(pictures)))
        both = np.stack([1.0 - share, share], axis=1)
        return both if self.classes_[1] == self.settings["positive"] else both[:, ::-1]

    @torch.no_grad()
    def logits(self, pictures: Pictures) -> FloatArray:
        """The logit of the positive label of each picture."""
        with evaluating(self.net):
            found = [self.net(x)[:, 0].cpu() for x in self.batches(pictures)]
        return torch.cat(found).double().numpy() if found else np.zeros(0)

    def batches(self, pictures: Pictures) -> Iterator[Tensor]:
        """The pictures as the net takes them, on its device, some at a time."""
        pixels: Any = pictures.pixels if isinstance(pictures, ImageDataset) else pictures
        size, channels = self.settings["size"], self.settings["channels"]
        if getattr(pixels, "dtype", None) != np.uint8 or pixels.shape[1:] != (size, size, channels):
            came = f"{getattr(pixels, 'dtype', type(pixels).__name__)} {getattr(pixels, 'shape', '')}".strip()
            raise InputError(
                f"The net takes pictures as uint8 of shape (n, {size}, {size}, {channels}); got {came}: read them with"
                f" size={size}."
            )
        scale = Scale(tuple(self.settings["mean"]), tuple(self.settings["std"]))
        device = next(self.net.parameters()).device
        for start in range(0, len(pixels), BATCH_SIZE):
            yield scale.tensor(pixels[start : start + BATCH_SIZE]).to(device)

    def save(self, folder: AnyPath) -> None:
        """Write what :func:`load_run` reads: model.pt, history.json and, last, settings.json."""
        folder = Path(folder)
        write_atomic(folder / WEIGHTS, to_bytes(self.net.state_dict()))
        write_json(folder / HISTORY, self.history.to_dict("list"))
        write_settings(folder, self.settings, self.chosen)


def write_settings(folder: Path, settings: dict[str, Any], chosen: int | None) -> None:
    """Write the settings of a run; `chosen` is None until it has ended."""
    write_json(folder / SETTINGS, {"schema": SCHEMA, "chosen": chosen, **settings})


def read_settings(folder: Path) -> tuple[dict[str, Any], int | None]:
    """What :func:`write_settings` wrote."""
    if not (folder / SETTINGS).is_file():
        raise InputError(f"{folder} holds no net for pictures: it has no {SETTINGS}.")
    settings = read_json(folder / SETTINGS)
    if not isinstance(settings, dict) or settings.get("schema") != SCHEMA or "net" not in settings:
        raise InputError(f"{folder / SETTINGS} was not written by this version of fairalm: train again.")
    chosen = settings.pop("chosen")
    del settings["schema"]
    return settings, chosen


def load_run(folder: AnyPath) -> tuple[PictureModel, dict[str, Any]]:
    """Read a net for pictures from a folder, without running code from it.

    Parameters
    ----------
    folder : path
        Of ``fairalm train``, of :func:`fairalm.vision.train.fit_pictures` or of :meth:`PictureModel.save`.

    Returns
    -------
    model : PictureModel
        On the CPU.
    settings : dict
        Its settings.

    Examples
    --------
    >>> import tempfile
    >>> from fairalm import Unconstrained
    >>> from fairalm.datasets.images import coloured_digits
    >>> from fairalm.vision.train import fit_pictures
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = fit_pictures(coloured_digits(), net="relu3", method=Unconstrained(), epochs=1, folder=folder)
    ...     settings = load_run(folder)[1]
    >>> settings["net"], settings["groups"]
    ('relu3', ['blue', 'red'])
    """
    folder = Path(folder)
    settings, chosen = read_settings(folder)
    if chosen is None:
        raise InputError(f"The training in {folder} has not ended: go on with resume=True.")
    net = make_net(settings["net"], in_channels=settings["channels"], size=settings["size"])
    try:
        net.load_state_dict(torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True))
    except (RuntimeError, OSError, EOFError, KeyError, TypeError, pickle.UnpicklingError) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"{folder / WEIGHTS} cannot be read as the weights of a {settings['net']} ({reason})."
        ) from error
    history = pd.DataFrame(read_json(folder / HISTORY)).apply(pd.to_numeric)
    return PictureModel(net.eval(), settings, history, chosen), settings
