"""Methods side by side on several splits: the plain model, ours, and fairlearn's."""

from __future__ import annotations

import importlib
import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone

from fairalm.arrays import IntArray
from fairalm.constraints import Constraint
from fairalm.datasets import preprocess
from fairalm.exceptions import ConstantModelWarning, InputError
from fairalm.measures import Measure, chosen_measure, describe
from fairalm.methods import METHODS, Method
from fairalm.progress import progress_bar
from fairalm.runs.changes import changes_entry
from fairalm.runs.choices import FRONTIER, make_estimator
from fairalm.runs.fits import Fit, scores_of, timed
from fairalm.runs.metrics import data_entry, metrics
from fairalm.runs.samples import Samples
from fairalm.runs.settings import MAX_ITER, Settings
from fairalm.runs.source import Source
from fairalm.sklearn import FairALMClassifier, FrontierClassifier
from fairalm.sklearn.comparators.fairlearn import MOMENTS, THRESHOLDS, AgarwalClassifier, HardtClassifier

PLAIN, GRADIENT, THRESHOLD = "plain", "fairlearn-gradient", "fairlearn-threshold"
#: The methods that are compared by default; ``unconstrained`` is the plain model.
COMPARED = (
    *(name for name, kind in METHODS.items() if name != "unconstrained" and kind.traits.only_for != "mini-batches"),
    FRONTIER,
)


@dataclass(frozen=True)
class Result:
    """One method on one split: its model, and error and gap on the test rows."""

    method: str
    seed: int
    fit: Fit
    error: Measure
    gap: Measure
    train_gap: float | None
    changes: Mapping[str, Any] | None = None  # against the plain model of the same split; None for that one

    @property
    def is_constant(self) -> bool:
        """Whether it predicts (nearly) one label for all rows."""
        return any(isinstance(warning, ConstantModelWarning) for warning in self.fit.warnings)

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "method": self.method,
            "error": self.error.to_dict(),
            self.gap.name: self.gap.to_dict(),
            "train_gap": self.train_gap,
            **({} if self.changes is None else {"changes": self.changes}),
            "fits": self.fit.n_fits,
            "seconds": self.fit.seconds,
            "constant": self.is_constant,
            "needs_protected": self.method == THRESHOLD,
            "warnings": [str(warning) for warning in self.fit.warnings],
        }


@dataclass(frozen=True)
class Comparison:
    """Every method on every split; `refused` says why fairlearn's or the frontier was left out."""

    samples: Samples
    constraint: Constraint
    settings: Settings
    results: Sequence[Result]
    refused: Mapping[str, str]

    def summary(self) -> list[dict[str, Any]]:
        """For each method mean and standard deviation over the splits; undefined measures are left out."""
        names = [name for name in dict.fromkeys(result.method for result in self.results) if name not in self.refused]
        return [self._row(name, [result for result in self.results if result.method == name]) for name in names]

    def _row(self, method: str, results: Sequence[Result]) -> dict[str, Any]:
        return {
            "method": method,
            **_mean_and_sd("error", [result.error.value for result in results]),
            **_mean_and_sd(self.constraint.measure, [result.gap.value for result in results]),
            "train_gap_mean": _mean_and_sd("", [result.train_gap for result in results])["_mean"],
            "fits_mean": statistics.fmean(result.fit.n_fits for result in results),
            "seconds_mean": statistics.fmean(result.fit.seconds for result in results),
            "constant": sum(result.is_constant for result in results),
        }

    @property
    def n_models(self) -> int:
        """How many methods a reader may choose among on each split."""
        return len({result.method for result in self.results} - set(self.refused))

    def if_chosen(self, result: Result) -> Measure:
        """The gap on the test rows, with an interval that allows for the choice among the methods."""
        return chosen_measure(result.fit.splits["test"], self.constraint, self.n_models)

    def metrics(self, rows: Sequence[Mapping[str, Any]], config: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """The content of a metrics.json, with `rows` under ``methods`` and every single model under ``runs``."""
        samples, settings = self.samples, self.settings
        noted = [str(warning) for warning in samples.warnings]
        chosen = {"constraint": self.constraint.name, "tol": settings.tol, "estimator": settings.estimator}
        return metrics(
            data=data_entry(samples.data.name, samples.data.frame, samples.labels, samples.groups),
            config={**samples.question, **chosen, **config, "test_size": settings.test_size},
            splits={},
            measure=describe(self.constraint, samples.label),
            methods=rows,
            runs=[
                {
                    "seed": result.seed,
                    **(own := result.to_dict()),
                    "warnings": [*noted, *own["warnings"]],
                    "if_chosen": self.if_chosen(result).to_dict(),
                    "splits": result.fit.splits,
                    "history": result.fit.history,
                }
                for result in self.results
            ],
            **more,
        )


def compare(
    source: Source | Samples,
    settings: Settings | None = None,
    methods: Iterable[str | type[Method]] = COMPARED,
    *,
    seeds: Sequence[int] = range(5),
    plain_fits: int = 1,
    progress: bool = False,
) -> Comparison:
    """Train the plain model, each method and, where installed, fairlearn's two algorithms on the same splits.

    There is one split per seed. Of several fits of the plain model the shortest time counts. `settings` gives the
    constraint, its tolerance, the estimator, the rounds at most and the share of test rows.

    >>> done = compare(Source("german"), methods=["reweight"], seeds=range(2))
    >>> [row["method"] for row in done.summary()][:2]
    ['plain', 'reweight']
    """
    settings = Settings() if settings is None else settings
    make_estimator(settings.estimator, 0)  # refuses a net
    made = [_named(method, settings) for method in methods]
    own = dict(made)
    if len(own) < len(made):
        raise InputError("{methods} names a method twice.", methods=None)
    constraint = settings.make_constraint(1)
    with progress_bar(None, shown=progress, text="reading"):
        samples = source.read() if isinstance(source, Source) else source
    given = {"weight": samples.weight, "attributes": samples.groups.attributes}
    for name in [name for name, value in given.items() if value]:
        raise InputError(
            f"{{{name}}} is not for comparing, since not every method takes it: leave it out.", **{name: None}
        )
    results, refused = [], _refused(own, settings)
    names = [PLAIN, *(name for name in own if name not in refused), *fairlearn_methods(constraint)]
    with progress_bar(len(seeds) * len(names), shown=progress) as update:
        for place, (seed, name) in enumerate(itertools.product(seeds, names)):
            update(place, f"{name}, seed {seed}")
            if name == PLAIN:
                split = _Split(samples, constraint, settings, seed)
            try:
                results.append(split.result(name, own.get(name), plain_fits if name == PLAIN else 1))
            except InputError as error:
                if name not in (GRADIENT, THRESHOLD):
                    raise
                refused[name] = str(error)
    return Comparison(samples, constraint, settings, results, refused)


def _named(method: str | type[Method], settings: Settings) -> tuple[str, Method | None]:
    """A method with its name; the frontier is no Method."""
    if method == FRONTIER:
        return FRONTIER, None
    made = replace(settings, method=method).make_method()
    return made.name, made


def _refused(names: Iterable[str], settings: Settings) -> dict[str, str]:
    """The frontier with the reason, if it is not for the estimator or the constraint."""
    try:
        if FRONTIER in names:
            Settings(settings.constraint, settings.tol, settings.estimator, FRONTIER)
    except InputError as error:
        return {FRONTIER: str(error)}
    return {}


def fairlearn_methods(constraint: Constraint) -> list[str]:
    """Names of fairlearn's algorithms that have this constraint; none without fairlearn."""
    known = ((GRADIENT, MOMENTS), (THRESHOLD, THRESHOLDS)) if has_fairlearn() else ()
    return [name for name, constraints in known if constraint.name in constraints]


@cache
def has_fairlearn() -> bool:
    """Whether fairlearn can be imported."""
    try:
        importlib.import_module("fairlearn.reductions")
    except ImportError:
        return False
    return True


class _Split:
    """The rows to train and to test on, with their features prepared once; labels are 0 and 1.

    The plain model comes first: `plain` has its predictions for the test rows, which the others are compared with.
    """

    plain: Any

    def __init__(self, samples: Samples, constraint: Constraint, settings: Settings, seed: int) -> None:
        self.samples, self.constraint, self.seed = samples, constraint, seed
        self.estimator, self.max_iter = make_estimator(settings.estimator, seed), settings.max_iter or MAX_ITER
        self.train, self.test = samples.split(settings.test_size, seed)
        self.X = preprocess(samples.X).fit(samples.X.iloc[self.train]).transform(samples.X)
        self.y, self.groups = samples.data.y, samples.group_names

    def result(self, name: str, method: Method | None, n_fits: int) -> Result:
        """Fit a method and measure it; of several fits the shortest time counts."""
        fits = [timed(lambda: self._fit(name, method)) for _ in range(n_fits)]
        model, key = fits[-1].model, self.constraint.measure
        train, _ = self._measured(model, self.train, train=True)
        test, predicted = self._measured(model, self.test)
        fit = replace(fits[-1], seconds=min(fit.seconds for fit in fits), splits={"train": train, "test": test})
        changes = None
        if name == PLAIN:
            self.plain = predicted
        else:
            changes = changes_entry(self.samples, self.test, self.plain, predicted, self.constraint, binary=True)
        measures = fit.measures
        return Result(name, self.seed, fit, measures["error"], measures[key], train[key]["value"], changes)

    def _fit(self, name: str, method: Method | None) -> Any:
        X, y, constraint = self.X[self.train], self.y[self.train], self.constraint
        if name == PLAIN:
            return clone(self.estimator).fit(X, y)
        if name == GRADIENT:
            model: Any = AgarwalClassifier(self.estimator, constraint=constraint.name, tol=constraint.tol)
        elif name == THRESHOLD:
            model = HardtClassifier(self.estimator, constraint=constraint.name)
        elif name == FRONTIER:
            model = FrontierClassifier(self.estimator, constraint=constraint, random_state=self.seed)
        else:
            model = FairALMClassifier(
                self.estimator, constraint=constraint, method=method, max_iter=self.max_iter, random_state=self.seed
            )
        return model.fit(X, y, sensitive_features=self.groups[self.train])

    def _measured(self, model: Any, rows: IntArray, *, train: bool = False) -> tuple[dict[str, Any], Any]:
        """The figures of a model on some rows, and its predictions for them."""
        X, scores = self.X[rows], None
        if isinstance(model, (AgarwalClassifier, HardtClassifier)):  # their predictions are drawn
            group = {"sensitive_features": self.groups[rows]} if model.needs_group_to_predict else {}
            drawn = np.random.RandomState(self.seed).random_sample(len(rows))
            predicted = (model.expected_predict(X, **group) >= drawn).astype(int)
        else:
            predicted = model.predict(X)
            scores = None if train else scores_of(model, X, 1)
        return self.samples.entry(rows, predicted, scores, self.constraint, train=train, binary=True), predicted


def _mean_and_sd(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    defined = [value for value in values if value is not None]
    return {
        f"{name}_mean": statistics.fmean(defined) if defined else None,
        f"{name}_sd": statistics.stdev(defined) if len(defined) > 1 else None,
    }
