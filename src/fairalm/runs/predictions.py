"""Predicting with a saved run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import sklearn
from fairalm.exceptions import FairALMWarning, InputError
from fairalm.files import METRICS, AnyPath, read_json
from fairalm.models_io import load
from fairalm.runs.choices import IMAGE_NETS, find_modules_here
from fairalm.runs.fits import scores_of
from fairalm.runs.frontier import Choice
from fairalm.runs.images import predict_images
from fairalm.runs.run import MODEL
from fairalm.runs.source import check_columns, read_data


def predict(run: AnyPath, data: str, choice: Choice | None = None, *, trusted: Sequence[str] = ()) -> pd.DataFrame:
    """The table with the columns ``prediction`` and, where the model has one, ``score``.

    Parameters
    ----------
    run : path
        Folder of a run, saved by :meth:`fairalm.runs.Run.save`.
    data : str
        A .csv or .parquet file, or a data set by name.
    choice : Choice, optional
        For a run of the frontier: another point of it.
    trusted : sequence of str
        As in :func:`fairalm.load`: types of your own in the model, for example a constraint.
    """
    folder = Path(run)
    if not (folder / METRICS).is_file():
        raise InputError(f"{folder} is not a run of fairalm: it has no {METRICS}.")
    config, versions = read_json(folder / "config.json"), read_json(folder / METRICS)["versions"]
    point = {} if choice is None else choice.parameters(config)
    frame, _ = read_data(data, config["data_dir"])
    for column in ("prediction", "score"):
        if column in frame.columns:
            raise InputError(f"{data} has a column {column!r} already: rename it, so that it is not overwritten.")
    if config["estimator"] in IMAGE_NETS:
        predicted, scores = predict_images(folder, frame, data, config["image_column"])
        return frame.assign(prediction=predicted, score=scores)
    check_columns(frame, config["features"], data)
    if trusted:
        find_modules_here()
    model, X = load(folder / MODEL, trusted=trusted), frame[list(config["features"])]
    model = model.at(**point) if point else model
    table, score = frame.assign(prediction=model.predict(X)), scores_of(model, X, config["positive"])
    if versions["scikit-learn"] != sklearn.__version__:
        warnings.warn(
            FairALMWarning(
                f"the model was trained with scikit-learn {versions['scikit-learn']}; this is {sklearn.__version__},"
                " whose predictions may differ."
            ),
            stacklevel=2,
        )
    return table if score is None else table.assign(score=score)
