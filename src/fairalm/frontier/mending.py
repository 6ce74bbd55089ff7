"""Mending probabilities that are off: a small logistic regression on out-of-fold rows, kept only where it pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.frontier.joint import Joint, Population, in_population
from fairalm.logistic import NewtonLogistic

SMALLEST = 1e-3  # a probability below this counts as this one: a forest's 0 does not mean never
EXACT = 1e-6  # of the gradient
STRONGEST = 10.0  # factor by which the probabilities of several labels are sharpened, or blunted
FOLDS, FEWEST = 2, 50  # of the check, and rows of each class that it needs


def target_columns(target: FloatArray) -> FloatArray:
    """What P(target | x) is mended from: its log-odds. Without an intercept, one half stays one half.

    So the plain model predicts the same after mending; only how sure it is changes. With several labels, shape
    (n, labels), these are their log-probabilities.
    """
    if target.ndim == 2:
        return _logs(target)
    share = np.clip(target, SMALLEST, 1 - SMALLEST)
    return np.asarray(np.log(share / (1 - share))[:, None])


def member_columns(members: FloatArray, target: FloatArray) -> FloatArray:
    """What P(group | x, label) is mended from: the log-probabilities, and the log-odds of the target.

    With the latter, the groups' shares are right at every score, not on the whole only: rates above a threshold
    depend on that.
    """
    return np.column_stack([_logs(members), target_columns(target)])


def _logs(probabilities: FloatArray) -> FloatArray:
    logs = np.log(np.clip(probabilities, SMALLEST, 1.0))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def mended(
    columns: FloatArray, given: FloatArray, labels: BoolArray | IntArray, weight: FloatArray, *, intercept: bool = True
) -> Any:
    """A logistic regression from the columns to the labels, or None if it does not pay.

    It pays if its log loss, on folds of its own, is below that of the probabilities as `given`, shape (n, classes). To
    ask for more, such as a fall beyond chance, would leave gaps that a few parameters can close.
    """
    if not can_mend(labels, given.shape[1]):
        return None
    weight = weight / weight.mean()
    regression = _Regression(columns, labels, intercept=intercept)
    model = regression.fit(weight)  # first: the folds start there
    if regression.loss(weight) >= _loss(given, labels, weight):
        return None
    return model if intercept or model.coef_.min() > 0 else None  # never against what the plain model says


def can_mend(labels: BoolArray | IntArray, n_classes: int) -> bool:
    """Whether there are enough rows of every class."""
    classes, sizes = np.unique(labels, return_counts=True)
    return len(classes) >= max(2, n_classes) and int(sizes.min()) >= FEWEST


def mended_loss(
    columns: FloatArray, labels: BoolArray | IntArray, weight: FloatArray, *, intercept: bool = True
) -> float:
    """The log loss of mended probabilities, on folds of their own."""
    return _Regression(columns, labels, intercept=intercept).loss(weight)


class _Regression:
    """A logistic regression of few columns, fitted to the same rows under changing weights.

    With two classes, :class:`fairalm.logistic.NewtonLogistic` solves it: its fits start where the last one ended.
    """

    def __init__(self, columns: FloatArray, labels: BoolArray | IntArray, *, intercept: bool) -> None:
        self.columns, self.labels, self.classes = columns, labels, np.unique(labels)
        settings: Any = {"solver": "newton-cholesky", "fit_intercept": intercept}
        self.template = LogisticRegression(C=100.0, max_iter=500, tol=EXACT, **settings)
        self.newton = NewtonLogistic(self.template, columns) if len(self.classes) == 2 else None

    def fit(self, weight: FloatArray) -> LogisticRegression:
        """The model for these weights, some of which may be 0."""
        if self.newton is not None:
            model = self.newton.fit(self.labels == self.classes[1], weight, self.classes)
            if model is not None:
                return model
        return clone(self.template).fit(self.columns, self.labels, sample_weight=weight)

    def loss(self, weight: FloatArray) -> float:
        """The log loss on folds of its own."""
        chances = np.empty((len(self.labels), len(self.classes)))
        for _, fold in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(self.columns, self.labels):
            outside = weight.copy()
            outside[fold] = 0.0
            if self.newton is not None and self.newton.solve(self.labels == self.classes[1], outside) is not None:
                own = expit(self.newton.margin[fold])
                chances[fold] = np.column_stack([1 - own, own])
            else:
                chances[fold] = self.fit(outside).predict_proba(self.columns[fold])
        return _loss(chances, self.labels, weight)


def _loss(probabilities: FloatArray, labels: BoolArray | IntArray, weight: FloatArray) -> float:
    column = np.unique(labels, return_inverse=True)[1]
    own = np.clip(probabilities[np.arange(len(column)), column], SMALLEST, 1)
    return -float(weight @ np.log(own)) / float(weight.sum())


@dataclass(frozen=True)
class Sharpened:
    """Mends the probabilities of several labels by one factor of their logarithms: their order stays as it is."""

    factor: float

    @classmethod
    def found(cls, given: FloatArray, labels: IntArray, weight: FloatArray) -> Sharpened | None:
        """The factor with the least log loss, or None if it does not pay on folds of its own."""
        if not can_mend(labels, given.shape[1]):
            return None
        columns, chances = target_columns(given), np.empty_like(given)
        for others, fold in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(columns, labels):
            chances[fold] = cls._of(columns[others], labels[others], weight[others]).predict_proba(columns[fold])
        if _loss(chances, labels, weight) >= _loss(given, labels, weight):
            return None
        return cls._of(columns, labels, weight)

    @classmethod
    def _of(cls, columns: FloatArray, labels: IntArray, weight: FloatArray) -> Sharpened:
        def loss(log_factor: float) -> float:
            return _loss(softmax(np.exp(log_factor) * columns, axis=1), labels, weight)

        return cls(float(np.exp(minimize_scalar(loss, bounds=(-np.log(STRONGEST), np.log(STRONGEST))).x)))

    def predict_proba(self, columns: FloatArray) -> FloatArray:
        """The mended probabilities, given the columns of :func:`target_columns`."""
        return np.asarray(softmax(self.factor * columns, axis=1))


def mended_members(
    joint: Joint, target: FloatArray, label: BoolArray | IntArray, group: IntArray, weight: FloatArray
) -> dict[Population, Any]:
    """What mends the probabilities of the groups in each population, where that pays.

    `target` has the mended probabilities of the label, `label` is as in :func:`fairalm.frontier.joint.in_population`,
    and `group` has codes, -1 where the group is unknown.
    """
    found = {}
    for population, members in joint.members.items():
        own = in_population(population, label) & (group >= 0)
        found[population] = mended(member_columns(members[own], target[own]), members[own], group[own], weight[own])
    return {population: model for population, model in found.items() if model is not None}
