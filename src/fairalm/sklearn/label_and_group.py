"""A model of who has which label and group: the user's classifier, and classifiers of the group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.parallel import delayed

from fairalm.arrays import FloatArray, IntArray
from fairalm.exceptions import InputError
from fairalm.frontier.joint import EVERYONE, Joint, Population
from fairalm.frontier.mending import (
    Sharpened,
    can_mend,
    member_columns,
    mended,
    mended_loss,
    mended_members,
    target_columns,
)
from fairalm.sklearn.fold_fits import FoldFits
from fairalm.sklearn.labelled_rows import LabelledRows
from fairalm.workers import run_jobs

BETTER = 0.015  # share of the log loss by which a model of all rows must be better to be shared


class LabelAndGroupModel(BaseEstimator):
    """Classifiers of the label and of the group, which together give P(label, group | x).

    Parameters
    ----------
    estimator : fitted classifier
        Of the label.
    members : dict of fitted classifiers
        Of the group, for each population; all may share one.
    target : label, or array of labels
        The label whose probability is asked for, or all of several.
    n_groups : int
        Groups, whose codes the classifiers know.
    mend_target, mend_members : logistic regression or None, dict of them
        What mends the probabilities, where that pays.
    """

    def __init__(
        self,
        estimator: Any,
        members: Mapping[Population, Any],
        target: Any,
        n_groups: int,
        mend_target: Any = None,
        mend_members: Mapping[Population, Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.members = members
        self.target = target
        self.n_groups = n_groups
        self.mend_target = mend_target
        self.mend_members = mend_members

    def raw(self, X: Any) -> Joint:
        """Probabilities as the classifiers give them."""
        models = {id(model): model for model in self.members.values()}
        given = {key: _columns(model.predict_proba(X), model.classes_, self.n_groups) for key, model in models.items()}
        target = _target(self.estimator.predict_proba(X), self.estimator.classes_, self.target)
        return Joint(target, {population: given[id(model)] for population, model in self.members.items()})

    def joint(self, X: Any) -> Joint:
        """Probabilities, mended."""
        return mend(self.raw(X), self.mend_target, self.mend_members or {})


def _target(given: FloatArray, classes: Any, target: Any) -> FloatArray:
    """The column of the target or, of several labels, all columns, also of those that the classifier has not seen."""
    if isinstance(target, np.ndarray):
        return _columns(np.asarray(given, dtype=float), np.searchsorted(target, classes), len(target))
    return np.asarray(given, dtype=float)[:, list(classes).index(target)]


def _columns(given: FloatArray, classes: Any, n_columns: int) -> FloatArray:
    """One column per code of a label or group, also for those that the classifier has not seen."""
    columns = np.zeros((len(given), n_columns))
    columns[:, np.asarray(classes, dtype=int)] = given
    return columns


def mend(joint: Joint, mend_target: Any, mend_members: Mapping[Population, Any]) -> Joint:
    """The same probabilities, mended."""
    target = joint.target
    if mend_target is not None:
        chances = mend_target.predict_proba(target_columns(target))
        target = chances[:, 1] if target.ndim == 1 else chances
    members = dict(joint.members)
    for population, model in mend_members.items():
        members[population] = model.predict_proba(member_columns(members[population], target))
    return Joint(target, members)


def cross_fit(
    rows: LabelledRows,
    fold: IntArray,
    estimator: Any,
    membership: Any,
    populations: Sequence[Population],
    target: Any,
    n_jobs: int | None,
    *,
    mend: bool,
) -> tuple[Joint, LabelAndGroupModel, int]:
    """Out-of-fold probabilities, the model of all rows, and how many fits that took; neither is mended yet.

    The first fold tells whether the groups among rows of one label are better learned from all rows, if they are to be
    mended afterwards: there is more to learn from, and mending learns what the label adds.
    """
    n_folds = int(fold.max()) + 1
    label = FoldFits(estimator, rows.X, np.arange(len(fold)), rows.labels, rows.weight, fold)
    plain = label.fit() if label.is_newton_problem else None
    is_newton = plain is not None and label.use_newton(plain) and membership is estimator
    sources: dict[Population, Population] = {population: population for population in populations}
    first = rows.part(np.flatnonzero(fold == 0))
    may_share = mend and _can_mend(first, populations)
    tried = sources | ({EVERYONE: EVERYONE} if may_share else {})
    groups = {source: FoldFits(membership, rows.X, *rows.by_group(source), fold) for source in tried.values()}
    for fits in groups.values():
        if len(np.unique(fold[fits.row])) < 2:
            raise InputError(
                f"Only {len(np.unique(fits.row))} of the rows that the constraint compares have a group: too few to"
                " estimate groups out of fold. Pass more rows."
            )
        if is_newton and fits.is_newton_problem:
            fits.use_newton()

    def fit(k: int | None, sources: Mapping[Population, Population]) -> Any:
        """The probabilities of the rows of a fold; without one, the model of all rows."""
        learn = dict.fromkeys(sources.values())
        if k is None:
            models = {source: groups[source].fit() for source in learn}
            members = {population: models[source] for population, source in sources.items()}
            return LabelAndGroupModel(plain or label.fit(), members, target, rows.n_groups)
        known = {source: _columns(*groups[source].out_of_fold(k), rows.n_groups) for source in learn}
        chances = {population: known[source] for population, source in sources.items()}
        return Joint(_target(*label.out_of_fold(k), target), chances)

    here = fit(0, tried)
    if may_share and _is_better_shared(here, first, populations):
        sources = dict.fromkeys(populations, EVERYONE)
    here = Joint(here.target, {population: here.members[source] for population, source in sources.items()})
    *others, model = run_jobs((delayed(fit)(k, sources) for k in (*range(1, n_folds), None)), n_jobs)
    probability = np.empty((len(fold), *here.target.shape[1:]))
    members = {population: np.empty((len(fold), rows.n_groups)) for population in populations}
    for k, joint in enumerate([here, *others]):
        probability[fold == k] = joint.target
        for population in populations:
            members[population][fold == k] = joint.members[population]
    n_fits = 1 + len(tried) + n_folds * (1 + len(set(sources.values())))
    return Joint(probability, members), model, n_fits


def _can_mend(rows: LabelledRows, populations: Sequence[Population]) -> bool:
    """Whether there are populations of one label, whose groups are known and many enough to be mended."""
    if rows.group.ndim == 2 or set(populations) == {EVERYONE}:
        return False
    return all(can_mend(rows.group[rows.of(population)].astype(int), rows.n_groups) for population in populations)


def _is_better_shared(joint: Joint, rows: LabelledRows, populations: Sequence[Population]) -> bool:
    """Whether the groups of populations, once mended, are more likely from what was learned of all rows."""
    losses = np.zeros(2)
    for population in populations:
        own = rows.of(population)
        weight = np.ones(len(own)) if rows.weight is None else rows.weight[own]
        for which, source in enumerate((population, EVERYONE)):
            columns = member_columns(joint.members[source][own], joint.target[own])
            losses[which] += weight.sum() * mended_loss(columns, rows.group[own].astype(int), weight)
    return bool(losses[1] < (1 - BETTER) * losses[0])


def find_mending(joint: Joint, rows: LabelledRows) -> tuple[Any, dict[Population, Any]]:
    """What mends out-of-fold probabilities of these rows; None, or nothing, where they are right as they are."""
    weight = np.ones(len(joint.target)) if rows.weight is None else rows.weight
    mend_target: Any
    if joint.target.ndim == 2:
        mend_target = Sharpened.found(joint.target, rows.label_code.astype(int), weight)
    else:
        both = np.column_stack([1 - joint.target, joint.target])
        mend_target = mended(target_columns(joint.target), both, rows.label_code, weight, intercept=False)
    target = mend(joint, mend_target, {}).target
    if rows.group.ndim == 2:  # labels are needed to see whether probabilities are right
        return mend_target, {}
    return mend_target, mended_members(joint, target, rows.label_code, rows.group.astype(int), weight)


def check_has_probabilities(name: str, estimator: Any) -> None:
    """Refuse an estimator without predict_proba."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise InputError(f"`{name}` must be a classifier with fit and predict; got {estimator!r}.")
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{type(estimator).__name__} has no predict_proba, which the frontier is made of: choose an estimator that"
            " has, such as LogisticRegression or boosting, or wrap it in CalibratedClassifierCV."
        )
