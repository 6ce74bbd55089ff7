"""The inputs of a net's last layer, computed once: in memory, or in a folder from which an interrupted run resumes."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.data import RandomSampler

from fairalm.arrays import IntArray
from fairalm.exceptions import InputError
from fairalm.files import AnyPath, write_atomic
from fairalm.nn.checks import usable_device
from fairalm.nn.head import find_head
from fairalm.progress import progress_bar

TOLERANCE = 1e-3  # relative to the largest feature: devices and versions differ by less, other nets by more


@dataclass(frozen=True, eq=False)
class Features:
    """The inputs of a net's last layer, with labels and groups: one row per sample."""

    x: Tensor  # float32, of shape (n, features)
    y: IntArray  # 0 or 1
    group: IntArray  # 0..K-1

    def __post_init__(self) -> None:
        _check_rows(self.y, self.group)
        if self.x.ndim != 2 or len(self.x) != len(self.y):
            raise InputError(f"Features must have one row per label ({len(self.y)}); got {tuple(self.x.shape)}.")
        if not bool(self.x.isfinite().all()):
            raise InputError("The features have NaN or infinite values: look at the net's inputs and weights.")


def compute_features(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    head: str | None = None,
    cache: AnyPath | None = None,
    progress: bool = False,
    device: torch.device | str | None = None,
) -> Features:
    """Run a net over a loader and keep the inputs of its last layer.

    Parameters
    ----------
    model : nn.Module
        The net. A copy of it runs, in evaluation mode.
    loader : iterable of (x, y, group)
        Batches. `x` is the net's input: a tensor, a tuple of arguments or a mapping of named ones.
    head : str, optional
        Name of the last layer; the only `nn.Linear` with one or two outputs if left out.
    cache : folder, optional
        Each batch's features are written there, and a second run resumes where the first one stopped. A folder with
        features of another net or of other data is refused.
    progress : bool
        Show a progress bar.
    device : device, optional
        Where to run; where the net is if left out.

    Examples
    --------
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> rows = TensorDataset(torch.randn(50, 3), torch.tensor([0, 1] * 25), torch.tensor([0, 0, 1, 1, 1] * 10))
    >>> compute_features(net, DataLoader(rows, batch_size=16)).x.shape
    torch.Size([50, 8])
    """
    name = find_head(model, head)
    if not isinstance(loader, Iterable) or isinstance(loader, (str, Mapping)):
        raise InputError(f"The loader must yield batches of (x, y, group); got {type(loader).__name__}.")
    if cache is not None and isinstance(getattr(loader, "sampler", None), RandomSampler):
        raise InputError("A loader that shuffles cannot be resumed from `cache`: pass one with shuffle=False.")
    where = usable_device(model, device)
    net = copy.deepcopy(model).to(where).eval()

    def run(x: Any, n_rows: int) -> Tensor:
        return _run(net, name, _to(x, where), n_rows)

    folder = None if cache is None else Cache(Path(cache), fingerprint(net, name), run)
    batches: list[Features] = []
    total = len(loader) if isinstance(loader, Sized) else None
    with progress_bar(total, shown=progress, text="features") as update:
        for i, batch in enumerate(loader):
            x, y, group = _unpack(batch)
            features = run(x, len(y)) if folder is None else folder.get(i, x, len(y))
            batches.append(Features(features, y, group))
            update(i + 1, "features")
    if not batches:
        raise InputError("The loader is empty: pass one with at least one batch.")
    y, group = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("y", "group"))
    return Features(torch.cat([batch.x for batch in batches]), y, group)


def fingerprint(net: nn.Module, head: str) -> str:
    """A digest of the whole net except the weights of the head."""
    digest = hashlib.sha256(repr(net).encode())
    own = f"{head}." if head else ""
    for key, value in net.state_dict().items():
        if own and key.startswith(own):
            continue
        digest.update(key.encode())
        _feed(digest, value)
    return digest.hexdigest()


class Cache:
    """A folder with one file per batch, written atomically, each with the digests of its net and its inputs."""

    def __init__(self, folder: Path, net: str, run: Callable[[Any, int], Tensor]) -> None:
        if folder.is_file():
            raise InputError(f"`cache` must be a folder; {folder} is a file.")
        self.folder, self.net, self.run = folder, net, run

    def get(self, i: int, x: Any, n_rows: int) -> Tensor:
        """The features of batch `i`: read, or computed and written."""
        from safetensors.torch import save

        path = self.folder / f"{i:06d}.safetensors"
        inputs = _digest(x)
        if path.is_file():
            found = self._read(path, inputs)
            if i == 0:  # the net's code can change while its weights do not: compare one batch
                self._compare(found, self.run(x, n_rows))
            return found
        features = self.run(x, n_rows)
        metadata = {"net": self.net, "inputs": inputs, "features": _digest(features)}
        write_atomic(path, save({"features": features.contiguous()}, metadata=metadata))
        return features

    def _read(self, path: Path, inputs: str) -> Tensor:
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
                features: Tensor = file.get_tensor("features")
        except SafetensorError as error:
            raise InputError(f"{path} is not a file of features ({error}): delete it.") from error
        if metadata.get("net") != self.net:
            raise self._refusal("another net")
        if metadata.get("inputs") != inputs:
            raise self._refusal(f"other data (batch {int(path.stem)} differs: other rows, order or batch size)")
        if metadata.get("features") != _digest(features):
            raise InputError(f"{path} is not as fairalm wrote it: delete it.")
        return features

    def _compare(self, found: Tensor, now: Tensor) -> None:
        if found.shape != now.shape or bool((found - now).abs().max() > TOLERANCE * (1e-6 + now.abs().max())):
            raise self._refusal("another net (the same weights give other features)")

    def _refusal(self, of_what: str) -> InputError:
        return InputError(f"{self.folder} holds features of {of_what}: choose another `cache` folder, or delete it.")


def _digest(value: Any) -> str:
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Add tensors, or tuples or mappings of them, to a digest."""
    if isinstance(value, Tensor):
        digest.update(f"{value.dtype}{tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    elif isinstance(value, Mapping):
        for key, item in value.items():
            digest.update(str(key).encode())
            _feed(digest, item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            _feed(digest, item)
    else:
        digest.update(repr(value).encode())


def _to(value: Any, where: Any) -> Any:
    if isinstance(value, Tensor):
        return value.to(where)
    if isinstance(value, Mapping):
        return {key: _to(item, where) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(_to(item, where) for item in value)
    return value


def _run(net: nn.Module, head: str, x: Any, n_rows: int) -> Tensor:
    """The head's inputs for one batch, as float32 on the CPU."""
    seen: list[Tensor] = []
    handle = net.get_submodule(head).register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    try:
        with torch.inference_mode():
            if isinstance(x, dict):
                net(**x)
            else:
                net(*(x if isinstance(x, tuple) else (x,)))
    finally:
        handle.remove()
    if len(seen) != 1 or seen[0].ndim != 2 or len(seen[0]) != n_rows:
        shapes = ", ".join(str(tuple(each.shape)) for each in seen) or "nothing"
        wanted = f"The head {head!r} must get one row of features per sample ({n_rows} in this batch)"
        raise InputError(f"{wanted}; it got {shapes}: name the last layer with `head`.")
    features = seen[0].to("cpu", torch.float32).clone()  # no longer an inference tensor: autograd may use it
    if not bool(features.isfinite().all()):
        raise InputError("The features have NaN or infinite values: look at the net's inputs and weights.")
    return features


def _unpack(batch: Any) -> tuple[Any, IntArray, IntArray]:
    if not isinstance(batch, (tuple, list)) or len(batch) != 3:
        got = f"{len(batch)} items" if isinstance(batch, (tuple, list)) else type(batch).__name__
        raise InputError(f"A batch must be (x, y, group); got {got}.")
    y, group = (torch.as_tensor(part).detach().cpu().reshape(-1).numpy() for part in batch[1:])
    _check_rows(y, group)  # before the net runs
    return batch[0], y.astype(np.int64), group.astype(np.int64)


def _check_rows(y: npt.NDArray[Any], group: npt.NDArray[Any]) -> None:
    if y.ndim != 1 or y.shape != group.shape or not len(y):
        raise InputError(f"There are {y.shape} labels and {group.shape} groups: pass one of each per row.")
    if not np.isin(y, (0, 1)).all():
        raise InputError(f"Labels must be 0 or 1; got {np.unique(y)[:5].tolist()}.")
    if group.dtype.kind not in "iu" or group.min() < 0:
        raise InputError(f"Groups must be integers from 0; got {group.dtype}, {group[:3].tolist()} first.")
