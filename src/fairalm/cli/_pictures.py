"""Training on pictures, and predicting for them, from the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairalm._validation import FloatArray, Groups, IntArray, Missing, encode_groups
from fairalm.cli._data import MISSING, People, Source, check_columns
from fairalm.cli._models import Fit, check_choice, make_method, timed
from fairalm.cli._nets import ADVERSARIAL, LAST_LAYER, Nets
from fairalm.cli._output import console, say_error
from fairalm.cli._settings import MAX_ITER, Settings
from fairalm.constraints import Constraint
from fairalm.datasets import Dataset, split
from fairalm.exceptions import InputError
from fairalm.measures import group_rates, measure_of
from fairalm.methods import Unconstrained

if TYPE_CHECKING:
    from fairalm.datasets.images import ImageDataset
    from fairalm.vision.image_model import ImageModel

EPOCHS, BATCH_SIZE, SIZE = 20, 64, 64
HELDOUT = 0.25  # share of the training people whose pictures move the multipliers
N_FOLDS = 3


def read_pictures(source: Source, settings: Settings) -> tuple[People, ImageDataset]:
    """Read the table and its pictures; rows of one are rows of the other."""
    from fairalm.datasets.images import read_images

    check_choice("choice of --missing", source.missing, MISSING)
    for name in ("test", "drop", "with_protected", "data_dir", "download"):
        if getattr(source, name):
            option = name.replace("_", "-")
            raise InputError(f"--{option} is not for pictures, which a net sees and nothing else: leave it out.")
    if source.target is None or not source.protected or settings.image_column is None:
        raise InputError(f"{source.data} is a table of your own: name its --target and its --protected column.")
    data = read_images(
        source.data,
        image_column=settings.image_column,
        target=source.target,
        protected=tuple(source.protected),
        positive=source.positive,
        size=settings.image_size or SIZE,
        progress=console(stderr=True).is_terminal,
    )
    missing: Missing = source.missing  # type: ignore[assignment]  # checked above
    groups = encode_groups(data.groups, missing=missing, merge_below=source.merge_below)
    kept = np.flatnonzero(groups.codes >= 0)
    n_dropped = len(data) - len(kept)
    data = data.rows(kept) if n_dropped else data
    groups = Groups(groups.codes[kept], groups.labels)
    table = Dataset(data.name, data.frame, data.target, data.positive, data.protected, ("file",))
    labels = np.array(data.frame[data.target].tolist())
    people = People(table, data.frame[["file"]], labels, groups, None, False, n_dropped)
    # one column with the groups as they are after crossing, merging and dropping
    column = " × ".join(data.protected)
    return people, replace(data, frame=data.frame.assign(**{column: people.names}), protected=(column,))


class OnPictures:
    """A model with its answers for all pictures of a run, in the shape that :class:`Run` asks them in: by row."""

    def __init__(self, model: ImageModel, data: ImageDataset, train: IntArray, constraint: Constraint) -> None:
        self.model, self.classes_, self.history_ = model, model.classes_, model.history
        self._scores = model.predict_proba(data)
        self._predicted = model.predict(data)
        rates = group_rates(
            data.y[train], self._predicted[train] == data.positive, sensitive_features=data.groups.iloc[train]
        )
        self.error_ = float(measure_of("error", rates, train=True).value or 0.0)
        self.gap_ = float(measure_of(constraint.measure, rates, train=True).value or 0.0)
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

    def save(self, folder: Path) -> None:
        """Write the model."""
        self.model.save(folder)


def fit_on_pictures(
    data: ImageDataset, people: People, train: IntArray, constraint: Constraint, settings: Settings, nets: Nets
) -> tuple[Fit, Fit]:
    """The fair and the plain model."""
    fitted, held = data.rows(train), None
    if settings.dual_signal == "heldout":
        rest, part = split(people.data.y[train], people.names[train], test_size=HELDOUT, random_state=settings.seed)
        fitted, held = data.rows(train[rest]), data.rows(train[part])
    fit = _last_layer if settings.estimator == LAST_LAYER else _by_steps
    fits = []
    for part_name in ("fair", "plain"):
        make = fit(part_name, fitted, held, constraint, settings, nets)
        done = timed(make)
        fits.append(replace(done, model=OnPictures(done.model, data, train, constraint)))
    return fits[0], fits[1]


def _last_layer(
    part: str, fitted: ImageDataset, held: ImageDataset | None, constraint: Constraint, settings: Settings, nets: Nets
) -> Callable[[], ImageModel]:
    from fairalm.vision.imagenet import IMAGENET
    from fairalm.vision.last_layer import fit_last_layer

    return lambda: fit_last_layer(
        fitted,
        held,
        weights=settings.weights or IMAGENET,
        constraint=constraint,
        method=make_method(settings.method, settings.eta) if part == "fair" else Unconstrained(),
        n_folds=N_FOLDS if settings.dual_signal == "crossfit" and part == "fair" else 0,
        max_iter=settings.max_iter or MAX_ITER,
        cache=nets.folder,
        device=settings.device,
        progress=console(stderr=True).is_terminal,
    )


def _by_steps(
    part: str, fitted: ImageDataset, held: ImageDataset | None, constraint: Constraint, settings: Settings, nets: Nets
) -> Callable[[], ImageModel]:
    from fairalm.vision.adversary import Adversary
    from fairalm.vision.imagenet import IMAGENET
    from fairalm.vision.training import fit_images

    if part == "plain":
        method: Any = Unconstrained()
    else:
        method = Adversary() if settings.method == ADVERSARIAL else make_method(settings.method, settings.eta)
    return lambda: fit_images(
        fitted,
        heldout=held,
        net=settings.estimator,
        weights=settings.weights or (IMAGENET if settings.estimator == "efficientnet-lite0" else None),
        constraint=constraint,
        method=method,
        epochs=settings.epochs or EPOCHS,
        batch_size=settings.batch_size or BATCH_SIZE,
        folder=nets.folder / part,
        resume=nets.resume,
        device=settings.device,
        progress=console(stderr=True).is_terminal,
        random_state=settings.seed,
    )


def predict_pictures(run: Path, frame: pd.DataFrame, data: str, column: str) -> tuple[npt.NDArray[Any], FloatArray]:
    """Prediction and score of each row; those of a picture that cannot be read are missing."""
    from fairalm.datasets.images.cache import read_cached
    from fairalm.vision.image_model import load_image_model

    check_columns(frame, {column: "text"}, data)
    if frame[column].isna().any():
        row = int(frame[column].isna().to_numpy().argmax()) + 1
        raise InputError(f"Row {row} of {data} names no picture: fill or drop it.")
    model = load_image_model(run)
    files = [os.path.join(Path(data).parent, file) for file in frame[column]]  # noqa: PTH118  # an absolute one stays
    read = read_cached([(file,) for file in files], size=model.settings["size"], kind="colour", progress=False)
    predicted, scores = np.full(len(frame), None, dtype=object), np.full(len(frame), np.nan)
    predicted[read.kept] = model.predict(read.pixels).tolist()
    scores[read.kept] = model.predict_proba(read.pixels)[:, list(model.classes_).index(model.settings["positive"])]
    for row, why in read.reasons.items():
        say_error(f"Warning: {files[row]} has no prediction: {why}.")
    return predicted, scores
