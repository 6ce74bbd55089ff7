"""Fair LightGBM and XGBoost: scikit-learn classifiers that boost one model while the multipliers move."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from fairalm._validation import Attributes, Missing, check_binary, check_same_index, encode_groups
from fairalm.arrays import FloatArray, IntArray
from fairalm.boost.game import BoostGame, Plan
from fairalm.boost.table import ENOUGH, Table
from fairalm.cells import Rows
from fairalm.constraints import Constraint, check_cells
from fairalm.exceptions import InputError, NoBetterThanConstantWarning, ToleranceWarning
from fairalm.inputs import check_settings, check_X, check_y, weights_to_fit
from fairalm.methods import Method, Unconstrained
from fairalm.moments import Moments
from fairalm.parameters import MethodEstimator

DualSignal = Literal["auto", "train", "heldout"]
CERTAIN = 2.0  # standard errors: a gap that exceeds the tolerance by less may be chance
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
            measured = table.rows(constraint, slice(None) if table.heldout is None else table.heldout)
            self._warn(game, measured)
        return self

    def _check_settings(self) -> None:
        patience = self.early_stopping_rounds
        checks: list[tuple[str, bool, str]] = [
            ("dual_signal", self.dual_signal in get_args(DualSignal), f"one of {', '.join(get_args(DualSignal))}"),
            ("heldout_size", 0 < self.heldout_size <= 0.5, "in (0, 0.5]"),
            ("early_stopping_rounds", patience is None or patience >= 1, "at least 1, or None"),
            ("keep", 0 < self.keep <= 1, "in (0, 1]"),
        ]
        check_settings(self, checks)

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
        if hasattr(X, "toarray"):
            raise InputError(
                f"{type(self).__name__} does not take sparse input: pass X.toarray(), or codes as categories."
            )
        n = _num_samples(X)
        y = check_y(self, y, n)
        settings: Any = {"missing": self.missing, "merge_below": self.merge_below, "attributes": self.attributes}
        groups = encode_groups(sensitive_features, n_rows=n, **settings)
        weight = np.ones(n) if sample_weight is None else weights_to_fit(sample_weight, n)
        self.classes_ = np.unique(y)
        positive, _ = check_binary(y, target=self._constraint().target)
        if len(np.unique(y[weight > 0])) < 2:
            raise InputError("All rows with a weight above zero have the same class: both must have weight.")
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

    def _warn(self, game: BoostGame, measured: Rows) -> None:
        chosen = game.chosen
        by_chance = CERTAIN * gap_error(chosen.moments, measured.sizes)
        if self.gap_ > game.tol + by_chance:
            message = (
                f"The gap is {100 * self.gap_:.2g} points after {chosen.t} rounds, above the tolerance of"
                f" {100 * game.tol:.2g} by more than chance. More rounds (n_estimators), or a larger {{eta}} of the"
                " method, may close it."
            )
            warnings.warn(ToleranceWarning(message, eta=None), stacklevel=3)
        if self.error_ >= game.constant_error:
            message = (
                f"The fair model is wrong for {100 * self.error_:.1f} % of the rows; to predict the same for every row"
                f" is wrong for {100 * game.constant_error:.1f} %. Ways out: let the model see the protected attribute,"
                " a larger {tol}, or the frontier (FrontierClassifier)."
            )
            warnings.warn(NoBetterThanConstantWarning(message, tol=None), stacklevel=3)

    def predict_proba(self, X: Any) -> FloatArray:
        """What the booster predicts, for both classes. It comes from reweighted data and is not calibrated."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(check_X(self, X, reset=False)))

    def predict(self, X: Any) -> Any:
        """Labels: the second class where its probability is above one half."""
        probability = self.predict_proba(X)[:, 1]
        return self.classes_[(probability > 0.5).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags


def gap_error(moments: Moments, sizes: IntArray) -> float:
    """Standard error of the largest difference between two groups, at their rates."""
    variance = np.clip(moments.mu * (1.0 - moments.mu), 0.0, None) / np.maximum(sizes, 1)
    return float(np.sqrt(np.sort(variance, axis=1)[:, -2:].sum(axis=1)).max())


class FairLGBMClassifier(BoostedClassifier):
    """A LightGBM model that meets a fairness constraint: boosted once, while the multipliers move with the rounds.

    Every other round measures the gap, the method answers with a weight for each label and group, and LightGBM's own
    objective fits the next trees to the rows so weighted. A fit takes little longer than a plain one. The protected
    attribute is needed to fit, never to predict.

    Parameters
    ----------
    estimator : LGBMClassifier, optional
        Your model, with its settings; LightGBM's own if left out. Its boosting_type must be "gbdt" or "goss".
    constraint : Constraint or str, optional
        The constraint with its tolerance, or its name; ``EqualOpportunity()`` if left out.
    method : Method or str, optional
        How the multipliers move, or its name; :class:`fairalm.AugmentedLagrangian` if left out. Any but those for full
        fits.
    dual_signal : {"auto", "train", "heldout"}
        Where errors and gaps are measured: on the rows that are fitted, or on rows that are held out for the first
        seven tenths of the rounds and then join the others. "auto" holds rows out if every cell has ten on both sides.
    heldout_size : float
        The share held out.
    early_stopping_rounds : int, optional
        Stop once the round that NVP chooses on the held-out rows has been the same for so many rounds, and return the
        model of that round. The held-out rows never join.
    keep : float
        NVP chooses the round with the smallest gap among those with this share of the best accuracy.
    missing : {"error", "drop", "group"}
        What to do with a missing protected value.
    merge_below : int, optional
        Merge groups with fewer rows than this into "other".
    attributes : {"crossed", "separate"}
        Several protected columns: compare the groups of all combinations of their values, or each column on its own.
    random_state : int, RandomState or None
        Draws the held-out rows. The model's own randomness is a setting of `estimator`.

    Attributes
    ----------
    estimator_ : LGBMClassifier
        Your model, fitted.
    booster_ : lightgbm.Booster
        The same as LightGBM's own object: save it with ``booster_.save_model(path)``, load it without fairalm.
    error_, gap_ : float
        Error, and largest difference between two groups, where they were measured: of the last round before the
        held-out rows joined, or of the round that was chosen.
    dual_ : array of shape (events, rows of C)
        The multipliers of that round.
    rates_ : DataFrame
        One row per group: true positive rate and selection rate, measured there too.
    history_ : DataFrame
        One row per measured round: t, lambda, error, gap, Lagrangian.
    n_iter_ : int
        Rounds that the model consists of.
    dual_signal_ : str
        "train" or "heldout".
    groups_ : tuple
        The groups, in the order of the codes.

    Examples
    --------
    >>> from fairalm.boost import FairLGBMClassifier
    >>> from fairalm.datasets import load_compas
    >>> from lightgbm import LGBMClassifier
    >>> data = load_compas()
    >>> X = data.features_frame(with_protected=True)
    >>> X = X.astype({name: "category" for name in X.select_dtypes(exclude="number")})
    >>> model = LGBMClassifier(n_estimators=60, num_leaves=7, n_jobs=1, verbose=-1)
    >>> clf = FairLGBMClassifier(model, constraint="equal-opportunity", random_state=0)
    >>> clf = clf.fit(X, data.y, sensitive_features=data.groups)
    >>> bool(clf.gap_ < 0.05), clf.n_iter_
    (True, 60)
    """

    library = "lightgbm"


class FairXGBClassifier(BoostedClassifier):
    """An XGBoost model that meets a fairness constraint: boosted once, while the multipliers move with the rounds.

    Parameters and attributes are those of :class:`FairLGBMClassifier`. Here `estimator` is an XGBClassifier whose
    booster is "gbtree", `estimator_` is the fitted one, with the labels 0 and 1, and `booster_` is an xgboost.Booster.

    Examples
    --------
    >>> from fairalm.boost import FairXGBClassifier
    >>> from fairalm.datasets import load_compas
    >>> from xgboost import XGBClassifier
    >>> data = load_compas()
    >>> X = data.features_frame(with_protected=True)
    >>> X = X.astype({name: "category" for name in X.select_dtypes(exclude="number")})
    >>> model = XGBClassifier(n_estimators=60, max_depth=3, n_jobs=1, enable_categorical=True)
    >>> clf = FairXGBClassifier(model, constraint="equal-opportunity", random_state=0)
    >>> clf = clf.fit(X, data.y, sensitive_features=data.groups)
    >>> bool(clf.gap_ < 0.05), clf.n_iter_
    (True, 60)
    """

    library = "xgboost"
