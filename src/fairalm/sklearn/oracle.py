"""Fit this estimator on these weights: the oracle of the game over scikit-learn."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from fairalm._validation import FloatArray
from fairalm.exceptions import InputError

BoolArray = npt.NDArray[np.bool_]


class WeightedFitter:
    """Fits clones of one estimator to the same rows under changing weights.

    A negative weight becomes its size on the other label, which is the same thing for 0/1 error. The steps of a
    pipeline before its last are fitted once, on the data as it is; only the last is fitted again. Logistic regression
    starts from the coefficients of the fit before.

    Parameters
    ----------
    estimator : classifier or pipeline
        Its (last step's) ``fit`` must take `sample_weight`.
    X : array or data frame
        The rows to fit on.
    positive : bool array
        The labels, True for the target.
    classes : (other, target)
        The labels the estimator is to see.
    """

    def __init__(self, estimator: Any, X: Any, positive: BoolArray, classes: tuple[Any, Any]) -> None:
        self.head: Any = None
        self.last_step = estimator
        self.positive = positive
        self.labels = np.array(classes)
        if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
            self.head = clone(estimator[:-1])
            self.last_step = estimator[-1]
        check_takes_weights(self.last_step)
        self.X = X if self.head is None else self.head.fit_transform(X, self.labels[positive.astype(int)])
        self.pipeline = estimator if self.head is not None else None
        self.warm = isinstance(self.last_step, LogisticRegression) and self.last_step.solver != "liblinear"
        self.before: Any = None
        self.n_fits = 0

    def fit(self, weights: FloatArray) -> Any:
        """The last step, fitted; weights are 1 for a plain fit."""
        positive = np.where(weights < 0, ~self.positive, self.positive)
        size = np.abs(weights)
        self.n_fits += 1
        counted = positive[size > 0]
        if counted.all() or not counted.any():  # nothing left to learn: one label for everyone
            constant = DummyClassifier(strategy="constant", constant=self.labels[int(counted.any())])
            return constant.fit(self.X, self.labels[self.positive.astype(int)])
        if self.warm and self.before is not None:
            model = copy.deepcopy(self.before).set_params(warm_start=True)
        else:
            model = clone(self.last_step)
        model.fit(self.X, self.labels[positive.astype(int)], sample_weight=size)
        if self.warm:
            model.set_params(warm_start=self.last_step.warm_start)
            self.before = model
        return model

    def transform(self, X: Any) -> Any:
        """Rows as the last step sees them."""
        return X if self.head is None else self.head.transform(X)

    def wrap(self, model: Any) -> Any:
        """A fitted last step as the user's whole estimator."""
        if self.pipeline is None:
            return model
        return Pipeline([*self.head.steps, (self.pipeline.steps[-1][0], model)])


def check_takes_weights(estimator: Any) -> None:
    """Refuse an estimator whose fit knows no sample_weight."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise InputError(f"`estimator` must be a classifier with fit and predict; got {estimator!r}.")
    parameters = inspect.signature(estimator.fit).parameters
    if "sample_weight" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    raise InputError(
        f"{type(estimator).__name__}.fit takes no sample_weight, through which every rule here works: choose an"
        " estimator that does, for example LogisticRegression, LinearSVC, a tree, a forest or boosting."
    )
