"""Fair LightGBM and XGBoost: scikit-learn classifiers that boost one model while the multipliers move."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from fairalm._validation import Attributes, Missing, check_binary, check_same_index, encode_groups
from fairalm.arrays import FloatArray
from fairalm.boost.game import BoostGame, Plan
from fairalm.boost.table import ENOUGH, Table
from fairalm.constraints import Constraint, check_cells
from fairalm.exceptions import InputError
from fairalm.inputs import check_X, check_y
from fairalm.methods import Method, Unconstrained
from fairalm.parameters import MethodEstimator

DualSignal = Literal["auto", "train", "heldout"]
JOIN = 0.7  # of the rounds, after which the held-out rows are fitted too


class BoostedClassifier(MetaEstimatorMixin, ClassifierMixin, MethodEstimator):
    """What the two classifiers share."""

    backend = "boost"
    library: ClassVar[str]

    def __init__(
        self,
        estimator: Any = None,
        *,
        constraint: Constraint | str | None = None,
        method: Method | str | None = None,
        dual_signal: DualSignal = "auto",
        heldout_size: float = 0.5,
        early_stopping_rounds: int | None = None,
        keep: float = 0.95,
        missing: Missing = "error",
        merge_below: int | None = None,
        attributes: Attributes = "crossed",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.method = method
        self.dual_signal = dual_signal
        self.heldout_size = heldout_size
        self.early_stopping_rounds = early_stopping_rounds
        self.keep = keep
        self.missing = missing
        self.merge_below = merge_below
        self.attributes = attributes
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None, heldout: Any = None
    ) -> Any:
        """Train.

        Parameters
        ----------
        X : array or data frame of shape (n, features)
            What the library takes, missing values and categorical columns included.
        y : array of shape (n,)
            Two labels.
        sensitive_features : array, Series, data frame or dict of columns
            The protected attribute, one value per row; for several columns see `attributes`.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        heldout : bool array of shape (n,), optional
            Rows of your own choice to measure errors and gaps on.
        """
        self._check_settings()
        engine, constraint, method = self._engine(), self._constraint(), self._method()
        table = self._table(X, y, sensitive_features, sample_weight, heldout)
        positive, classes = check_binary(table.y, target=constraint.target)
        check_cells(constraint, positive, table.groups.codes, table.groups.compared, classes, table.compared)
        table = self._choose_heldout(table, constraint)
        n_rounds, patience = engine.n_rounds, self.early_stopping_rounds
        joins = table.heldout is not None and patience is None
        plan = Plan(n_rounds, max(1, round(JOIN * n_rounds)) if joins else n_rounds, patience, self.keep)
        game = BoostGame(table.rows(constraint), method, tol=constraint.tol, plan=plan, heldout=table.heldout)
        sign = 1 if classes[1] == self.classes_[1] else -1
        self.estimator_ = engine.boost(table.X, table.y, table.weight, game, sign)
        self.groups_ = table.groups.labels
        self.dual_signal_ = "train" if table.heldout is None else "heldout"
        self._report(game, table)
        if not isinstance(method, Unconstrained):
            measured = slice(None) if table.heldout is None else table.heldout
            game.result().warn(int(table.rows(constraint, measured).sizes.min()), table.groups.compared)
        return self

    def _check_settings(self) -> None:
        patience = self.early_stopping_rounds
        checks: list[tuple[str, bool, str]] = [
            ("dual_signal", self.dual_signal in get_args(DualSignal), f"one of {', '.join(get_args(DualSignal))}"),
            ("heldout_size", 0 < self.heldout_size <= 0.5, "in (0, 0.5]"),
            ("early_stopping_rounds", patience is None or patience >= 1, "at least 1, or None"),
            ("keep", 0 < self.keep <= 1, "in (0, 1]"),
        ]
        for name, holds, expected in checks:
            if not holds:
                raise InputError(
                    f"The '{name}' parameter of {type(self).__name__} must be {expected}. Got"
                    f" {getattr(self, name)!r} instead."
                )

    def _engine(self) -> Any:
        try:
            return import_module(f"fairalm.boost.{self.library}").Engine(self.estimator)
        except ModuleNotFoundError as error:
            if error.name != self.library:
                raise
            message = f'{type(self).__name__} needs {self.library}: pip install "fairalm[{self.library}]".'
            raise InputError(message) from error

    def _table(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, heldout: Any) -> Table:
        check_same_index(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight, heldout=heldout)
        X = check_X(self, X, reset=True)
        n = _num_samples(X)
        y = check_y(self, y, n)
        settings: Any = {"missing": self.missing, "merge_below": self.merge_below, "attributes": self.attributes}
        groups = encode_groups(sensitive_features, n_rows=n, **settings)
        weight = np.ones(n) if sample_weight is None else _check_sample_weight(sample_weight, X)
        self.classes_ = np.unique(y)
        positive, _ = check_binary(y, target=self._constraint().target)
        mask = None if heldout is None else np.asarray(heldout)
        if mask is not None and (mask.dtype != bool or mask.shape != (n,)):
            raise InputError(
                f"`heldout` must be True or False for each of {n} rows; got {mask.dtype} of shape {mask.shape}."
            )
        table = Table(X, y, positive, groups, weight, mask)
        return table.part(np.flatnonzero(groups.codes >= 0)) if (groups.codes < 0).any() else table

    def _choose_heldout(self, table: Table, constraint: Constraint) -> Table:
        is_chosen = table.heldout is not None
        if self.dual_signal == "train" and not is_chosen:
            return table
        divided = table.with_heldout(self.heldout_size, check_random_state(self.random_state))
        if divided.has_enough(constraint):
            return divided
        if self.dual_signal == "auto" and not is_chosen:
            return table
        raise InputError(
            f"Some cell has fewer than {ENOUGH} rows among the held-out rows or among the others: merge small groups"
            " ({merge_below}), or measure on the training rows with {dual_signal}.",
            merge_below=...,
            dual_signal="train",
        )

    def _report(self, game: BoostGame, table: Table) -> None:
        chosen = game.chosen
        self.booster_ = self._engine().booster(self.estimator_)
        self.error_, self.gap_ = chosen.error, chosen.moments.max_gap
        self.dual_ = chosen.multiplier.reshape(chosen.moments.gap.shape)
        self.history_ = game.history()
        self.n_iter_ = game.best_round
        self.rates_ = game.rates(table.groups.compared)

    def predict_proba(self, X: Any) -> FloatArray:
        """What the booster predicts, for both classes. It comes from reweighted data and is not calibrated."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(check_X(self, X, reset=False)))

    def predict(self, X: Any) -> Any:
        """Labels: the second class where its probability is above one half."""
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


class FairLGBMClassifier(BoostedClassifier):
    """LightGBM that meets a fairness constraint."""

    library = "lightgbm"


class FairXGBClassifier(BoostedClassifier):
    """XGBoost that meets a fairness constraint."""

    library = "xgboost"
