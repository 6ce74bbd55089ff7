"""One run: read, split, fit the fair and the plain model, measure both."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from fairalm.arrays import IntArray
from fairalm.constraints import Constraint
from fairalm.datasets import preprocess
from fairalm.exceptions import InputError
from fairalm.files import METRICS, AnyPath, write_csv, write_json
from fairalm.folders import new_folder
from fairalm.manifest import write_manifest
from fairalm.measures import definition_of, describe, limit_of
from fairalm.models_io import save
from fairalm.progress import progress_bar
from fairalm.runs.changes import changes_entry
from fairalm.runs.choices import NETS, make_estimator
from fairalm.runs.columns import column_types
from fairalm.runs.fits import Fit, scores_of, timed
from fairalm.runs.frontier import Curve, FrontierSettings, curve_of, fit_frontier
from fairalm.runs.images import fit_images, read_image_source
from fairalm.runs.metrics import data_entry, metrics, verdict
from fairalm.runs.nets import fit_nets
from fairalm.runs.samples import Samples
from fairalm.runs.settings import MAX_ITER, Settings
from fairalm.runs.source import Source
from fairalm.sklearn import FairALMClassifier

MODEL, TEST_IMAGES = "model.skops", "test.csv"  # files of a run
IMAGE_COLUMN = "image"  # of TEST_IMAGES


@dataclass(frozen=True)
class Run:
    """A fair and a plain model (`fair`, `plain`), trained and measured on the same rows (`train`, `test`).

    `config` is source and settings as metrics.json records them; `changes` are those from the plain to the fair model
    on the test rows; `checkpoint` is deleted by :meth:`save`; `curve` is that of a frontier.
    """

    samples: Samples
    train: IntArray
    test: IntArray
    constraint: Constraint
    config: dict[str, Any]
    fair: Fit
    plain: Fit
    changes: Mapping[str, Any]
    checkpoint: Path | None = None
    curve: Curve | None = None
    command: str = ""

    def metrics(self) -> dict[str, Any]:
        """The content of metrics.json; the plain model's splits are under ``plain``."""
        samples, model = self.samples, self.fair.model
        gap, tol = self.fair.measures[definition_of(self.constraint).name], limit_of(self.constraint)
        data = data_entry(samples.data.name, samples.data.frame, samples.labels, samples.groups, samples.weights)
        return metrics(
            command=self.command,
            data=data | {"train": len(self.train), "test": len(self.test), "dropped": samples.n_dropped},
            config=self.config,
            measure=describe(self.constraint, samples.label),
            constraint={"measure": gap.name, "tol": tol, "verdict": verdict(gap, tol)},
            splits=self.fair.splits,
            plain={"splits": self.plain.splits, "seconds": self.plain.seconds},
            changes=self.changes,
            training={
                "gap": model.gap_,
                "error": model.error_,
                "saddle_gap": getattr(model, "saddle_gap_", None),  # a net has no certificate
                "optimality_gap": getattr(model, "optimality_gap_", None),
                "certificate": getattr(model, "certificate_", None),  # of the frontier: over all classifiers
                "dual_signal": getattr(model, "dual_signal_", self.config["dual_signal"]),
                "fits": self.fair.n_fits,
                "seconds": self.fair.seconds,
                "warnings": [str(warning) for warning in (*samples.warnings, *self.fair.warnings)],
            },
            history=self.fair.history,
            **({} if self.curve is None else {"frontier": self.curve.to_dict()}),
        )

    def save(self, folder: AnyPath, *, overwrite: bool = False) -> None:
        """Write a folder, whole or not at all: the model, config.json, history.csv and metrics.json.

        A frontier has frontier.csv in place of history.csv, and its model.skops answers other tolerances too.
        Models of tables are saved as model.skops. Image models are saved as model.pt and settings.json; the plain one
        is in ``plain/``, and test.csv lists the test images. With `overwrite`, a run that is there is replaced.
        """
        with self.saving(folder, overwrite=overwrite):
            pass

    @contextmanager
    def saving(self, folder: AnyPath, *, overwrite: bool = False) -> Iterator[Path]:
        """:meth:`save`, with a block that may write more files into the folder before it is complete."""
        with new_folder(folder, overwrite=overwrite) as part:
            if self.config["image_column"] is None:
                save(self.fair.model, part / MODEL)
            else:
                self.fair.model.model.save(part)
                self.plain.model.model.save(part / "plain")
                origin = Path(self.config["data"]).resolve().parent
                files = [str(origin / file) for file in self.samples.X["file"].iloc[self.test]]
                write_csv(part / TEST_IMAGES, pd.DataFrame({IMAGE_COLUMN: files}))
            write_json(part / "config.json", self.config)
            if self.curve is None:
                write_csv(part / "history.csv", self.fair.model.history_)
            else:
                write_csv(part / "frontier.csv", self.curve.table)
            content = self.metrics()
            write_json(part / METRICS, content)
            yield part
            split = {"train": self.train, "test": self.test}
            made_from: Any = {"data": content["data"]["fingerprint"], "settings": self.config, "split": split}
            write_manifest(part, **made_from, seed=self.config["seed"])
        if self.checkpoint is not None:
            shutil.rmtree(self.checkpoint, ignore_errors=True)


def run(
    source: Source,
    settings: Settings | None = None,
    *,
    checkpoint: AnyPath | None = None,
    resume: bool = False,
    progress: bool = False,
    command: str = "",
) -> Run:
    """Train a fair and a plain model, and measure both.

    Nets write checkpoints to the folder `checkpoint`, which is deleted when the run is saved; with `resume` they go on
    from there. `progress` shows bars on stderr, and `command` is recorded in metrics.json.

    >>> done = run(Source("compas"), Settings(tol=0.05))
    >>> print(done.plain.measures["deo"], "->", done.fair.measures["deo"])
    34.3 % [26.8, 41.2] -> 4.2 % [0.0, 11.7]
    """
    settings = Settings() if settings is None else settings
    settings = FrontierSettings.of(settings) if settings.is_frontier else settings
    folder = _check(source, settings, checkpoint, resume)
    images, more = None, {}
    if settings.reads_images:
        samples, images = read_image_source(source, progress)
        more = {"unreadable": images.unreadable}
    else:
        with progress_bar(None, shown=progress, text=f"reading {source.data}"):
            samples = source.read()
    train, test = samples.split(settings.test_size, settings.seed)
    constraint = settings.make_constraint(samples.data.positive)
    if images is not None:
        fits = fit_images(images, samples, train, constraint, settings, folder, resume, progress)
    elif settings.in_batches:
        fits = fit_nets(samples.subset(train), constraint, settings, folder, resume, progress)
    else:
        fits = _fit_tables(samples.subset(train), constraint, settings, progress)
    with progress_bar(None, shown=progress, text="measuring"):
        parts = {"train": train, "test": test}
        (fair, fair_test), (plain, plain_test) = (_measured(fit, samples, constraint, parts) for fit in fits)
        changes = changes_entry(samples, test, plain_test, fair_test, constraint)
    test_size = {"test_size": settings.test_size if source.test is None else None}
    config = {**asdict(source), **samples.question, "features": column_types(samples.X)}
    config |= settings.to_dict() | test_size | more
    curve = curve_of(fair.model, settings) if isinstance(settings, FrontierSettings) else None
    return Run(samples, train, test, constraint, config, fair, plain, changes, folder, curve, command)


def _check(source: Source, settings: Settings, checkpoint: AnyPath | None, resume: bool) -> Path | None:
    """Refuse, before any work, what does not go together; the folder for checkpoints."""
    settings.check(source)
    if settings.estimator in NETS:
        importlib.import_module("fairalm.nn")  # without torch, an error that says what to install
    elif resume:
        raise InputError(
            "{resume} is not for {estimator}, which is fitted whole: leave it out.",
            resume=True,
            estimator=settings.estimator,
        )
    folder = None if checkpoint is None else Path(checkpoint)
    if folder is not None and folder.exists() and not resume:
        raise InputError(
            f"{folder} is left from a run that did not end: pass {{resume}} to go on with it, or delete it.",
            resume=True,
        )
    return folder


def _measured(fit: Fit, samples: Samples, constraint: Constraint, parts: Mapping[str, IntArray]) -> tuple[Fit, Any]:
    """A model with its figures on each part of the rows, and its predictions for the test rows."""
    entries, target, predicted = {}, samples.data.positive, {}
    for part, rows in parts.items():
        X = samples.X.iloc[rows]
        scores, predicted[part] = scores_of(fit.model, X, target), fit.model.predict(X)
        entries[part] = samples.entry(rows, predicted[part], scores, constraint, train=part == "train")
    return replace(fit, splits=entries), predicted["test"]


def _fit_tables(samples: Samples, constraint: Constraint, settings: Settings, progress: bool) -> list[Fit]:
    """The fair and the plain model of scikit-learn."""
    X, y, weight = samples.X, samples.labels, samples.scaled_weights
    pipeline = make_pipeline(preprocess(X), make_estimator(settings.estimator, settings.seed))
    if isinstance(settings, FrontierSettings):
        with progress_bar(None, shown=progress, text="fitting label and group, out of fold"):
            fair = fit_frontier(pipeline, samples, constraint, settings)
    else:
        fair = _play(pipeline, samples, constraint, settings, progress)
    with progress_bar(None, shown=progress, text="fitting the plain model"):
        given = {} if weight is None else {f"{pipeline.steps[-1][0]}__sample_weight": weight}
        return [fair, timed(lambda: clone(pipeline).fit(X, y, **given))]


def _play(pipeline: Any, samples: Samples, constraint: Constraint, settings: Settings, progress: bool) -> Fit:
    """Fit with a method, round by round."""
    groups = samples.training_groups
    classifier = FairALMClassifier(
        pipeline,
        constraint=constraint,
        method=settings.make_method(),
        max_iter=settings.max_iter or MAX_ITER,
        predictor=settings.predictor or "single",  # type: ignore[arg-type]  # checked in Settings
        dual_signal=settings.dual_signal,  # type: ignore[arg-type]
        attributes=groups["attributes"],
        random_state=settings.seed,
        verbose=progress,
    )
    rows: Any = {"sensitive_features": groups["sensitive_features"], "sample_weight": samples.scaled_weights}
    fair = timed(lambda: classifier.fit(samples.X, samples.labels, **rows))
    classifier.verbose = False
    return fair
