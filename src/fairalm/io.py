"""Files: models without pickle, JSON without NaN, and nothing half-written."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import importlib
import io
import json
import math
import os
import platform
import shutil
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator

from fairalm._validation import Groups
from fairalm.exceptions import InputError

SCHEMA = 1  # of metrics.json
METRICS = "metrics.json"  # the file that marks a folder as a run
AnyPath = str | os.PathLike[str]

#: What a model needs beyond what skops trusts by itself and our own classes; each was looked at, none runs code.
TRUSTED = (
    "fairalm.datasets._preprocess.as_text",
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)


def save(model: Any, path: AnyPath) -> None:
    """Write a model or plain data to a file that :func:`load` reads back.

    Parameters
    ----------
    model : scikit-learn estimator, or what JSON can hold
        A :class:`fairalm.FairALMClassifier`, any other scikit-learn model, or dicts, lists, text and numbers.
    path : path
        ``.skops`` for a model, ``.json`` for plain data. An existing file is replaced; a failure leaves it as it was.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fairalm.io import load, save
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
        Types to accept besides those of scikit-learn, numpy and fairalm: your own criterion, for example, as
        ``"my_module.MyCriterion"``.

    Returns
    -------
    object
        The model, or the data.
    """
    suffix = _suffix(path)
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {path}: check the path.") from None
    if suffix == ".json":
        try:
            return json.loads(content)
        except ValueError as error:
            raise InputError(f"{path} is not JSON ({error}).") from error
    import skops.io

    try:
        unknown = skops.io.get_untrusted_types(data=content)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InputError(f"{path} is not a model that fairalm.save wrote.") from error
    refused = [name for name in unknown if name not in trusted and not _is_trusted(name)]
    if refused:
        raise InputError(
            f"{path} holds {', '.join(refused)}, which is not trusted by itself: if you know where the file comes from,"
            f" pass trusted={refused!r}."
        )
    return _swap(skops.io.loads(content, trusted=unknown), Columns, Columns.frame)


def _suffix(path: AnyPath) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".skops", ".json"):
        raise InputError(f"{Path(path).name!r} must end in .skops (a model) or .json (plain data).")
    return suffix


def _is_trusted(name: str) -> bool:
    """Whether a type is on the list, or a settings class or estimator of ours."""
    module, _, attribute = name.rpartition(".")
    if name in TRUSTED or not module.startswith("fairalm."):
        return name in TRUSTED
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    if not isinstance(found, type) or found.__module__ != module:  # what the module only imports is not ours
        return False
    return dataclasses.is_dataclass(found) or issubclass(found, BaseEstimator)


@dataclasses.dataclass(frozen=True, eq=False)
class Columns:
    """A data frame of numpy columns in a form skops can write."""

    names: list[str]
    values: list[npt.NDArray[Any]]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Columns:
        """Take a frame apart."""
        return cls(list(frame.columns), [frame[name].to_numpy() for name in frame.columns])

    def frame(self) -> pd.DataFrame:
        """Put it together again."""
        return pd.DataFrame(dict(zip(self.names, self.values, strict=True)))


def _swap(model: Any, kind: type, convert: Any) -> Any:
    """Copy the model with every part of a kind converted; the model itself if it has none."""
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


def write_atomic(path: AnyPath, content: bytes) -> None:
    """Write beside and rename, so that the file is either the old one or all of the new one."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:  # the reader knows the file, not the part
        raise type(error)(error.errno, error.strerror, str(path)) from error
    finally:
        if part.is_file():
            part.unlink()


def write_png(path: AnyPath, figure: Any) -> None:
    """Write a matplotlib figure, all or nothing."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    write_atomic(path, content.getvalue())


def to_json(value: Any) -> str:
    """JSON text; NaN and infinities become null, numpy values their plain ones.

    >>> to_json({"a": np.float64("nan"), "b": (np.int64(1), True)})
    '{"a": null, "b": [1, true]}'
    """
    return json.dumps(_plain(value), allow_nan=False)


def write_json(path: AnyPath, value: Any) -> None:
    """Write JSON, indented."""
    write_atomic(path, (json.dumps(_plain(value), allow_nan=False, indent=1) + "\n").encode())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise InputError(f"A {type(value).__name__} cannot be written as JSON.")


def check_new_folder(path: AnyPath, *, overwrite: bool = False) -> None:
    """Refuse a folder that :func:`new_folder` would refuse."""
    path = Path(path)
    if path.is_symlink() or path.exists():
        is_run = path.is_dir() and not path.is_symlink() and ((path / METRICS).is_file() or not any(path.iterdir()))
        if not overwrite:
            raise InputError(f"{path} exists: choose another folder, or pass overwrite=True.")
        if not is_run:
            raise InputError(f"{path} is not a run of fairalm, so it is not overwritten: choose another folder.")


@contextmanager
def new_folder(path: AnyPath, *, overwrite: bool = False) -> Iterator[Path]:
    """Fill a folder beside `path` that takes its place when the block ends; after an error nothing is left of it.

    Parameters
    ----------
    path : path
        Where the folder shall be. If something is there already, that is an error.
    overwrite : bool
        Replace what is there, if it is a run (holds a metrics.json) or an empty folder.
    """
    path = Path(path)
    check_new_folder(path, overwrite=overwrite)
    made = [folder for folder in path.parents if not folder.exists()]
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        try:
            part.mkdir(parents=True)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(path)) from error
        yield part
        if path.is_dir():
            old = path.with_name(f"{part.name}.old")
            path.replace(old)
            part.replace(path)
            shutil.rmtree(old)
        else:
            part.replace(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        for folder in made:  # nearest first; only those we made, and only if empty
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        raise


def data_entry(name: str, frame: pd.DataFrame, labels: Any, groups: Groups) -> dict[str, Any]:
    """Return what metrics.json keeps under ``data``.

    Parameters
    ----------
    name : str
        Of the data set or file.
    frame : pandas.DataFrame
        Its content, for the fingerprint: the sha256 of the table as CSV, whatever file it came from.
    labels : array-like
        The label of each row, aligned with `groups`.
    groups : Groups
        The group of each row.
    """
    text = io.StringIO()
    frame.to_csv(text, index=False, lineterminator="\n")
    kept = groups.codes >= 0
    names = np.array(groups.names, dtype=object)[groups.codes[kept]]
    table = pd.crosstab(names, np.asarray(labels)[kept].astype(str))
    return {
        "name": name,
        "fingerprint": "sha256:" + hashlib.sha256(text.getvalue().encode("utf-8", "surrogatepass")).hexdigest(),
        "rows": len(frame),
        "groups": {str(group): row.to_dict() for group, row in table.iterrows()},
    }


def metrics(
    *, data: Mapping[str, Any], config: Mapping[str, Any], splits: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """Return the content of a metrics.json: these three, what else there is, and the versions it came from."""
    versions = {name: version(name) for name in ("fairalm", "scikit-learn", "numpy")}
    versions["python"] = platform.python_version()
    return {"schema": SCHEMA, "data": data, "config": config, "splits": splits, **more, "versions": versions}
