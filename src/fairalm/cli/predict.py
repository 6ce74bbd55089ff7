"""``fairalm predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

import sklearn
from fairalm._validation import FloatArray
from fairalm.cli import _options as opt
from fairalm.cli._data import check_columns, read_data
from fairalm.cli._models import scores_of
from fairalm.cli._nets import PICTURES
from fairalm.cli._output import percent, print_json, say_error, say_path, working
from fairalm.cli._pictures import predict_pictures
from fairalm.cli._tables import check_out, write_table
from fairalm.exceptions import InputError
from fairalm.files import METRICS
from fairalm.models_io import load


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that fairalm train wrote.")],
    data: opt.DataArgument,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="OUT", help="A .csv or .parquet file to write."),
    ],
    overwrite: opt.Overwrite = False,
    as_json: opt.Json = False,
) -> None:
    """Predict the labels of a table with a model that was trained.

    What comes out: OUT, with the table's columns and after them prediction (a label, as in the training table) and,
    where the model has one, score (of the positive label; it orders people, and is no calibrated probability). The
    protected column is not needed, unless the model was trained to use it.

    For example:
      fairalm predict runs/hired new_people.csv -o predicted.csv
    """
    check_out(out, (".csv", ".parquet"), overwrite)
    if not (run / METRICS).is_file():
        raise InputError(f"{run} is not a run of fairalm: it has no {METRICS}.")
    with working(f"predicting {data}"):
        config, versions = load(run / "config.json"), load(run / METRICS)["versions"]
        frame, _ = read_data(data, config["data_dir"])
        for column in ("prediction", "score"):
            if column in frame.columns:
                raise InputError(f"{data} has a column {column!r} already: rename it, so that it is not overwritten.")
        predicted, scores = _predict(run, frame, data, config)
        table = frame.assign(prediction=predicted)
        if scores is not None:
            table["score"] = scores
        write_table(out, table)
    if versions["scikit-learn"] != sklearn.__version__:
        say_error(
            f"Warning: the model was trained with scikit-learn {versions['scikit-learn']}; this is"
            f" {sklearn.__version__}, whose predictions may differ."
        )
    share = float(np.mean(predicted == config["positive"]))
    if as_json:
        print_json({"out": out, "rows": len(table), "positive": config["positive"], "share": share})
        return
    say_path(f"{len(table):,} people, {percent(share)} predicted {config['target']} = {config['positive']}.")
    say_path(f"Written to {out}: the columns of {data}, prediction{', score' if scores is not None else ''}")


def _predict(run: Path, frame: pd.DataFrame, data: str, config: dict[str, Any]) -> tuple[Any, FloatArray | None]:
    """Label and, if the model gives one, score of each row."""
    if config["estimator"] in PICTURES:
        return predict_pictures(run, frame, data, config["image_column"])
    model = load(run / "model.skops")
    check_columns(frame, config["features"], data)
    X = frame[list(config["features"])]
    return model.predict(X), scores_of(model, X, config["positive"])
