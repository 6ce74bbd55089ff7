"""One run: read, split, fit the fair and the plain model, measure both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from fairalm._validation import IntArray
from fairalm.cli import _words
from fairalm.cli._data import People, Source, kind_of, read_people
from fairalm.cli._models import Fit, check_choice, make_constraint, make_estimator, make_method, scores_of, timed
from fairalm.cli._output import console, working
from fairalm.constraints import Constraint
from fairalm.datasets import preprocess
from fairalm.io import data_entry, metrics
from fairalm.measures import Measure, measure_all, splits_entry
from fairalm.sklearn import FairALMClassifier
from fairalm.sklearn.classifier import PREDICTORS

SIGNALS = ("train", "heldout", "crossfit")


@dataclass(frozen=True)
class Settings:
    """The options that say what to train, as typed."""

    constraint: str
    tol: float
    estimator: str
    method: str
    eta: float | None
    max_iter: int
    predictor: str
    dual_signal: str
    test_size: float
    seed: int

    def __post_init__(self) -> None:
        """Refuse unknown names before any work."""
        check_choice("predictor", self.predictor, PREDICTORS)
        check_choice("dual signal", self.dual_signal, SIGNALS)
        make_constraint(self.constraint, self.tol, None)
        make_method(self.method, self.eta)
        make_estimator(self.estimator, self.seed)


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
                "saddle_gap": model.saddle_gap_,
                "optimality_gap": model.optimality_gap_,
                "fits": model.n_oracle_calls_,
                "seconds": self.fair.seconds,
                "warnings": [str(warning) for warning in self.fair.warnings],
            },
            history={str(name): column.tolist() for name, column in model.history_.items()},
        )


def run(source: Source, settings: Settings) -> Run:
    """Do all the work of ``fairalm train`` but the writing."""
    with working(f"reading {source.data}"):
        people = read_people(source)
        train, test = people.split(settings.test_size, settings.seed)
    constraint = make_constraint(settings.constraint, settings.tol, people.data.positive)
    pipeline = make_pipeline(preprocess(people.X), make_estimator(settings.estimator, settings.seed))
    classifier = FairALMClassifier(
        pipeline,
        constraint=constraint,
        method=make_method(settings.method, settings.eta),
        max_iter=settings.max_iter,
        predictor=settings.predictor,  # type: ignore[arg-type]  # checked in Settings
        dual_signal=settings.dual_signal,  # type: ignore[arg-type]
        random_state=settings.seed,
        verbose=console(stderr=True).is_terminal,
    )
    X, y = people.X.iloc[train], people.labels[train]
    fair = timed(lambda: classifier.fit(X, y, sensitive_features=people.names[train]))
    classifier.verbose = False
    with working("fitting the plain model"):
        plain = timed(lambda: clone(pipeline).fit(X, y))
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

    def tested(model: Any) -> dict[str, Measure]:
        predicted, groups = model.predict(people.X.iloc[test]), people.groups_of(test)
        return measure_all(people.labels[test], predicted, sensitive_features=groups, target=people.data.positive)

    with working("measuring"):
        after, before = tested(fair.model), tested(plain.model)
    return Run(people, train, test, constraint, config, fair, plain, after, before)
