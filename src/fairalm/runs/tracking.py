"""Runs in MLflow: settings, figures with their intervals, and the folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairalm.exceptions import InputError
from fairalm.files import METRICS, AnyPath
from fairalm.json_reader import read_json
from fairalm.measures import MEASURES

LONGEST = 500  # letters of a parameter that every store takes


def check_mlflow() -> None:
    """Say what to install, before any work."""
    try:
        import mlflow  # noqa: F401
    except ImportError as error:
        raise ImportError('Logging to MLflow needs it: pip install "fairalm[mlflow]"') from error


def log_run(folder: AnyPath) -> str:
    """Log a saved run to MLflow, and return the id that it has there.

    MLflow's own settings say where: MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME and so on. Settings are parameters. The
    measures are metrics, "test_deo" with "test_deo_low" and "test_deo_high", those of the plain model with "plain_"
    before them, and the changes between the two with "change_". The files of the folder are artifacts, the model among
    them.
    """
    check_mlflow()
    import mlflow

    path = Path(folder)
    metrics = read_json(path / METRICS, "metrics")
    try:
        with mlflow.start_run(run_name=path.resolve().name) as run:
            mlflow.log_params(_parameters(metrics["config"]))
            mlflow.log_metrics(dict(_figures(metrics)))
            mlflow.set_tags(_tags(metrics))
            mlflow.log_artifacts(str(path))
    except mlflow.exceptions.MlflowException as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        raise InputError(f"The run is in {path}, but MLflow did not take it: {reason}.") from error
    return str(run.info.run_id)


def _parameters(config: Mapping[str, Any]) -> dict[str, str]:
    """The settings that are set, each as text."""
    given = {name: value for name, value in config.items() if value not in (None, [], "") and name != "features"}
    texts = {name: ", ".join(value) if isinstance(value, list) else str(value) for name, value in given.items()}
    return {name: text[:LONGEST] for name, text in texts.items()}


def _figures(metrics: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Every measure with the ends of its interval, by name."""
    names = {*MEASURES, metrics["measure"]["key"]}
    tables = {f"{part}_": entry for part, entry in metrics["splits"].items()}
    tables |= {f"plain_{part}_": entry for part, entry in metrics["plain"]["splits"].items()}
    tables |= {"change_": metrics.get("changes", {})}
    for prefix, entry in tables.items():
        for name in names & entry.keys():
            for end, key in (("", "value"), ("_low", "low"), ("_high", "high")):
                if entry[name][key] is not None:
                    yield f"{prefix}{name}{end}", entry[name][key]
    yield "seconds", metrics["training"]["seconds"]


def _tags(metrics: Mapping[str, Any]) -> dict[str, str]:
    return {
        "fairalm": metrics["versions"]["fairalm"],
        "fairalm.command": metrics["command"],
        "fairalm.verdict": metrics["constraint"]["verdict"],
        "fairalm.data": metrics["data"]["fingerprint"],
    }
