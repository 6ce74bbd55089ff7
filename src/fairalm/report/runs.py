"""Reading what runs keep: folders of ``fairalm train``, files of ``compare`` and ``demo``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairalm.exceptions import InputError
from fairalm.files import METRICS, AnyPath, read_json, to_json
from fairalm.runs.metrics import SCHEMA

Source = AnyPath | Mapping[str, Any]
PLAIN, OURS, OTHER = "plain", "fairalm", "other"  # kinds of models
SETTINGS = (
    *("constraint", "tol", "estimator", "method", "eta", "predictor", "dual_signal", "max_iter", "epochs"),
    *("batch_size", "with_protected", "test_size", "seed"),
)
NOT_PLAIN = {"constraint", "tol", "method", "eta", "predictor", "dual_signal", "max_iter"}


@dataclass(frozen=True)
class Model:
    """One model as its run keeps it; figures still to be suppressed."""

    name: str
    kind: str
    splits: Mapping[str, Any]
    settings: Mapping[str, Any]
    history: Mapping[str, Any]
    seconds: float | None = None
    history_of: str = "train"  # the split that the curves are of


@dataclass(frozen=True)
class Run:
    """One RUN of the command line."""

    name: str
    folder: Path | None  # None if it is not on disk
    metrics: Mapping[str, Any]
    models: list[Model] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The positive label in words: "income = >50K"."""
        config = self.metrics["config"]
        return f"{config['target']} = {config['positive']}"


def read_runs(sources: Iterable[Source]) -> list[Run]:
    """Read every run: a folder with a metrics.json, such a file under another name, or its content.

    Returns
    -------
    list of Run
        The models of a run in the order it has them; the plain one of ``fairalm train`` comes last.
    """
    runs = [_read(source) for source in sources]
    if not runs:
        raise InputError("There is no run: name at least one folder that fairalm train wrote.")
    return runs


def _read(source: Source) -> Run:
    if isinstance(source, Mapping):
        metrics = json.loads(to_json(source))
        return Run(metrics["data"]["name"], None, metrics, _models(metrics, metrics["data"]["name"]))
    path = Path(source)
    file = path / METRICS if path.is_dir() else path
    if not file.is_file():
        what = f"it has no {METRICS}" if path.is_dir() else "there is no such file or folder"
        raise InputError(f"{path} is not a run of fairalm: {what}.")
    metrics = read_json(file) if file.suffix == ".json" else None
    if not isinstance(metrics, dict) or metrics.get("schema") != SCHEMA or "constraint" not in metrics["config"]:
        raise InputError(
            f"{file} does not say what a report needs: name a folder of fairalm train, or the .json of fairalm"
            " compare or demo."
        )
    name = (path if path.is_dir() else path.with_suffix("")).resolve().name
    return Run(name, file.parent, metrics, _models(metrics, str(file)))


def _models(metrics: Mapping[str, Any], name: str) -> list[Model]:
    models = _compared(metrics) if "runs" in metrics else _trained(metrics)
    if not models or not all("test" in model.splits for model in models):
        raise InputError(f"{name} has no figures per group: it is of an older fairalm; make the run again.")
    return models


def _settings(config: Mapping[str, Any], *, is_plain: bool = False) -> dict[str, Any]:
    return {
        name: config[name] for name in SETTINGS if config.get(name) is not None and not (is_plain and name in NOT_PLAIN)
    }


def _trained(metrics: Mapping[str, Any]) -> list[Model]:
    config, training, plain = metrics["config"], metrics.get("training", {}), metrics.get("plain")
    models = [
        Model(
            config["method"],
            OURS,
            metrics["splits"],
            _settings(config),
            metrics.get("history", {}),
            training.get("seconds"),
        )
    ]
    if plain:
        models.append(Model(PLAIN, PLAIN, plain["splits"], _settings(config, is_plain=True), {}, plain["seconds"]))
    return models


def _compared(metrics: Mapping[str, Any]) -> list[Model]:
    singles = metrics["runs"]
    n_seeds = len({single["seed"] for single in singles} - {None})
    models = []
    for single in singles:
        rule = single["rule"]
        kind = single.get("kind") or (PLAIN if rule == PLAIN else OTHER if rule.startswith("fairlearn") else OURS)
        settings = _settings({**metrics["config"], "method": rule, "seed": single["seed"]}, is_plain=kind == PLAIN)
        name = f"{rule}, seed {single['seed']}" if n_seeds > 1 and single["seed"] is not None else rule
        models.append(
            Model(
                name,
                kind,
                single.get("splits", {}),
                settings | single.get("settings", {}),
                single.get("history", {}),
                single["seconds"],
                single.get("history_of", "train"),
            )
        )
    return models
