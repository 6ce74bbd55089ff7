"""Fits of a scikit-learn estimator to changing weights: the learner that the signals need."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from fairalm.arrays import BoolArray, FloatArray
from fairalm.exceptions import InputError
from fairalm.logistic import NewtonLogistic, is_newton_problem
from fairalm.sklearn.shifted import ShiftedClassifier, margin_of

CHECKED = 1000  # rows on which margins are compared with predictions


class EstimatorLearner:
    """Fits clones of one estimator to the same rows, under changing weights.

    A negative weight becomes its absolute value on the other label, which is the same thing for 0/1 error. The steps
    of a pipeline before its last are fitted once, on the data as it is; only the last is fitted again. Logistic
    regression starts from the coefficients of the previous fit, and where it is plain enough it is solved by
    :class:`fairalm.logistic.NewtonLogistic`.

    Parameters
    ----------
    estimator : classifier or pipeline
        Its (last step's) ``fit`` must take `sample_weight`.
    X : array or data frame
        The rows to fit on.
    positive : bool array
        Which rows have the target label.
    classes : (other, target)
        The labels that the estimator is given.
    many : bool
        Whether there will be more than one fit; otherwise scikit-learn's own solver is used as it is.
    """

    def __init__(
        self, estimator: Any, X: Any, positive: BoolArray, classes: tuple[Any, Any], *, many: bool = True
    ) -> None:
        self.transformer: Any = None
        self.last_step = estimator
        self.positive = positive
        self.labels = np.array(classes)
        self.pipeline = estimator if isinstance(estimator, Pipeline) else None
        if self.pipeline is not None:
            self.last_step = estimator[-1]
            if isinstance(self.last_step, Pipeline):
                raise InputError(
                    "The last step of `estimator` is a pipeline itself: write its steps into the outer one."
                )
            if len(estimator.steps) > 1:
                self.transformer = clone(estimator[:-1])
        check_takes_weights(self.last_step)
        self.x = X if self.transformer is None else self.transformer.fit_transform(X, self.labels[positive.astype(int)])
        self.warm = isinstance(self.last_step, LogisticRegression) and self.last_step.solver != "liblinear"
        self.newton: NewtonLogistic | None = None
        if many and is_newton_problem(self.last_step, self.x):
            self.newton = NewtonLogistic(self.last_step, self.x)
        self.previous: Any = None
        self.n_fits = 0
        self._has_margin: bool | None = None  # not known before the first model

    def fit(self, weights: FloatArray) -> Any:
        """The last step, fitted to one weight per row, 1 for a plain fit; negative weights are overwritten."""
        positive, size, flipped = self.positive, weights, weights < 0
        if flipped.any():
            positive = positive ^ flipped
            np.abs(size, out=size)
        self.n_fits += 1
        used = positive[size > 0]
        if used.all() or not used.any():  # only one label is left
            return self._constant(bool(used.any()))
        if self.newton is not None:
            model = self.newton.fit(positive, size, self.labels)
            if model is not None:
                self.previous = model
                return model
            self.newton = None  # it did not converge: scikit-learn's solvers are slower but safer
        if self.warm and self.previous is not None:
            model = copy.deepcopy(self.previous).set_params(warm_start=True)
        else:
            model = clone(self.last_step)
        model.fit(self.x, self.labels[positive.astype(int)], sample_weight=size)
        if self.warm:
            model.set_params(warm_start=self.last_step.warm_start)
            self.previous = model
        return model

    def margin(self, model: Any, x: Any) -> FloatArray:
        """Decision values or log-odds of the target, where `predict` goes by them; otherwise 1 and -1."""
        if self.newton is not None and model is self.previous and x is self.x:
            return self.newton.margin.copy()
        if self._has_margin is None:
            few = _safe_indexing(x, np.arange(min(_num_samples(x), CHECKED)))
            found = margin_of(model, few, self.labels[1])
            agrees = found is not None and np.array_equal(found > 0, model.predict(few) == self.labels[1])
            self._has_margin = agrees
        found = margin_of(model, x, self.labels[1]) if self._has_margin else None
        return np.where(model.predict(x) == self.labels[1], 1.0, -1.0) if found is None else found

    def shifted(self, model: Any, by: float) -> Any:
        """The last step with its threshold moved; a linear model stays what it is, with another intercept."""
        if by == 0:
            return model
        if np.isinf(by):
            return self._constant(by < 0)
        sign = 1.0 if model.classes_[-1] == self.labels[1] else -1.0
        if isinstance(model, LinearClassifierMixin):
            moved = copy.deepcopy(model)
            moved.intercept_ = moved.intercept_ - sign * by
            return moved
        return ShiftedClassifier(model, sign * by)

    def n_coefficients(self, model: Any) -> float:
        """Size of a linear model; infinite for any other."""
        return float(np.size(model.coef_)) if isinstance(model, LinearClassifierMixin) else np.inf

    def _constant(self, is_target: bool) -> Any:
        constant = DummyClassifier(strategy="constant", constant=self.labels[int(is_target)])
        return constant.fit(self.x, self.labels[self.positive.astype(int)])

    def transform(self, X: Any) -> Any:
        """Rows as the last step takes them."""
        return X if self.transformer is None else self.transformer.transform(X)

    def wrap(self, model: Any) -> Any:
        """The user's whole estimator, with a fitted last step."""
        if self.pipeline is None:
            return model
        steps = [] if self.transformer is None else self.transformer.steps
        return Pipeline([*steps, (self.pipeline.steps[-1][0], model)])


def check_takes_weights(estimator: Any) -> None:
    """Refuse an estimator whose fit does not take sample_weight."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise InputError(f"`estimator` must be a classifier with fit and predict; got {estimator!r}.")
    parameters = inspect.signature(estimator.fit).parameters
    if "sample_weight" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    raise InputError(
        f"{type(estimator).__name__}.fit takes no sample_weight, which every method here needs: choose an estimator"
        " that does, for example LogisticRegression, LinearSVC, a tree, a forest or boosting."
    )
