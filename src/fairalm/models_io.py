"""Saving and loading models, without pickle."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import io
import json
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

import sklearn
from fairalm.exceptions import InputError, VersionError
from fairalm.files import AnyPath, write_atomic
from fairalm.model_checks import check_arrays, check_schema, nodes_of
from fairalm.model_versions import RENAMED, check_version, repair
from fairalm.tree_checks import check_trees, parts_of

SCHEMA, ABOUT = "schema.json", "fairalm.json"  # in the file, which is a zip archive
#: Types that models need and skops does not trust by itself. Each was checked: none runs code.
TRUSTED = (
    "fairalm.datasets._preprocess.as_text",
    "numpy.dtype",
    "sklearn._loss._loss.CyHalfBinomialLoss",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)


def save(model: BaseEstimator, path: AnyPath) -> None:
    """Write a model to a file that :func:`load` reads.

    Parameters
    ----------
    model : scikit-learn estimator
        A :class:`fairalm.FairALMClassifier`, or any other model.
    path : path
        A ``.skops`` file. An existing one is replaced; a failure leaves it as it was.
    """
    if not isinstance(model, BaseEstimator):
        raise InputError(f"Only scikit-learn models can be saved; got a {type(model).__name__}.")
    _check_suffix(path)
    import skops.io

    packed = _swap(model, pd.DataFrame, Columns.of)
    content = io.BytesIO(skops.io.dumps(packed, compression=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(ABOUT, json.dumps({"scikit-learn": sklearn.__version__}))
    write_atomic(path, content.getvalue())


def load(path: AnyPath, *, trusted: Sequence[str] = ()) -> Any:
    """Read a model that :func:`save` wrote. Never unpickles.

    Parameters
    ----------
    path : path
        A ``.skops`` file.
    trusted : sequence of str
        Types to accept besides those of scikit-learn, numpy and fairalm: your own constraint, for example, as
        ``"my_module.MyConstraint"``.
    """
    _check_suffix(path)
    import skops.io

    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {path}: check the path.") from None
    with _reading(path):
        content = _checked(content)
        unknown = skops.io.get_untrusted_types(data=content)
    refused = [name for name in unknown if name not in trusted and not _is_trusted(name)]
    if refused:
        raise InputError(
            f"{path} holds {', '.join(refused)}, which fairalm does not know: if you trust the file and its source,"
            " pass {trusted}.",
            trusted=refused,
        )
    with _reading(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # checked above
        model = _swap(skops.io.loads(content, trusted=unknown), Columns, Columns.frame)
        repair(model)
        check_trees(model)
        check_arrays(model)
    return model


def _checked(content: bytes) -> bytes:
    """The content of a model file, with modules called as they are in this scikit-learn.

    A file of another version that is not known to work is refused, and one that describes impossible trees.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if ABOUT in archive.namelist():
            check_version(str(json.loads(archive.read(ABOUT))["scikit-learn"]))
        schema = json.loads(archive.read(SCHEMA))
        check_schema(schema, archive)
        renamable = [node for node in nodes_of(schema) if node.get("__module__") in RENAMED]
        if not renamable:
            return content
        for node in renamable:
            node["__module__"] = RENAMED[node["__module__"]]
        renamed = io.BytesIO()
        with zipfile.ZipFile(renamed, "w") as copied:
            for name in archive.namelist():
                copied.writestr(name, json.dumps(schema) if name == SCHEMA else archive.read(name))
    return renamed.getvalue()


@contextmanager
def _reading(path: AnyPath) -> Iterator[None]:
    """Turn whatever a damaged file makes its readers raise into a sentence that names the file."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ImportError) and "pip install" in str(error):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        if isinstance(error, VersionError):
            raise VersionError(f"{path} cannot be used: {reason}.") from error
        raise InputError(f"{path} is not a model that this fairalm can read ({reason}).") from error


def _check_suffix(path: AnyPath) -> None:
    if Path(path).suffix.lower() != ".skops":
        raise InputError(f"{Path(path).name!r} must end in .skops.")


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
    memo: dict[int, Any] = {id(part): convert(part) for part in parts_of(model) if isinstance(part, kind)}
    return copy.deepcopy(model, memo) if memo else model
