"""Saving and loading models, without pickle."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator

from fairalm.exceptions import InputError
from fairalm.files import AnyPath, read_json, write_atomic, write_json

#: Types that models need and skops does not trust by itself. Each was checked: none runs code.
TRUSTED = (
    "fairalm.datasets._preprocess.as_text",
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)


def save(model: Any, path: AnyPath) -> None:
    """Write a model, or plain data, to a file that :func:`load` reads.

    Parameters
    ----------
    model : scikit-learn estimator or JSON data
        A :class:`fairalm.FairALMClassifier`, any other scikit-learn model, or dicts, lists, text and numbers.
    path : path
        ``.skops`` for a model, ``.json`` for plain data. An existing file is replaced; a failure leaves it as it was.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fairalm import load, save
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "settings.json"
    >>> save({"tol": 0.01, "gap": float("nan")}, path)
    >>> load(path)
    {'tol': 0.01, 'gap': None}
    >>> folder.cleanup()
    """
    suffix = _suffix(path)
    if isinstance(model, BaseEstimator) != (suffix == ".skops"):
        fits = ".skops" if isinstance(model, BaseEstimator) else ".json"
        raise InputError(f"A {type(model).__name__} is saved in a {fits} file; got {Path(path).name!r}.")
    if suffix == ".json":
        write_json(path, model)
        return
    import skops.io

    packed = _swap(model, pd.DataFrame, Columns.of)
    write_atomic(path, skops.io.dumps(packed, compression=zipfile.ZIP_DEFLATED))


def load(path: AnyPath, *, trusted: Sequence[str] = ()) -> Any:
    """Read what :func:`save` wrote. Never unpickles.

    Parameters
    ----------
    path : path
        A ``.skops`` or ``.json`` file.
    trusted : sequence of str
        Types to accept besides those of scikit-learn, numpy and fairalm: your own constraint, for example, as
        ``"my_module.MyConstraint"``.

    Returns
    -------
    object
        The model, or the data.
    """
    if _suffix(path) == ".json":
        return read_json(path)
    import skops.io

    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {path}: check the path.") from None

    try:
        unknown = skops.io.get_untrusted_types(data=content)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InputError(f"{path} is not a model that fairalm.save wrote.") from error
    refused = [name for name in unknown if name not in trusted and not _is_trusted(name)]
    if refused:
        raise InputError(
            f"{path} holds {', '.join(refused)}, which fairalm does not know: if you trust the file and its source,"
            " pass {trusted}.",
            trusted=refused,
        )
    return _swap(skops.io.loads(content, trusted=unknown), Columns, Columns.frame)


def _suffix(path: AnyPath) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".skops", ".json"):
        raise InputError(f"{Path(path).name!r} must end in .skops (a model) or .json (plain data).")
    return suffix


def _is_trusted(name: str) -> bool:
    """Whether a type is in TRUSTED, or a dataclass or an estimator of fairalm."""
    module, _, attribute = name.rpartition(".")
    if name in TRUSTED or not module.startswith("fairalm."):
        return name in TRUSTED
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    if not isinstance(found, type) or found.__module__ != module:  # imported into the module
        return False
    return dataclasses.is_dataclass(found) or issubclass(found, BaseEstimator)


@dataclasses.dataclass(frozen=True, eq=False)
class Columns:
    """A data frame of numpy columns, in a form that skops can write."""

    names: list[str]
    values: list[npt.NDArray[Any]]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Columns:
        """The columns of a frame."""
        return cls(list(frame.columns), [frame[name].to_numpy() for name in frame.columns])

    def frame(self) -> pd.DataFrame:
        """The data frame again."""
        return pd.DataFrame(dict(zip(self.names, self.values, strict=True)))


def _swap(model: Any, kind: type, convert: Any) -> Any:
    """A copy of the model with every part of one type converted; the model itself if it has none."""
    memo: dict[int, Any] = {id(part): convert(part) for part in _parts(model, kind, set())}
    return copy.deepcopy(model, memo) if memo else model


def _parts(value: Any, kind: type, seen: set[int]) -> Iterator[Any]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, kind):
        yield value
        return
    inside: Any = ()
    if isinstance(value, BaseEstimator):
        inside = vars(value).values()
    elif isinstance(value, dict):
        inside = value.values()
    elif isinstance(value, (list, tuple)):
        inside = value
    for part in inside:
        yield from _parts(part, kind, seen)
