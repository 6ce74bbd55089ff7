"""Fit once, then choose constraint, tolerance, costs and acceptance rate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils._tags import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from fairalm._validation import Attributes, Groups, check_same_index
from fairalm.arrays import FloatArray
from fairalm.constraints import Constraint
from fairalm.datasets import stratified_folds
from fairalm.exceptions import InputError, LevellingDownWarning, NoBetterThanConstantWarning
from fairalm.frontier.joint import Joint
from fairalm.frontier.multiclass.asked import refuse_costs, refuse_one_target
from fairalm.frontier.multiclass.sample import LabelSample
from fairalm.frontier.multiclass.table import label_baselines
from fairalm.frontier.multiclass.trade_off import LabelTradeOff
from fairalm.frontier.sample import Sample
from fairalm.frontier.table import baseline_table
from fairalm.frontier.trade_off import TradeOff, as_constraints
from fairalm.inputs import check_X, check_y, weights_to_fit
from fairalm.parameters import ConstrainedEstimator
from fairalm.result import GroupChange
from fairalm.sklearn.coded_labels import CodedLabels
from fairalm.sklearn.label_and_group import check_has_probabilities, cross_fit, find_mending, mend
from fairalm.sklearn.labelled_rows import LabelledRows, UnknownGroups, read_groups
from fairalm.sklearn.plug_in import PlugInClassifier


class FrontierClassifier(MetaEstimatorMixin, ClassifierMixin, ConstrainedEstimator):
    """A classifier that is fitted once and then answers every constraint, tolerance, cost and acceptance rate.

    It estimates the probability of each label and group for every row, with the given estimator and a classifier of the
    group like it, out of fold. From these probabilities the best classifier within any linear limits on the groups'
    rates follows without another fit. The protected attribute is needed to fit, never to predict.

    Parameters
    ----------
    estimator : classifier or pipeline, optional
        With `predict_proba`; ``LogisticRegression(max_iter=1000)`` if left out.
    constraint : Constraint, str, or a list of them, optional
        What `predict` must meet; ``EqualOpportunity()`` if left out. :meth:`at` can ask for others that compare rates
        among the same people: those with the target label (equal opportunity), those without (predictive equality),
        both (equalized odds, error parity) or everyone (demographic parity). List several to have them all. With more
        than two labels, each is compared against the rest, or those that the constraint names in `target`.
    membership : classifier or pipeline, optional
        Learns the group; another copy of `estimator` if left out. From rows of one label or, if `mend` and the first
        fold finds it better, from all rows.
    n_folds : int
        Folds for the out-of-fold probabilities; the whole costs `n_folds` + 1 fits of each classifier.
    mend : bool
        Mend the probabilities by a small logistic regression on out-of-fold rows, where that lowers their log loss.
    missing : {"error", "unknown", "drop", "group"}
        What to do with a missing protected value. With "unknown", the row still teaches the estimator, and gaps are
        measured on the others.
    merge_below : int, optional
        Merge groups with fewer rows than this into "other".
    attributes : {"crossed", "separate"}
        Several protected columns: compare the groups of all combinations of their values, or each column on its own.
    n_jobs : int, optional
        Folds to fit at a time.
    random_state : int, RandomState or None
        Draws the folds.

    Attributes
    ----------
    frontier_ : DataFrame
        The trade-off: one row per tolerance, with error, gap and rates of every group out of fold, intervals, and the
        certificate.
    baselines_ : DataFrame
        The same figures of the plain model, out of fold, and of the constants.
    model_ : PlugInClassifier
        What `predict` uses: the point for `constraint`, or the one that :meth:`use` chose.
    estimator_ : fitted estimator
        The plain model, fitted to all rows.
    error_, gap_ : float
        Error and gap of `model_`, out of fold.
    certificate_ : float
        How much more `model_` may cost than the best of all classifiers, under the estimated probabilities. See
        docs/concepts/certificate.md for what that proves.
    groups_ : tuple
        The groups, in the order of the codes.
    n_oracle_calls_ : int
        Fits of a classifier of labels or groups.

    Examples
    --------
    >>> from fairalm import EqualOpportunity, FrontierClassifier
    >>> from fairalm.datasets import load_compas, preprocess
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> data = load_compas()
    >>> X = data.features_frame()
    >>> frontier = FrontierClassifier(make_pipeline(preprocess(X), LogisticRegression(max_iter=1000)), random_state=0)
    >>> frontier = frontier.fit(X, data.y, sensitive_features=data.groups)
    >>> strict, loose = frontier.at(tol=0.01), frontier.at(tol=0.1)
    >>> bool(strict.gap_ < loose.gap_), bool(strict.error_ > loose.error_)
    (True, True)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        constraint: Constraint | str | Sequence[Constraint | str] | None = None,
        membership: Any = None,
        n_folds: int = 5,
        mend: bool = True,
        missing: UnknownGroups = "error",
        merge_below: int | None = None,
        attributes: Attributes = "crossed",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.membership = membership
        self.n_folds = n_folds
        self.mend = mend
        self.missing = missing
        self.merge_below = merge_below
        self.attributes = attributes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        group_probabilities: Any = None,
        sample_weight: Any = None,
    ) -> FrontierClassifier:
        """Fit the classifiers, and solve for the curve.

        Parameters
        ----------
        X : array or data frame of shape (n, features)
            What the estimator takes.
        y : array of shape (n,)
            Two labels or more. Of more than two, those that `constraint` names as its target, or all, are compared
            between the groups, each against the rest.
        sensitive_features : array, Series, data frame or dict of columns
            The protected attribute, one value per row.
        group_probabilities : array or data frame of shape (n, groups)
            In place of `sensitive_features`: the probability of each group; each row sums to one.
        sample_weight : array of shape (n,), optional
            How many people each row stands for.
        """
        constraints = as_constraints(self.constraint)
        template = self._template()
        membership = template if self.membership is None else self.membership
        check_has_probabilities("estimator", template)
        check_has_probabilities("membership", membership)
        if not isinstance(self.n_folds, (int, np.integer)) or self.n_folds < 2:
            raise InputError(f"The 'n_folds' parameter must be at least 2. Got {self.n_folds!r} instead.")
        check_same_index(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            group_probabilities=group_probabilities,
            sample_weight=sample_weight,
        )
        X = check_X(self, X, reset=True)
        y = check_y(self, y, _num_samples(X))
        self.classes_ = np.unique(y)
        settings: Any = {"missing": self.missing, "merge_below": self.merge_below, "attributes": self.attributes}
        groups, known = read_groups(sensitive_features, group_probabilities, len(y), **settings)
        labels = CodedLabels.of(y, self.classes_, constraints)
        weight = None if sample_weight is None else weights_to_fit(sample_weight, len(y))
        rows = LabelledRows(X, labels.code, y, known, groups.n_groups, weight)
        if self.missing == "drop" and not rows.known.all():
            rows = rows.part(np.flatnonzero(rows.known))
        for code, both in labels.compared.items():
            rows.check(constraints, groups, both, code)
        rng = check_random_state(self.random_state)
        most_likely = (rows.group if rows.group.ndim == 1 else rows.group.argmax(axis=1)).astype(np.int64)
        fold = stratified_folds(rows.label_code, most_likely, self.n_folds, rng)
        how: Any = {"n_jobs": self.n_jobs, "mend": self.mend}
        fitted = cross_fit(rows, fold, template, membership, labels.populations, labels.target, **how)
        joint, self._model, self.n_oracle_calls_ = fitted
        plain = labels.plain(joint.target, self.classes_)
        if self.mend:
            self._model.mend_target, self._model.mend_members = find_mending(joint, rows)
            joint = mend(joint, self._model.mend_target, self._model.mend_members)
        self.groups_ = groups.labels
        self.estimator_ = self._model.estimator
        self._trade_off: TradeOff | LabelTradeOff
        if labels.is_several:
            several = _label_sample(joint, plain, rows, groups, self.classes_)
            self._trade_off = LabelTradeOff.of(several, constraints)
            self.baselines_ = label_baselines(constraints, several, self._trade_off.targets)
        else:
            sample = _sample(joint, plain, rows, groups)
            self._trade_off = TradeOff.of(sample, constraints, labels.target)
            self.baselines_ = baseline_table(constraints, sample)
        self.frontier_ = self._trade_off.table
        return self.use()

    def at(
        self,
        *,
        tol: float | None = None,
        ratio: float | None = None,
        constraint: Constraint | str | Sequence[Constraint | str] | None = None,
        acceptance: float | None = None,
        cost_fp: float = 1.0,
        cost_fn: float = 1.0,
        costs: Any = None,
        floor: Literal["plain"] | float | None = None,
    ) -> PlugInClassifier:
        """A fitted classifier for what is asked, without another fit.

        Parameters
        ----------
        tol, ratio : float, optional
            Bound the difference, or the ratio, by this in place of the constraint's own.
        constraint : Constraint, str, or a list of them, optional
            In place of the one given to the classifier.
        acceptance : float, optional
            Share of all rows that is predicted as the target.
        cost_fp, cost_fn : float
            What it costs to predict the target where it is wrong, and not to predict it where it is right.
        costs : array of shape (labels, labels), optional
            More than two labels: what it costs to predict a label (column) where another one (row) is right, both in
            the order of `classes_`; 1 for each mistake if left out.
        floor : "plain" or float, optional
            No levelling down: no group's share predicted as the target (for equal opportunity and equalized odds, its
            true positive rate) may fall below the plain model's, or below this number. `acceptance`, `cost_fp`,
            `cost_fn` and `floor` are for two labels.
        """
        check_is_fitted(self, "_trade_off")
        asked: Any = {"tol": tol, "ratio": ratio, "constraint": constraint}
        one_target = {"acceptance": acceptance, "cost_fp": cost_fp, "cost_fn": cost_fn, "floor": floor}
        trade_off: Any = self._trade_off
        if isinstance(trade_off, LabelTradeOff):
            refuse_one_target(one_target)
            point = trade_off.at(**asked, costs=costs)
        else:
            refuse_costs(costs)
            point = trade_off.at(**asked, **one_target)
        classifier = PlugInClassifier(self._model, point.rule, self.classes_)
        classifier.cost_, classifier.bound_, classifier.certificate_ = point.cost, point.bound, point.certificate
        classifier.figures_ = trade_off.figures_of(point)
        classifier.error_, classifier.gap_ = classifier.figures_["error"], classifier.figures_["gap"]
        return classifier

    def use(self, **asked: Any) -> FrontierClassifier:
        """Predict with another point from now on; parameters as in :meth:`at`."""
        self.model_ = self.at(**asked)
        self.error_, self.gap_ = self.model_.error_, self.model_.gap_
        self.certificate_ = self.model_.certificate_
        self._warn()
        return self

    def _warn(self) -> None:
        """Warn if every group loses, or if predicting the same for every row is no worse."""
        names, ours = self._trade_off.sample.groups.compared, self.model_.figures_
        plain, *constants = self.baselines_.to_dict("records")
        if not isinstance(self._trade_off, LabelTradeOff):  # of several labels, one that is predicted less is not worse
            tpr, selection = (
                np.array([[row[f"{rate}_{name}"] for name in names] for row in (plain, ours)])
                for rate in ("tpr", "selection")
            )
            change = GroupChange(tpr, selection, np.array([plain["selection"], ours["selection"]]))
            if text := change.levelling_down(names):
                way = " {floor} keeps every group's rate up, at a price in error; or choose a larger {tol}."
                warnings.warn(LevellingDownWarning(text + way, floor="plain", tol=None), stacklevel=3)
        if ours["error"] >= (constant := min(row["error"] for row in constants)):
            text = (
                f"The fair model is wrong for {100 * ours['error']:.1f} % of the rows out of fold; to predict the same"
                f" for every row is wrong for {100 * constant:.1f} %. Choose a larger {{tol}} or another estimator, or"
                " let it see the protected attribute."
            )
            warnings.warn(NoBetterThanConstantWarning(text, tol=None), stacklevel=3)

    def predict(self, X: Any) -> Any:
        """Labels, within the constraint given to the classifier, or at the point that :meth:`use` chose."""
        check_is_fitted(self)
        return self.model_.predict(check_X(self, X, reset=False))

    def decision_function(self, X: Any) -> FloatArray:
        """Positive where the second label is predicted; of more than two, a column for each, the largest for it."""
        check_is_fitted(self)
        return self.model_.decision_function(check_X(self, X, reset=False))

    def _template(self) -> Any:
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._template()).input_tags
        return tags


def _label_sample(joint: Joint, plain: Any, rows: LabelledRows, groups: Groups, labels: Any) -> LabelSample:
    """The rows of several labels that the program is solved on, those whose group is known."""
    known, weight = rows.known, np.ones(len(rows.known)) if rows.weight is None else rows.weight
    names = Groups(np.empty(0, dtype=np.int64), groups.labels, groups.attributes)
    of_row: Any = (rows.label_code[known], labels.tolist(), rows.group[known], names, weight[known])
    return LabelSample(joint.take(known), plain[known], *of_row)


def _sample(joint: Joint, plain: Any, rows: LabelledRows, groups: Groups) -> Sample:
    """The rows that the program is solved on, those whose group is known; and the others beside them."""
    known = rows.known
    weight = np.ones(len(known)) if rows.weight is None else rows.weight
    names = Groups(np.empty(0, dtype=np.int64), groups.labels, groups.attributes)
    sample = Sample(
        joint.take(known), plain[known], rows.label_code[known].astype(bool), rows.group[known], names, weight[known]
    )
    return sample if known.all() else replace(sample, unknown=joint.take(~known), unknown_weight=weight[~known])
