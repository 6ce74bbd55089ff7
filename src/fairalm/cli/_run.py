"""One run: read, split, fit the fair and the plain model, measure both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from fairalm._validation import IntArray
from fairalm.cli import _words
from fairalm.cli._data import People, Source, kind_of, read_people
from fairalm.cli._models import Fit, make_constraint, make_estimator, make_method, scores_of, timed
from fairalm.cli._nets import Nets
from fairalm.cli._output import console, working
from fairalm.cli._photos import IMAGE
from fairalm.cli._pictures import fit_on_pictures, read_pictures
from fairalm.cli._settings import MAX_ITER, Settings
from fairalm.constraints import Constraint
from fairalm.datasets import preprocess
from fairalm.measures import Measure, measure_all, splits_entry
from fairalm.methods import Unconstrained
from fairalm.runs.metrics import data_entry, metrics
from fairalm.sklearn import FairALMClassifier


@dataclass(frozen=True)
class Run:
    """What was trained, on whom."""

    people: People
    train: IntArray
    test: IntArray
    constraint: Constraint
    config: dict[str, Any]
    fair: Fit
    plain: Fit
    after: dict[str, Measure]  # of the fair model, on the test people
    before: dict[str, Measure]  # of the plain one

    def splits(self, model: Any) -> dict[str, Any]:
        """Entries of metrics.json for the train and the test people."""
        entries = {}
        for name, rows in (("train", self.train), ("test", self.test)):
            X = self.people.X.iloc[rows]
            entries[name] = splits_entry(
                self.people.labels[rows],
                model.predict(X),
                scores_of(model, X, self.people.data.positive),
                sensitive_features=self.people.groups_of(rows),
                target=self.people.data.positive,
                train=name == "train",
            )
        return entries

    def test_pictures(self) -> pd.DataFrame:
        """Where the test pictures are, whichever folder one looks from."""
        files = self.people.X["file"].iloc[self.test]
        folder = Path(self.config["data"]).resolve().parent
        return pd.DataFrame({IMAGE: [str(folder / file) for file in files]})

    def metrics(self, command: str) -> dict[str, Any]:
        """Everything metrics.json holds; the plain model's splits stand under ``plain``."""
        people, model, tol = self.people, self.fair.model, self.constraint.tol
        judged = self.after[self.constraint.measure]
        data = data_entry(people.data.name, people.data.frame, people.labels, people.groups)
        return metrics(
            command=command,
            data=data | {"train": len(self.train), "test": len(self.test), "dropped": people.n_dropped},
            config=self.config,
            criterion={"measure": judged.name, "tol": tol, "verdict": _words.verdict(judged, tol)},
            splits=self.splits(model),
            plain={"splits": self.splits(self.plain.model), "seconds": self.plain.seconds},
            training={
                "gap": model.gap_,
                "error": model.error_,
                "saddle_gap": getattr(model, "saddle_gap_", None),  # a net has no certificate
                "optimality_gap": getattr(model, "optimality_gap_", None),
                "fits": getattr(model, "n_oracle_calls_", 1),
                "seconds": self.fair.seconds,
                "warnings": [str(warning) for warning in self.fair.warnings],
            },
            history={str(name): column.tolist() for name, column in model.history_.items()},
        )


def run(source: Source, settings: Settings, nets: Nets | None = None) -> Run:
    """Do all the work of ``fairalm train`` but the writing."""
    pictures = None
    if settings.is_pictures:
        people, pictures = read_pictures(source, settings)
    else:
        with working(f"reading {source.data}"):
            people = read_people(source)
    train, test = people.split(settings.test_size, settings.seed)
    constraint = make_constraint(settings.constraint, settings.tol, people.data.positive)
    if pictures is None:
        fair, plain = _fit(people, train, constraint, settings, nets)
    else:
        assert nets is not None
        fair, plain = fit_on_pictures(pictures, people, train, constraint, settings, nets)
    config = {
        **asdict(source),
        "target": people.data.target,
        "positive": people.data.positive,
        "protected": people.data.protected,
        "with_protected": people.with_protected,
        "features": {column: kind_of(people.X[column]) for column in people.X.columns},
        **asdict(settings),
        "test_size": settings.test_size if source.test is None else None,
    }
    if pictures is not None:
        config["unreadable"] = pictures.unreadable

    def tested(model: Any) -> dict[str, Measure]:
        predicted, groups = model.predict(people.X.iloc[test]), people.groups_of(test)
        return measure_all(people.labels[test], predicted, sensitive_features=groups, target=people.data.positive)

    with working("measuring"):
        after, before = tested(fair.model), tested(plain.model)
    return Run(people, train, test, constraint, config, fair, plain, after, before)


def _fit(
    people: People, train: IntArray, constraint: Constraint, settings: Settings, nets: Nets | None
) -> tuple[Fit, Fit]:
    """The fair and the plain model."""
    X, y, groups = people.X.iloc[train], people.labels[train], people.names[train]
    method, is_watched = make_method(settings.method, settings.eta), console(stderr=True).is_terminal
    if nets is not None:
        fits = []
        for part, rule in (("fair", method), ("plain", Unconstrained())):
            net = nets.make(part, constraint, rule).set_params(
                transformer=preprocess(people.X), random_state=settings.seed, verbose=is_watched
            )
            fits.append(timed(lambda net=net: net.fit(X, y, sensitive_features=groups)))  # type: ignore[misc]
            net.set_params(verbose=False, folder=None, resume=False)
        return fits[0], fits[1]
    pipeline = make_pipeline(preprocess(people.X), make_estimator(settings.estimator, settings.seed))
    classifier = FairALMClassifier(
        pipeline,
        constraint=constraint,
        method=method,
        max_iter=settings.max_iter or MAX_ITER,
        predictor=settings.predictor or "single",  # type: ignore[arg-type]  # checked in Settings
        dual_signal=settings.dual_signal,  # type: ignore[arg-type]
        random_state=settings.seed,
        verbose=is_watched,
    )
    fair = timed(lambda: classifier.fit(X, y, sensitive_features=groups))
    classifier.verbose = False
    with working("fitting the plain model"):
        return fair, timed(lambda: clone(pipeline).fit(X, y))
