"""Reading what runs record: folders of ``fairalm train``, files of ``compare`` and ``demo``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairalm.exceptions import InputError
from fairalm.files import LDA, METRICS, AnyPath, to_json
from fairalm.json_reader import read_json
from fairalm.manifest import MANIFEST, check_manifest

RunSource = AnyPath | Mapping[str, Any]
FAIRALM_MODEL, PLAIN_MODEL, OTHER_MODEL = "fairalm", "plain", "other"  # kinds of models
ASKED = ("ratio", "reference", "folds", "acceptance", "cost_fp", "cost_fn", "floor")  # of a frontier
SETTINGS = (
    *("constraint", "tol", *ASKED, "estimator", "method", "eta", "predictor", "dual_signal", "max_iter", "epochs"),
    *("batch_size", "with_protected", "test_size", "seed"),
)
NOT_OF_PLAIN = {"constraint", "tol", *ASKED, "method", "eta", "predictor", "dual_signal", "max_iter"}


@dataclass(frozen=True)
class ModelRecord:
    """One model as its run records it, with no figure suppressed yet."""

    name: str
    kind: str
    splits: Mapping[str, Any]
    settings: Mapping[str, Any]
    history: Mapping[str, Any]
    seconds: float | None = None
    history_of: str = "train"  # the split that the curves are of
    warnings: Sequence[str] = ()  # of its training
    changes: Mapping[str, Any] | None = None  # from the plain model to this one, paired; None if not recorded


@dataclass(frozen=True)
class RunRecord:
    """One run and its models."""

    name: str
    folder: Path | None  # None if it is not on disk
    metrics: Mapping[str, Any]
    models: list[ModelRecord]

    @property
    def label(self) -> str:
        """The positive label in words: "income = >50K"."""
        config = self.metrics["config"]
        return f"{config['target']} = {config['positive']}"

    @property
    def rows_are(self) -> str:
        """What the rows are, in the plural."""
        return str(self.metrics["config"].get("rows_are", "people"))

    @property
    def attributes(self) -> list[list[str]]:
        """The groups of each attribute; one list if they are crossed."""
        entry = self.models[0].splits["test"]
        return entry.get("attributes") or [list(entry["groups"])]


def model_name(method: str, kind: str) -> str:
    """What a model is called on the page.

    >>> model_name("secant", FAIRALM_MODEL), model_name("plain", PLAIN_MODEL)
    ('fair model (secant)', 'plain model')
    """
    if kind == PLAIN_MODEL:
        return "plain model" if method == PLAIN_MODEL else f"plain model ({method})"
    return f"{'fair' if kind == FAIRALM_MODEL else 'other'} model ({method})"


def read_runs(sources: Iterable[RunSource]) -> list[RunRecord]:
    """Read every run: a folder with a metrics.json, such a file under another name, or its content."""
    runs = [_read(source) for source in sources]
    if not runs:
        raise InputError("There is no run: name at least one folder that fairalm train wrote.")
    return runs


def _read(source: RunSource) -> RunRecord:
    if isinstance(source, Mapping):
        metrics = json.loads(to_json(source))
        return RunRecord(metrics["data"]["name"], None, metrics, _models(metrics, metrics["data"]["name"]))
    path = Path(source)
    file = path / METRICS if path.is_dir() else path
    if not file.is_file():
        what = f"it has no {METRICS}" if path.is_dir() else "there is no such file or folder"
        if (path / LDA).is_file():
            raise InputError(f"{path} is a search for alternatives: its page is {path / 'lda.html'}.")
        raise InputError(f"{path} is not a run of fairalm: {what}.")
    if (file.parent / MANIFEST).is_file():
        check_manifest(file.parent, [file.name])
    which = "name a folder of fairalm train, or the .json of fairalm compare or demo"
    if file.suffix != ".json":
        raise InputError(f"{file} does not say what a report needs: {which}.")
    metrics = read_json(file, "metrics", advice=f"a report needs one that fairalm wrote: {which}")
    name = (path if path.is_dir() else path.with_suffix("")).resolve().name
    return RunRecord(name, file.parent, metrics, _models(metrics, str(file)))


def _models(metrics: Mapping[str, Any], name: str) -> list[ModelRecord]:
    models = _compared(metrics) if "runs" in metrics else _trained(metrics)
    if not models or not all("test" in model.splits for model in models):
        raise InputError(f"{name} has no figures per group on test data: run the command that wrote it again.")
    return models


def _settings(config: Mapping[str, Any], kind: str) -> dict[str, Any]:
    left_out = NOT_OF_PLAIN if kind == PLAIN_MODEL else ()
    return {name: config[name] for name in SETTINGS if config.get(name) is not None and name not in left_out}


def _trained(metrics: Mapping[str, Any]) -> list[ModelRecord]:
    """The fair model of ``fairalm train``, and the plain one if it is there."""
    config, training, plain = metrics["config"], metrics.get("training", {}), metrics.get("plain")
    fair_settings, plain_settings = (_settings(config, kind) for kind in (FAIRALM_MODEL, PLAIN_MODEL))
    history = metrics.get("history", {})
    fair: Any = {"seconds": training.get("seconds"), "warnings": training.get("warnings", ())}
    fair |= {"changes": metrics.get("changes")}
    name = model_name(config["method"], FAIRALM_MODEL)
    models = [ModelRecord(name, FAIRALM_MODEL, metrics["splits"], fair_settings, history, **fair)]
    if plain:
        name = model_name(PLAIN_MODEL, PLAIN_MODEL)
        models.append(ModelRecord(name, PLAIN_MODEL, plain["splits"], plain_settings, {}, plain["seconds"]))
    return models


def _compared(metrics: Mapping[str, Any]) -> list[ModelRecord]:
    """The models of ``fairalm compare`` or ``demo``, one per method and seed."""
    n_seeds = len({single["seed"] for single in metrics["runs"]} - {None})
    models = []
    for single in metrics["runs"]:
        method, seed = single["method"], single["seed"]
        kind = single.get("kind") or _kind(method)
        name = method if "kind" in single else model_name(method, kind)  # an experiment names its models itself
        name += f", seed {seed}" if n_seeds > 1 and seed is not None else ""
        settings = _settings({**metrics["config"], "method": method, "seed": seed}, kind) | single.get("settings", {})
        splits, history, seconds = single.get("splits", {}), single.get("history", {}), single["seconds"]
        more: Any = {"history_of": single.get("history_of", "train"), "warnings": single.get("warnings", ())}
        more |= {"changes": single.get("changes")}
        models.append(ModelRecord(name, kind, splits, settings, history, seconds, **more))
    return models


def _kind(method: str) -> str:
    if method == "plain":
        return PLAIN_MODEL
    return OTHER_MODEL if method.startswith("fairlearn") else FAIRALM_MODEL
