"""Predicting with a saved run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairalm.datasets import ParquetTable, plain_columns
from fairalm.exceptions import InputError, VersionError
from fairalm.files import LDA, METRICS, AnyPath, results_of
from fairalm.json_reader import read_json
from fairalm.manifest import check_manifest
from fairalm.models_io import load
from fairalm.runs.choices import IMAGE_NETS, find_modules_here
from fairalm.runs.columns import check_columns, check_finite
from fairalm.runs.fits import scores_of
from fairalm.runs.frontier import Choice
from fairalm.runs.images import predict_images
from fairalm.runs.run import MODEL
from fairalm.runs.source import open_data, read_data

READ = (METRICS, LDA, MODEL, "config.json", "model.pt", "settings.json")  # of a run


def predict(
    run: AnyPath, data: str, choice: Choice | None = None, *, trusted: Sequence[str] = (), **csv: str
) -> pd.DataFrame:
    """The table with the columns ``prediction`` and, where the model has one, ``score``.

    Parameters
    ----------
    run : path
        Folder of a run, saved by :meth:`fairalm.runs.Run.save`.
    data : str
        A .csv or .parquet file, a folder of .parquet files, or a data set by name.
    choice : Choice, optional
        For a run of the frontier: another point of it.
    trusted : sequence of str
        As in :func:`fairalm.load`: types of your own in the model, for example a constraint.
    **csv : str
        `encoding`, `sep` and `decimal` of a .csv file, as in :func:`fairalm.datasets.read_table`; by default those of
        the training table.
    """
    config, point = _config(run, choice)
    reads_images = config["estimator"] in IMAGE_NETS
    model = None if reads_images else _load(run, point, trusted)
    frame = read_data(data, config["data_dir"], labels=config["protected"], **_csv(config, csv))
    _check_free(frame.columns, data)
    if reads_images:
        predicted, scores = predict_images(Path(run), frame, data, config["image_column"])
        return frame.assign(prediction=predicted, score=scores)
    X = plain_columns(frame, config["features"])
    check_columns(X, config["features"], data)
    return frame.assign(**_columns(model, X, config, run))


def predict_batches(
    run: AnyPath, data: str, choice: Choice | None = None, *, trusted: Sequence[str] = (), **csv: str
) -> Iterator[Any]:
    """The same in parts, which may have more rows than fit in memory if `data` is of .parquet files.

    The parts are tables of pyarrow with the types of the files, or a single data frame.
    """
    config, point = _config(run, choice)
    table, _ = open_data(data, config["data_dir"], False, **_csv(config, csv))
    if not isinstance(table, ParquetTable) or config["estimator"] in IMAGE_NETS:
        yield predict(run, data, choice, trusted=trusted, **csv)
        return
    _check_free(table.names, data)
    model, features = _load(run, point, trusted), [name for name in table.names if name in config["features"]]
    for part in table.tables():
        frame = plain_columns(table.to_pandas(part.select(features)))
        check_columns(frame, config["features"], data)
        for name, values in _columns(model, frame, config, run).items():
            part = part.append_column(name, [values])
        yield part


def _config(run: AnyPath, choice: Choice | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a run, and the point of its frontier that is asked for."""
    folder = Path(run)
    if results_of(folder) is None:
        raise InputError(f"{folder} is not a run of fairalm: it has no {METRICS}.")
    check_manifest(folder, READ)
    config = read_json(folder / "config.json", "config")
    return config, {} if choice is None else choice.parameters(config)


def _csv(config: dict[str, Any], given: dict[str, str]) -> dict[str, str]:
    """How a .csv file is written: as given, else as the training table was."""
    return {name: config[name] for name in ("encoding", "sep", "decimal")} | given


def _check_free(columns: Iterable[str], data: str) -> None:
    """Refuse a table that has the columns of predictions already."""
    for column in ("prediction", "score"):
        if column in columns:
            raise InputError(f"{data} has a column {column!r} already: rename it, so that it is not overwritten.")


def _load(run: AnyPath, point: dict[str, Any], trusted: Sequence[str]) -> Any:
    """The model of a run, at a point of its frontier."""
    if trusted:
        find_modules_here()
    results = results_of(run)
    assert results is not None
    if results.name == LDA and not (Path(run) / MODEL).exists():
        raise InputError(f"{run} is a search that found no alternative, so it has no model: see its lda.html.")
    try:
        model = load(Path(run) / MODEL, trusted=trusted)
    except VersionError as error:
        command = read_json(results, "results").get("command") or "the Python code that made it"
        raise InputError(f"{error} The run was made by: {command}") from error
    return model.at(**point) if point else model


def _columns(model: Any, frame: pd.DataFrame, config: dict[str, Any], run: AnyPath) -> dict[str, Any]:
    """The predictions of some rows, by column."""
    X = frame[list(config["features"])]
    check_finite(X, advice="replace or empty them")
    try:
        score, predicted = scores_of(model, X, config["positive"]), model.predict(X)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{Path(run) / MODEL} cannot predict these rows ({reason}): train again.") from error
    return {"prediction": predicted, **({} if score is None else {"score": score})}
