"""Rules side by side on one split: the plain model, ours, and fairlearn's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from fairalm._validation import IntArray
from fairalm.cli import _fairlearn
from fairalm.cli._data import People
from fairalm.cli._models import make_method, scores_of, timed
from fairalm.constraints import Constraint
from fairalm.datasets import preprocess
from fairalm.exceptions import ConstantModelWarning
from fairalm.measures import Measure, splits_entry
from fairalm.methods import DEFAULT_METHOD
from fairalm.sklearn import FairALMClassifier

PLAIN = "plain"


@dataclass(frozen=True)
class Result:
    """One rule on one split."""

    rule: str
    error: Measure
    gap: Measure  # the criterion's measure, on the test people
    train_gap: float | None
    fits: int
    seconds: float
    constant: bool  # (nearly) one prediction for all
    splits: dict[str, Any]  # as in metrics.json
    history: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "method": self.rule,
            "error": self.error.to_dict(),
            self.gap.name: self.gap.to_dict(),
            "train_gap": self.train_gap,
            "fits": self.fits,
            "seconds": self.seconds,
            "constant": self.constant,
            "needs_protected": self.rule == _fairlearn.THRESHOLD,
        }

    def to_run(self, seed: int) -> dict[str, Any]:
        """The same with what a report needs."""
        return {"seed": seed, **self.to_dict(), "splits": self.splits, "history": self.history}


def rules_of(methods: Sequence[str], constraint: Constraint) -> list[str]:
    """Names of all that will run, in the order of the table."""
    return [PLAIN, *methods, *_fairlearn.comparators(constraint)]


class Split:
    """Train and test people with their features prepared once.

    Parameters
    ----------
    people : People
        Everyone.
    constraint : Constraint
        The criterion, with target 1: labels are 0 and 1 here.
    estimator : classifier
        What every rule trains.
    seed : int
        Of the split and of all that is random.
    test_size : float
        Share of test people.
    max_iter : int
        Rounds at most.
    """

    def __init__(
        self, people: People, constraint: Constraint, estimator: Any, *, seed: int, test_size: float, max_iter: int
    ) -> None:
        self.people, self.constraint, self.estimator = people, constraint, estimator
        self.seed, self.max_iter = seed, max_iter
        self.train, self.test = people.split(test_size, seed)
        head = preprocess(people.X).fit(people.X.iloc[self.train])
        self.X_train = head.transform(people.X.iloc[self.train])
        self.X_test = head.transform(people.X.iloc[self.test])
        self.y, self.names = people.data.y, people.names

    def result(self, rule: str, *, repeats: int = 1) -> Result:
        """Fit a rule and measure it; of several repeats the quickest counts."""
        fits = [timed(lambda: self._fit(rule)) for _ in range(repeats)]
        model = fits[-1].model
        tested = self._entry(rule, model, self.X_test, self.test)
        trained = self._entry(rule, model, self.X_train, self.train, train=True)
        measure = self.constraint.measure
        return Result(
            rule,
            Measure("error", **tested["error"]),
            Measure(measure, **tested[measure]),
            trained[measure]["value"],
            int(getattr(model, "n_oracle_calls_", 1)),
            min(fit.seconds for fit in fits),
            any(isinstance(warning, ConstantModelWarning) for warning in fits[-1].warnings),
            {"train": trained, "test": tested},
            {str(name): column.tolist() for name, column in getattr(model, "history_", {}).items()},
        )

    def _fit(self, rule: str) -> Any:
        y, groups = self.y[self.train], self.names[self.train]
        if rule == PLAIN:
            return clone(self.estimator).fit(self.X_train, y)
        if rule in _fairlearn.LEGEND:
            return _fairlearn.fit(rule, self.estimator, self.constraint, self.X_train, y, groups)
        model = FairALMClassifier(
            self.estimator,
            constraint=self.constraint,
            method=make_method(rule),
            max_iter=self.max_iter,
            random_state=self.seed,
        )
        return model.fit(self.X_train, y, sensitive_features=groups)

    def _entry(self, rule: str, model: Any, X: Any, rows: IntArray, *, train: bool = False) -> dict[str, Any]:
        scores = None
        if rule in _fairlearn.LEGEND:
            predicted = _fairlearn.predict(rule, model, X, self.names[rows], self.seed)
        else:
            predicted = model.predict(X)
            scores = None if train else scores_of(model, X, 1)
        groups = self.people.groups_of(rows)
        return splits_entry(self.y[rows], predicted, scores, sensitive_features=groups, target=1, train=train)


def footnotes(results: Sequence[Result]) -> list[str]:
    """What the marks of :func:`marked` mean, which rule is the default, and who fairlearn's are."""
    default = DEFAULT_METHOD["sklearn"].name
    notes = [f"{default}: the default of fairalm, untuned."] if default in {r.rule for r in results} else []
    notes += [f"{rule}: {words}." for rule, words in _fairlearn.LEGEND.items() if rule in {r.rule for r in results}]
    if any(result.rule == _fairlearn.THRESHOLD for result in results):
        notes.append("* needs the protected attribute of everyone it predicts; the others do not.")
    if any(result.constant for result in results):
        notes.append("! predicts (nearly) the same for everyone: it has no gap, and no use.")
    if not _fairlearn.is_installed():
        notes.append('fairlearn is not installed: pip install "fairalm[compare]" adds its two algorithms.')
    return notes


def marked(rule: str, *, constant: bool) -> str:
    """Name of a rule with its footnote marks."""
    return rule + "*" * (rule == _fairlearn.THRESHOLD) + "!" * constant
