"""What the estimators here share: columns and settings as Spark's params, and how they are written and read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pyspark.ml import Estimator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasSeed, HasWeightCol
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from fairalm.constraints import Constraint
from fairalm.exceptions import InputError
from fairalm.methods import Method
from fairalm.spark.frame import Columns

OBJECTS = ("estimator", "membership", "constraint", "method")  # params that JSON cannot hold


class GroupParams(HasLabelCol, HasWeightCol, HasSeed):
    """Columns of label, weight and groups, and the constraint on the groups."""

    estimator: Param[Any] = Param(Params._dummy(), "estimator", "classifier to train")
    constraint: Param[Any] = Param(Params._dummy(), "constraint", "constraint with its tolerance, or its name")
    groupCols: Param[list[str]] = Param(
        Params._dummy(), "groupCols", "protected columns", typeConverter=TypeConverters.toListString
    )
    attributes: Param[str] = Param(
        Params._dummy(),
        "attributes",
        "several protected columns: compare the groups of all combinations (crossed), or each column (separate)",
        typeConverter=TypeConverters.toString,
    )

    def _columns(self) -> Columns:
        return Columns(self.getLabelCol(), tuple(self._given("groupCols") or ()), self._given("weightCol"))

    def _given(self, name: str) -> Any:
        """The value of a param; None if it has none."""
        return self.getOrDefault(name) if self.isDefined(name) else None

    def _set_given(self, **values: Any) -> None:
        """Set what is not None."""
        self._set(**{name: value for name, value in values.items() if value is not None})


def check_settings(owner: Params, expected: Mapping[str, tuple[bool, str]]) -> None:
    """Refuse a setting that does not hold, with what was expected of it."""
    for name, (holds, words) in expected.items():
        if not holds:
            raise InputError(
                f"The {name!r} parameter of {type(owner).__name__} must be {words}. Got {owner.getOrDefault(name)!r}"
                " instead."
            )


def to_plain(value: Any) -> Any:
    """A constraint, method or schedule as JSON can hold it: the name of its class and its settings."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        settings = {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"class": f"{type(value).__module__}.{type(value).__qualname__}", "settings": settings}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise InputError(f"{value!r} cannot be written: only dataclasses, lists, text and numbers can.")


def from_plain(value: Any) -> Any:
    """What :func:`to_plain` was given. Makes only what is a constraint, a method or a schedule."""
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    module, _, name = value["class"].rpartition(".")
    kind = getattr(import_module(module), name)
    if not (issubclass(kind, (Constraint, Method)) or kind.__module__ == "fairalm.schedules"):
        raise InputError(f"{value['class']} is not a constraint, a method or a schedule.")
    return kind(**{key: from_plain(item) for key, item in value["settings"].items()})


class ObjectWriter(MLWriter):
    """Writes an estimator whose params hold other estimators, constraints and methods."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write the metadata, and the other estimators beside it."""
        given = {param.name: value for param, value in self.instance.extractParamMap().items()}
        stages: dict[str, Any] = {name: value for name, value in given.items() if isinstance(value, Estimator)}
        objects = {name: to_plain(given[name]) for name in OBJECTS if name in given and name not in stages}
        extra = {"objects": objects, "stages": sorted(stages)}
        plain = {name: value for name, value in given.items() if name not in OBJECTS}
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sparkSession, extra, plain)
        for name, stage in stages.items():
            stage.save(f"{path}/{name}")


class ObjectReader(MLReader[Any]):
    """Reads what :class:`ObjectWriter` wrote."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """The estimator."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        instance = self.kind()
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        instance._set_given(**{name: from_plain(value) for name, value in metadata["objects"].items()})
        for name in metadata["stages"]:
            stage: Any = DefaultParamsReader.loadParamsInstance(f"{path}/{name}", self.sparkSession)
            instance._set_given(**{name: stage})
        return instance
