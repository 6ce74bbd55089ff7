"""Methods side by side on several splits: the plain model, ours, and fairlearn's."""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone

from fairalm._validation import IntArray
from fairalm.constraints import Constraint
from fairalm.datasets import preprocess
from fairalm.exceptions import ConstantModelWarning, InputError
from fairalm.measures import Measure, describe, splits_entry
from fairalm.methods import METHODS, Method
from fairalm.progress import progress_bar
from fairalm.runs.choices import make_estimator
from fairalm.runs.fits import Fit, scores_of, timed
from fairalm.runs.metrics import data_entry, metrics
from fairalm.runs.settings import MAX_ITER, Settings
from fairalm.runs.source import Samples, Source
from fairalm.sklearn import FairALMClassifier
from fairalm.sklearn.comparators.fairlearn import (
    MOMENTS,
    THRESHOLDS,
    AgarwalClassifier,
    FairlearnComparator,
    HardtClassifier,
)

PLAIN, GRADIENT, THRESHOLD = "plain", "fairlearn-gradient", "fairlearn-threshold"
#: The methods that are compared by default; ``unconstrained`` is the plain model.
COMPARED = tuple(
    name for name, method in METHODS.items() if name != "unconstrained" and method.traits.only_for != "mini-batches"
)


@dataclass(frozen=True)
class Result:
    """One method on one split."""

    method: str
    seed: int
    measure: str  # the constraint's
    fit: Fit

    @property
    def error(self) -> Measure:
        """The error on the test rows."""
        return self.fit.measures["error"]

    @property
    def gap(self) -> Measure:
        """The constraint's measure on the test rows."""
        return self.fit.measures[self.measure]

    @property
    def train_gap(self) -> float | None:
        """The same on the training rows."""
        gap: float | None = self.fit.splits["train"][self.measure]["value"]
        return gap

    @property
    def is_constant(self) -> bool:
        """Whether it predicts (nearly) one label for all rows."""
        return any(isinstance(warning, ConstantModelWarning) for warning in self.fit.warnings)

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "method": self.method,
            "error": self.error.to_dict(),
            self.measure: self.gap.to_dict(),
            "train_gap": self.train_gap,
            "fits": self.fit.n_fits,
            "seconds": self.fit.seconds,
            "constant": self.is_constant,
            "needs_protected": self.method == THRESHOLD,
        }


@dataclass(frozen=True)
class Comparison:
    """Every method on every split; `refused` says why a method is left out."""

    samples: Samples
    constraint: Constraint
    settings: Settings
    methods: Sequence[str]
    results: Sequence[Result]
    refused: dict[str, str] = field(default_factory=dict)

    def summary(self) -> list[dict[str, Any]]:
        """For each method mean and standard deviation over the splits; undefined measures are left out."""
        return [self._row(method) for method in self.methods if method not in self.refused]

    def _row(self, method: str) -> dict[str, Any]:
        results = [result for result in self.results if result.method == method]
        return {
            "method": method,
            **_mean_and_sd("error", [result.error.value for result in results]),
            **_mean_and_sd(self.constraint.measure, [result.gap.value for result in results]),
            "train_gap_mean": _mean_and_sd("", [result.train_gap for result in results])["_mean"],
            "fits_mean": statistics.fmean(result.fit.n_fits for result in results),
            "seconds_mean": statistics.fmean(result.fit.seconds for result in results),
            "constant": sum(result.is_constant for result in results),
        }

    def metrics(self, rows: Sequence[dict[str, Any]], config: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The content of a metrics.json, with `rows` under ``methods`` and every single model under ``runs``."""
        samples, settings = self.samples, self.settings
        chosen = {"constraint": self.constraint.name, "tol": settings.tol, "estimator": settings.estimator}
        return metrics(
            data=data_entry(samples.data.name, samples.data.frame, samples.labels, samples.groups),
            config={**samples.question, **chosen, **config, "test_size": settings.test_size},
            splits={},
            measure=describe(self.constraint, samples.label),
            methods=rows,
            runs=[
                {"seed": result.seed, **result.to_dict(), "splits": result.fit.splits, "history": result.fit.history}
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

    Parameters
    ----------
    source : Source or Samples
        The data.
    settings : Settings, optional
        Constraint, tolerance, estimator, rounds at most and share of test rows; the rest is not used.
    methods : iterable of str or subclass of Method
        As in :class:`Settings`.
    seeds : sequence of int
        One split per seed.
    plain_fits : int
        How often the plain model is fitted; its shortest time counts.
    progress : bool
        Show a progress bar on stderr.

    Examples
    --------
    >>> from fairalm.runs import Source
    >>> done = compare(Source("german"), methods=["reweight"], seeds=range(2))
    >>> [row["method"] for row in done.summary()][:2]
    ['plain', 'reweight']
    """
    settings = Settings() if settings is None else settings
    make_estimator(settings.estimator, 0)  # refuses a net
    made = [replace(settings, method=method).make_method() for method in methods]
    own = {method.name: method for method in made}
    if len(own) < len(made):
        raise InputError("{methods} names a method twice.", methods=None)
    constraint = settings.make_constraint(1)
    with progress_bar(None, shown=progress, text="reading"):
        samples = source.read() if isinstance(source, Source) else source
    names = [PLAIN, *own, *fairlearn_methods(constraint)]
    jobs = [(seed, name) for seed in seeds for name in names]
    results, refused = [], {}
    with progress_bar(len(jobs), shown=progress) as update:
        for done, (seed, name) in enumerate(jobs):
            if name == PLAIN:
                split = _Split(samples, constraint, settings, seed)
            update(done, f"{name}, seed {seed}")
            try:
                results.append(split.result(name, own.get(name), plain_fits if name == PLAIN else 1))
            except InputError as error:
                if name not in (GRADIENT, THRESHOLD):
                    raise
                refused[name] = str(error)
    return Comparison(samples, constraint, settings, names, results, refused)


def fairlearn_methods(constraint: Constraint) -> list[str]:
    """Names of fairlearn's algorithms that have this constraint; none without fairlearn."""
    if not has_fairlearn():
        return []
    return [name for name, known in ((GRADIENT, MOMENTS), (THRESHOLD, THRESHOLDS)) if constraint.name in known]


@cache
def has_fairlearn() -> bool:
    """Whether fairlearn can be imported."""
    try:
        importlib.import_module("fairlearn.reductions")
    except ImportError:
        return False
    return True


class _Split:
    """The rows to train and to test on, with their features prepared once; labels are 0 and 1."""

    def __init__(self, samples: Samples, constraint: Constraint, settings: Settings, seed: int) -> None:
        self.samples, self.constraint, self.seed = samples, constraint, seed
        self.estimator = make_estimator(settings.estimator, seed)
        self.max_iter = settings.max_iter or MAX_ITER
        self.train, self.test = samples.split(settings.test_size, seed)
        head = preprocess(samples.X).fit(samples.X.iloc[self.train])
        self.X_train, self.X_test = (head.transform(samples.X.iloc[rows]) for rows in (self.train, self.test))
        self.y, self.groups = samples.data.y, samples.group_names

    def result(self, name: str, method: Method | None, n_fits: int) -> Result:
        """Fit a method and measure it; of several fits the shortest time counts."""
        fits = [timed(lambda: self._fit(name, method)) for _ in range(n_fits)]
        model = fits[-1].model
        splits = {
            "train": self._entry(model, self.X_train, self.train, train=True),
            "test": self._entry(model, self.X_test, self.test),
        }
        seconds = min(fit.seconds for fit in fits)
        return Result(name, self.seed, self.constraint.measure, replace(fits[-1], seconds=seconds, splits=splits))

    def _fit(self, name: str, method: Method | None) -> Any:
        y, constraint = self.y[self.train], self.constraint
        if name == PLAIN:
            return clone(self.estimator).fit(self.X_train, y)
        if name == GRADIENT:
            model: Any = AgarwalClassifier(self.estimator, constraint=constraint.name, tol=constraint.tol)
        elif name == THRESHOLD:
            model = HardtClassifier(self.estimator, constraint=constraint.name)
        else:
            model = FairALMClassifier(
                self.estimator, constraint=constraint, method=method, max_iter=self.max_iter, random_state=self.seed
            )
        return model.fit(self.X_train, y, sensitive_features=self.groups[self.train])

    def _entry(self, model: Any, X: Any, rows: IntArray, *, train: bool = False) -> dict[str, Any]:
        groups, scores = self.samples.groups_of(rows), None
        if isinstance(model, FairlearnComparator):
            group = {"sensitive_features": self.groups[rows]} if model.needs_group_to_predict else {}
            drawn = np.random.RandomState(self.seed).random_sample(len(rows))
            predicted = (model.expected_predict(X, **group) >= drawn).astype(int)
        else:
            predicted = model.predict(X)
            scores = None if train else scores_of(model, X, 1)
        return splits_entry(
            self.y[rows],
            predicted,
            scores,
            sensitive_features=groups,
            target=1,
            constraint=self.constraint,
            train=train,
        )


def _mean_and_sd(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    defined = [value for value in values if value is not None]
    return {
        f"{name}_mean": statistics.fmean(defined) if defined else None,
        f"{name}_sd": statistics.stdev(defined) if len(defined) > 1 else None,
    }
