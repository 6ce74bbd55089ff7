"""Algorithm 1 around any scikit-learn classifier."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils._tags import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from fairalm._validation import Attributes, Groups, Missing, check_binary, check_same_index, encode_groups
from fairalm.arrays import FloatArray
from fairalm.cells import Compared
from fairalm.constraints import Constraint, check_cells
from fairalm.exceptions import InputError
from fairalm.game import Predictor, play
from fairalm.inputs import check_settings, check_X, check_y, weights_to_fit
from fairalm.methods import Method, Unconstrained
from fairalm.outcome import Outcome
from fairalm.parameters import MethodEstimator
from fairalm.progress import progress_bar
from fairalm.result import GameResult
from fairalm.sklearn.learner import EstimatorLearner
from fairalm.sklearn.problem import DualSignal, Problem

PREDICTORS = ("single", "last", "average", "mixture")


def _members_have(name: str) -> Any:
    def check(self: FairALMClassifier) -> bool:
        estimator = getattr(self, "estimator_", None)
        return hasattr(self._template() if estimator is None else estimator, name)

    return check


def _round_text(t: int, outcome: Outcome) -> str:
    return f"round {t}: error {100 * outcome.error:.1f} %, gap {100 * outcome.moments.max_gap:.1f}"


def _is_one_model(self: FairALMClassifier) -> bool:
    return self.predictor in ("single", "last") and bool(_members_have("decision_function")(self))


class FairALMClassifier(MetaEstimatorMixin, ClassifierMixin, MethodEstimator):
    """A classifier that meets a fairness constraint, by Algorithm 1 over any estimator that takes `sample_weight`.

    Each round fits the estimator to weights that answer the gap of the round before. The protected attribute is
    needed to fit, never to predict.

    Parameters
    ----------
    estimator : classifier or pipeline, optional
        What to train; ``LogisticRegression(max_iter=1000)`` if left out. The steps of a pipeline before the last are
        fitted once.
    constraint : Constraint or str, optional
        The constraint with its tolerance, or its name; ``EqualOpportunity()`` if left out.
    method : Method or str, optional
        How the multipliers move, or its name; :class:`fairalm.SecantALM` if left out, which needs no tuning.
    max_iter : int
        Rounds at most.
    predictor : {"single", "last", "average", "mixture"}
        "single": of the classifiers found, the one with the smallest error within the tolerance, else the smallest gap;
        its threshold is moved where that saves error within the tolerance.
        "last": the last one, as the paper returns. "average": each row's prediction is drawn from the classifiers
        played. "mixture": drawn from the best mixture of a few classifiers, moved thresholds and constants among them.
    dual_signal : {"auto", "train", "heldout", "crossfit"}
        Where errors and gaps are measured: on the training rows; on a share held out of the fits; or on out-of-fold
        predictions, which costs `n_folds` + 1 fits a round. Forests, boosting and wide data can have a training gap of
        0 that says nothing about new rows. "auto" measures that: it fits the plain model out of fold once and takes
        "crossfit" if its rates differ from those on the training rows by more than chance, otherwise "train". A linear
        model is trusted without that if it has at least 100 rows per coefficient, or if the cells are so small that an
        out-of-fold gap is mostly chance.
    heldout_size : float
        The share held out.
    n_folds : int
        Folds of "crossfit".
    missing : {"error", "drop", "group"}
        What to do with a missing protected value.
    merge_below : int, optional
        Merge groups with fewer rows than this into "other".
    attributes : {"crossed", "separate"}
        Several protected columns: compare the groups of all combinations of their values, or each column on its own.
    bound : float
        B of the certificate: multipliers up to this size.
    early_stop : bool
        Stop once the model meets the tolerance and the certificate is small, or nothing better is found any more;
        otherwise play `max_iter` rounds.
    random_state : int, RandomState or None
        Draws held-out rows, folds, and the predictions of "average" and "mixture".
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    estimator_ : fitted estimator
        The model ("single", "last"), or the likeliest member.
    estimators_, weights_ : list, array
        The members of the predictor and their probabilities; one with probability 1 for "single" and "last".
    dual_ : array
        The multipliers that `estimator_` was fitted with, shape (events, rows of C).
    history_ : DataFrame
        One row per round: t, lambda, error, gap, Lagrangian, saddle gap.
    gap_, error_ : float
        Largest difference between two groups, and error, of the predictor on the dual signal.
    rates_ : DataFrame
        One row per group: true positive rate and selection rate of the plain model and of the predictor.
    dual_signal_ : str
        Where errors and gaps were measured: "train", "heldout" or "crossfit".
    saddle_gap_, optimality_gap_ : float
        How much more the average play and the predictor cost than any mixture of the classifiers found must, at
        |lambda| <= `bound`; NaN for a constraint that is not linear. docs/concepts/certificate.md says what
        that proves.
    n_iter_, n_oracle_calls_ : int
        Rounds, and fits of the estimator.
    groups_ : tuple
        The groups, in the order of the codes.

    Examples
    --------
    >>> from fairalm import EqualOpportunity, FairALMClassifier
    >>> from fairalm.datasets import load_compas, preprocess
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> data = load_compas()
    >>> X = data.features_frame(with_protected=True)
    >>> pipeline = make_pipeline(preprocess(X), LogisticRegression())
    >>> clf = FairALMClassifier(pipeline, constraint=EqualOpportunity(tol=0.01))
    >>> clf = clf.fit(X, data.y, sensitive_features=data.groups)
    >>> bool(clf.gap_ <= 0.01)
    True
    """

    backend = "sklearn"

    def __init__(
        self,
        estimator: Any = None,
        *,
        constraint: Constraint | str | None = None,
        method: Method | str | None = None,
        max_iter: int = 50,
        predictor: Predictor = "single",
        dual_signal: DualSignal = "auto",
        heldout_size: float = 0.25,
        n_folds: int = 3,
        missing: Missing = "error",
        merge_below: int | None = None,
        attributes: Attributes = "crossed",
        bound: float = 1.0,
        early_stop: bool = True,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.method = method
        self.max_iter = max_iter
        self.predictor = predictor
        self.dual_signal = dual_signal
        self.heldout_size = heldout_size
        self.n_folds = n_folds
        self.missing = missing
        self.merge_below = merge_below
        self.attributes = attributes
        self.bound = bound
        self.early_stop = early_stop
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> FairALMClassifier:
        """Train.

        Parameters
        ----------
        X : array or data frame of shape (n, features)
            What the estimator takes.
        y : array of shape (n,)
            Two labels.
        sensitive_features : array, Series, data frame or dict of columns
            The protected attribute, one value per row; for several columns see `attributes`.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        self._check_settings()
        rng = check_random_state(self.random_state)
        constraint, method = self._constraint(), self._method()
        problem, groups = self._problem(X, y, sensitive_features, sample_weight)
        signal = problem.signal(self.dual_signal, self.heldout_size, self.n_folds, rng)
        is_linear = signal.measured.cells.is_linear
        if self.predictor == "mixture" and not is_linear:
            name = type(constraint).__name__
            message = f"{name} is not linear in the classifier, so it has no best mixture: pass {{predictor}}."
            raise InputError(message, predictor="single")
        predictor: Predictor = "last" if isinstance(method, Unconstrained) else self.predictor
        with progress_bar(self.max_iter, shown=self.verbose, text="fitting") as update:
            game = play(
                signal,
                method,
                tol=constraint.tol,
                max_iter=self.max_iter,
                bound=self.bound,
                predictor=predictor,
                early_stop=self.early_stop,
                resolution=0.5 / signal.smallest_cell,
                is_linear=is_linear,
                rows=signal.measured,
                on_round=lambda t, outcome: update(t, _round_text(t, outcome)),
            )
        self.groups_ = groups.labels
        self.n_iter_ = len(game.played)
        self.n_oracle_calls_ = signal.n_fits
        self.dual_signal_ = signal.name
        self._seed = int(rng.randint(np.iinfo(np.int32).max))
        result = game.result(predictor)
        assert isinstance(signal.learner, EstimatorLearner)
        self._keep(result, signal.learner, groups)
        if not isinstance(method, Unconstrained):
            result.warn(signal.smallest_cell, groups.compared, mixture=is_linear and self.predictor != "mixture")
        return self

    def _check_settings(self) -> None:
        checks: list[tuple[str, bool, str]] = [
            ("max_iter", isinstance(self.max_iter, (int, np.integer)) and self.max_iter >= 1, "at least 1"),
            ("predictor", self.predictor in PREDICTORS, f"one of {', '.join(PREDICTORS)}"),
            ("dual_signal", self.dual_signal in get_args(DualSignal), f"one of {', '.join(get_args(DualSignal))}"),
            ("heldout_size", 0 < self.heldout_size <= 0.5, "in (0, 0.5]"),
            ("n_folds", self.n_folds >= 2, "at least 2"),
            ("bound", self.bound > 0, "positive"),
        ]
        check_settings(self, checks)

    def _template(self) -> Any:
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _problem(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> tuple[Problem, Groups]:
        check_same_index(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        X = check_X(self, X, reset=True)
        n = _num_samples(X)
        y = check_y(self, y, n)
        constraint = self._constraint()
        settings: Any = {"missing": self.missing, "merge_below": self.merge_below, "attributes": self.attributes}
        groups = encode_groups(sensitive_features, n_rows=n, **settings)
        weight = np.ones(n) if sample_weight is None else weights_to_fit(sample_weight, n)
        self.classes_ = np.unique(y)
        positive, classes = check_binary(y, target=constraint.target)
        compared = Compared(groups.membership, groups.blocks) if groups.attributes else None
        codes, n_groups = groups.codes, groups.n_groups
        many = not isinstance(self._method(), Unconstrained)
        problem = Problem(self._template(), constraint, X, positive, classes, codes, n_groups, weight, compared, many)
        if (groups.codes < 0).any():
            problem = problem.part(np.flatnonzero(groups.codes >= 0))
        counted = problem.weight > 0  # rows of weight 0 stand for nobody
        positive, group = problem.positive[counted], problem.group[counted]
        check_cells(constraint, positive, group, groups.compared, classes, compared)
        return problem, groups

    def _keep(self, result: GameResult, learner: EstimatorLearner, groups: Groups) -> None:
        members = zip(result.models, result.shifts, strict=True)
        self.weights_ = result.weights
        self.estimators_ = [learner.wrap(learner.shifted(model, shift)) for model, shift in members]
        self.estimator_ = self.estimators_[int(np.argmax(self.weights_))]
        self.error_, self.gap_, self.dual_ = result.error, result.gap, result.dual
        self.optimality_gap_, self.saddle_gap_ = result.optimality_gap, result.saddle_gap
        self.history_ = result.history
        assert result.change is not None
        self.rates_ = result.change.table(groups.compared)

    def predict(self, X: Any) -> Any:
        """Labels. "average" and "mixture" draw each row's model with the seed of the fit: same rows, same labels."""
        check_is_fitted(self)
        X = check_X(self, X, reset=False)
        labels = [np.asarray(model.predict(X)) for model in self.estimators_]
        if len(labels) == 1:
            return labels[0]
        draw = np.random.RandomState(self._seed).choice(len(labels), size=len(labels[0]), p=self.weights_)
        return np.stack(labels)[draw, np.arange(len(draw))]

    @available_if(_members_have("predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """Mean of the members' probabilities. They come from reweighted data and are not calibrated."""
        check_is_fitted(self)
        X = check_X(self, X, reset=False)
        members = zip(self.weights_, self.estimators_, strict=True)
        return np.asarray(sum(weight * model.predict_proba(X) for weight, model in members))

    @available_if(_is_one_model)
    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the one model."""
        check_is_fitted(self)
        X = check_X(self, X, reset=False)
        return np.asarray(self.estimator_.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._template())
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = False
        return tags
