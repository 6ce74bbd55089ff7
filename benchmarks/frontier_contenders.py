"""The contenders of frontier.py. Each answers a problem, a constraint and a list of tolerances with a Curve."""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from common import spread
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity as ParityOfSelection
from fairlearn.reductions import EqualizedOdds as ParityOfOdds
from fairlearn.reductions import ExponentiatedGradient, GridSearch, TruePositiveRateParity
from frontier_data import Problem
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from fairalm import DemographicParity, EqualizedOdds, EqualOpportunity, FairALMClassifier, FrontierClassifier

ONE = 0.01  # the tolerance of the figures for one tolerance
LOOSER = (0.05, 0.1)  # the others of contenders that fit anew for every tolerance
REST = (0.0, 0.005, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06, 0.07, 0.08, 0.12, 0.14, 0.16, 0.18, 0.2, 0.25, 0.3)
FEW, TWENTY = (ONE, *LOOSER), (ONE, *LOOSER, *REST)
N_FOLDS = 5
GRID_SIZE = 50
PEERS_SCRIPT = Path(__file__).with_name("frontier_peers.py")
PEERS_LIMIT = 600  # seconds
CONSTRAINTS = {  # ours, fairlearn's for reductions, ThresholdOptimizer's, and the labels whose groups it needs
    "equal opportunity": (EqualOpportunity, TruePositiveRateParity, "true_positive_rate_parity", (1,)),
    "demographic parity": (DemographicParity, ParityOfSelection, "demographic_parity", (0, 1)),
    "equalized odds": (EqualizedOdds, ParityOfOdds, "equalized_odds", (0, 1)),
}


class Absent(Exception):
    """A contender is not there; the text says what to do."""


@dataclass(frozen=True)
class Curve:
    """What a contender predicts for the new rows at each tolerance, and its processor times in seconds.

    `chosen` has a line per tolerance: the probability that a row is predicted as the target, 0 or 1 if nothing is
    random. `shared` is spent once for all tolerances, `each` at every tolerance.
    """

    tolerances: tuple[float, ...]
    chosen: np.ndarray
    each: list[float]
    shared: float = 0.0

    @property
    def one(self) -> float:
        """For the first tolerance alone."""
        return self.shared + self.each[0]

    @property
    def twenty(self) -> float:
        """For twenty tolerances; extrapolated from the mean if fewer were run."""
        return self.shared + float(np.mean(self.each)) * len(TWENTY)


def clock(call):
    """The result of a call, and its processor time, which other work on the machine does not change much."""
    begin = time.process_time()
    return call(), time.process_time() - begin


@dataclass(eq=False)
class Given:
    """A problem, and what contenders share: the plain model, and P(label, group | x), out of fold on rows to fit."""

    problem: Problem
    peers_python: str | None = None
    linearpost: str | None = None
    fitted: dict = field(default_factory=dict)

    @cached_property
    def plain(self):
        """The fitted model and the median of three times."""
        p = self.problem
        fits = [clock(lambda: p.make().fit(p.X, p.y)) for _ in range(3)]
        return fits[0][0], float(np.median([seconds for _, seconds in fits]))

    @cached_property
    def folds(self):
        """Rows to fit and rows left out, fold by fold; then all rows, with none left out."""
        p = self.problem
        parts = StratifiedKFold(N_FOLDS, shuffle=True, random_state=p.seed).split(p.X, 2 * p.s + p.y)
        return [*parts, (np.arange(len(p.y)), None)]

    def out_of_fold(self, labels, fitted_on):
        """Probabilities of `labels` for the rows to fit (out of fold) and the new ones, and the seconds of the fits."""
        p, total = self.problem, 0.0
        values = np.unique(labels)
        inside, outside = np.zeros((len(p.y), len(values))), np.zeros((len(p.y_new), len(values)))
        for train, left_out in self.folds:
            rows = train[fitted_on[train]]
            model, seconds = clock(lambda rows=rows: p.make().fit(p.X[rows], labels[rows]))
            total += seconds
            columns = np.searchsorted(values, model.classes_)
            if left_out is None:
                outside[:, columns] = model.predict_proba(p.X_new)
            else:
                inside[np.ix_(left_out, columns)] = model.predict_proba(p.X[left_out])
        return inside, outside, total

    @cached_property
    def label(self):
        """P(label | x)."""
        p = self.problem
        return self.out_of_fold(p.y, np.ones(len(p.y), dtype=bool))

    @cached_property
    def membership(self):
        """P(group | x, label) for both labels; known if the attribute is a feature."""
        p = self.problem
        if p.aware:
            known = np.eye(p.s.max() + 1)
            return [(known[p.s], known[p.s_new], 0.0)] * 2
        return [self.out_of_fold(p.s, p.y == label) for label in (0, 1)]

    def joint(self):
        """P(label, group | x) of the rows to fit and of the new ones, shape (rows, groups, labels)."""
        p_label = self.label
        return tuple(
            np.stack([p_label[part][:, [y]] * self.membership[y][part] for y in (0, 1)], axis=2) for part in (0, 1)
        )

    def frontier(self, constraint):
        """Our classifier, fitted for a constraint, and the seconds that took."""
        if constraint not in self.fitted:
            p = self.problem
            model = FrontierClassifier(
                p.make(), constraint=CONSTRAINTS[constraint][0](tol=ONE), n_folds=N_FOLDS, random_state=p.seed
            )
            self.fitted[constraint] = clock(lambda: model.fit(p.X, p.y, sensitive_features=p.s))
        return self.fitted[constraint]

    def frontier_joint(self, constraint):
        """P(label, group | x) as the frontier has it, for LinearPost; uniform for a label that no rate needs."""
        p, (model, _) = self.problem, self.frontier(constraint)
        answers = []
        for joint in (model._trade_off.sample.joint, model._model.joint(p.X_new)):
            uniform = np.full((len(joint.target), p.s.max() + 1), 1 / (p.s.max() + 1))
            members = [joint.members.get(name, joint.members.get("everyone", uniform)) for name in ("other", "target")]
            labels = (1 - joint.target, joint.target)
            answers.append(np.stack([y[:, None] * s for y, s in zip(labels, members, strict=True)], axis=2))
        return tuple(answers)

    def seconds(self, needed):
        """Of the fits behind the probabilities, with the membership models of these labels."""
        return self.label[2] + sum(self.membership[y][2] for y in needed)


def plain(given, constraint):
    model, seconds = given.plain
    chosen = model.predict(given.problem.X_new)[None].astype(float)
    return Curve((np.inf,), chosen, [0.0], seconds)


def refitted(make, predict):
    """A contender that fits anew for every tolerance."""

    def run(given, constraint):
        p, chosen, times = given.problem, [], []
        for tol in FEW:
            model, seconds = clock(
                lambda tol=tol: make(p, CONSTRAINTS[constraint], tol).fit(p.X, p.y, sensitive_features=p.s)
            )
            chosen.append(predict(model, p.X_new))
            times.append(seconds)
        return Curve(FEW, np.array(chosen, dtype=float), times)

    return run


def exponentiated_gradient(p, constraint, tol):
    """Its bound is each group's distance from the rate of all rows: half the tolerance is a difference within it."""
    return ExponentiatedGradient(p.make(), constraint[1](difference_bound=tol / 2))


def fairalm(signal):
    def make(p, constraint, tol):
        return FairALMClassifier(p.make(), constraint=constraint[0](tol=tol), dual_signal=signal, random_state=p.seed)

    return refitted(make, lambda model, X: model.predict(X))


def grid_search(given, constraint):
    """One grid for all tolerances."""
    p, (ours, theirs, _, _) = given.problem, CONSTRAINTS[constraint]
    search = GridSearch(p.make(), theirs(), grid_size=GRID_SIZE)
    _, shared = clock(lambda: search.fit(p.X, p.y, sensitive_features=p.s))
    chosen = np.array([model.predict(p.X_new) for model in best_of_grid(search, p, ours(), TWENTY)], dtype=float)
    return Curve(TWENTY, chosen, [0.0] * len(TWENTY), shared)


def best_of_grid(search, p, constraint, tolerances):
    """For each tolerance the model with the smallest training error within it, or else the smallest training gap."""
    inside = [np.asarray(model.predict(p.X), dtype=float) for model in search.predictors_]
    errors = np.array([abs(chosen - p.y).mean() for chosen in inside])
    gaps = np.array([spread(chosen, p.y, p.s, constraint) for chosen in inside])
    best = [int(np.argmin(np.where(gaps <= max(tol, gaps.min()), errors, np.inf))) for tol in tolerances]
    return [search.predictors_[index] for index in best]


class Column(ClassifierMixin, BaseEstimator):
    """A fitted model whose only feature is the probability that it predicts."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        """Nothing to fit."""
        return self

    def predict_proba(self, X):
        """The feature, as the probability of 1."""
        return np.column_stack([1 - X, X])

    def __sklearn_is_fitted__(self):
        return True


def threshold_optimizer(given, constraint):
    """Thresholds on the same out-of-fold probabilities that the other post-processors get."""
    if constraint == "equalized odds":
        raise Absent("ThresholdOptimizer takes no tolerance for equalized odds")
    p, chosen, times = given.problem, [], []
    inside, outside, shared = given.label
    for tol in TWENTY:
        model = ThresholdOptimizer(
            estimator=Column(),
            constraints=CONSTRAINTS[constraint][2],
            prefit=True,
            predict_method="predict_proba",
            tol=tol,
        )
        _, seconds = clock(lambda model=model: model.fit(inside[:, 1:], p.y, sensitive_features=p.s))
        chosen.append(model._pmf_predict(outside[:, 1:], sensitive_features=p.s_new)[:, 1])
        times.append(seconds)
    return Curve(TWENTY, np.array(chosen), times, shared)


def frontier(given, constraint):
    p, (model, shared) = given.problem, given.frontier(constraint)
    points = [clock(lambda tol=tol: model.at(tol=tol)) for tol in TWENTY]
    chosen = np.array([point.predict(p.X_new) for point, _ in points], dtype=float)
    return Curve(TWENTY, chosen, [seconds for _, seconds in points], shared)


def peer(name):
    """A contender that runs in another interpreter, on the probabilities of this one."""

    def run(given, constraint):
        if not given.peers_python:
            raise Absent(f"{name} needs --peers-python: an interpreter that has it")
        if name == "LinearPost" and not given.linearpost:
            raise Absent("LinearPost needs --linearpost: a copy of the repository uiuctml/fair-classification")
        p, needed = given.problem, CONSTRAINTS[constraint][3]
        joint, joint_new = given.frontier_joint(constraint) if name == "LinearPost" else given.joint()
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
            arrays = {"joint": joint, "y": p.y, "s": p.s, "joint_new": joint_new, "s_new": p.s_new}
            np.savez(source, aware=p.aware, constraint=constraint, tolerances=TWENTY, **arrays)
            command = [given.peers_python, PEERS_SCRIPT, source, target, "--contender", name]
            command += ["--linearpost", given.linearpost or ""]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=PEERS_LIMIT)
            except subprocess.TimeoutExpired:
                raise Absent(f"{name} took more than {PEERS_LIMIT} seconds") from None
            if done.returncode:
                raise Absent(f"{name} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
            answer = np.load(target)
            curve = Curve(TWENTY, answer["chosen"], answer["seconds"].tolist())
        if name == "LinearPost":
            return replace(
                curve, shared=given.frontier(constraint)[1]
            )  # its curve of twenty is in that: a second or so
        uses_membership = name != "error-parity" and not p.aware
        return replace(curve, shared=given.seconds(needed if uses_membership else ()))

    return run


CONTENDERS = {
    "plain": plain,
    "ExponentiatedGradient": refitted(exponentiated_gradient, lambda model, X: model._pmf_predict(X)[:, 1]),
    "GridSearch": grid_search,
    "ThresholdOptimizer": threshold_optimizer,
    "error-parity": peer("error-parity"),
    "OxonFair": peer("OxonFair"),
    "LinearPost": peer("LinearPost"),
    "fairalm-train": fairalm("train"),
    "fairalm-crossfit": fairalm("crossfit"),
    "frontier": frontier,
}
NEEDS_GROUP = ("ThresholdOptimizer", "error-parity")  # of new rows, also if it is not a feature
