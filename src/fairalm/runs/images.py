"""Images: reading them with their table, training nets on them, and predicting."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm.arrays import FloatArray, IntArray
from fairalm.constraints import Constraint
from fairalm.datasets import Dataset, split, with_column
from fairalm.exceptions import FairALMWarning, InputError
from fairalm.measures import group_rates, measure_of
from fairalm.methods import Unconstrained
from fairalm.runs.choices import LAST_LAYER
from fairalm.runs.columns import check_columns
from fairalm.runs.fits import Fit, timed
from fairalm.runs.image_files import paths_in
from fairalm.runs.samples import Samples
from fairalm.runs.settings import MAX_ITER, Settings
from fairalm.runs.source import Source, is_guess

if TYPE_CHECKING:
    from fairalm.datasets.images import ImageDataset
    from fairalm.vision.image_model import ImageModel

EPOCHS, BATCH_SIZE, SIZE = 20, 64, 64
HELDOUT = 0.25  # share of the training images on which the gap is measured
N_FOLDS = 3


def read_image_source(source: Source, progress: bool) -> tuple[Samples, ImageDataset]:
    """Read the table and its images; the rows of one are the rows of the other."""
    from fairalm.datasets.images import read_images

    for name in ("test", "drop", "rows", "with_protected", "data_dir", "download"):
        if getattr(source, name):
            raise InputError(f"{{{name}}} is not for images: the net sees nothing else. Leave it out.", **{name: None})
    if source.target is None or not source.protected:
        raise source.needs_columns()
    assert source.image_column is not None  # checked in Settings
    data = read_images(
        source.data,
        image_column=source.image_column,
        target=source.target,
        protected=source.protected,
        positive=source.positive,
        size=source.image_size or SIZE,
        progress=progress,
        **source.csv,
    )
    kept, groups = source.encode(data.groups)
    n_dropped = len(data) - len(kept)
    data = data.rows(kept) if n_dropped else data
    table = Dataset(data.name, data.frame, data.target, data.positive, data.protected, ("file",))
    labels = np.array(data.frame[data.target].tolist())
    samples = Samples(
        table,
        data.frame[["file"]],
        labels,
        groups,
        n_dropped=n_dropped,
        rows_are=source.rows_are,
        positive_guessed=source.positive is None and is_guess(data.positive),
    )
    # one column with the groups as they are after crossing, merging and dropping
    column = " × ".join(data.protected)
    return samples, replace(data, frame=with_column(data.frame, column, samples.group_names), protected=(column,))


class ImageAnswers:
    """A model with its predictions for all images of a run, which are asked for by row like those of a table."""

    def __init__(self, model: ImageModel, data: ImageDataset, train: IntArray, constraint: Constraint) -> None:
        self.model, self.classes_, self.history_ = model, model.classes_, model.history
        self._scores = model.predict_proba(data)
        self._predicted = model.predict(data)
        positive = self._predicted[train] == data.positive
        rates = group_rates(data.y[train], positive, sensitive_features=data.groups.iloc[train])
        self.error_ = float(measure_of("error", rates, train=True).value or 0.0)
        self.gap_ = float(measure_of(constraint, rates, train=True).value or 0.0)
        if "optimality_gap" in model.settings:
            self.optimality_gap_ = model.settings["optimality_gap"]
            self.saddle_gap_ = model.settings["saddle_gap"]
            self.n_oracle_calls_ = len(model.history)

    def predict(self, X: pd.DataFrame) -> npt.NDArray[Any]:
        """Labels of some rows."""
        return self._predicted[X.index]

    def predict_proba(self, X: pd.DataFrame) -> FloatArray:
        """Scores of some rows."""
        return self._scores[X.index]


def fit_images(
    data: ImageDataset,
    samples: Samples,
    rows: IntArray,
    constraint: Constraint,
    settings: Settings,
    checkpoint: Path | None,
    resume: bool,
    progress: bool,
) -> list[Fit]:
    """The fair and the plain model on some rows of the images."""
    from fairalm.vision import training
    from fairalm.vision.adversary import Adversary
    from fairalm.vision.imagenet import IMAGENET
    from fairalm.vision.last_layer import fit_last_layer

    fitted, heldout = data.rows(rows), None
    if settings.dual_signal == "heldout":
        y, groups = samples.data.y[rows], samples.group_names[rows]
        rest, part = split(y, groups, test_size=HELDOUT, random_state=settings.seed)
        fitted, heldout = data.rows(rows[rest]), data.rows(rows[part])

    def fit(part: str, method: Any) -> ImageModel:
        shared: Any = {"constraint": constraint, "method": method, "device": settings.device, "progress": progress}
        if settings.estimator == LAST_LAYER:
            return fit_last_layer(
                fitted,
                heldout,
                weights=settings.weights or IMAGENET,
                n_folds=N_FOLDS if settings.dual_signal == "crossfit" and part == "fair" else 0,
                max_iter=settings.max_iter or MAX_ITER,
                cache=checkpoint,
                **shared,
            )
        return training.fit_images(
            fitted,
            heldout=heldout,
            net=settings.estimator,
            weights=settings.weights or (IMAGENET if settings.estimator == "efficientnet-lite0" else None),
            epochs=settings.epochs or EPOCHS,
            batch_size=settings.batch_size or BATCH_SIZE,
            folder=checkpoint and checkpoint / part,
            resume=resume,
            random_state=settings.seed,
            **shared,
        )

    method = Adversary() if settings.is_adversarial else settings.make_method()
    fits = [timed(lambda: fit("fair", method)), timed(lambda: fit("plain", Unconstrained()))]
    return [replace(done, model=ImageAnswers(done.model, data, rows, constraint)) for done in fits]


def predict_images(run: Path, frame: pd.DataFrame, data: str, column: str) -> tuple[npt.NDArray[Any], FloatArray]:
    """Prediction and score of each row; those of an image that cannot be read are missing."""
    from fairalm.datasets.images.cache import read_cached
    from fairalm.vision.image_model import load_image_model

    check_columns(frame, {column: "text"}, data)
    model = load_image_model(run)
    files = paths_in(frame[column], Path(data))
    read = read_cached([(str(file),) for file in files], size=model.settings["size"], kind="colour", progress=False)
    predicted, scores = np.full(len(frame), None, dtype=object), np.full(len(frame), np.nan)
    predicted[read.kept] = model.predict(read.pixels).tolist()
    positive = int(model.classes_[1] == model.labels[1])  # its column
    scores[read.kept] = model.predict_proba(read.pixels)[:, positive]
    for row, reason in read.reasons.items():
        warnings.warn(FairALMWarning(f"{files[row]} has no prediction: {reason}."), stacklevel=3)
    return predicted, scores
