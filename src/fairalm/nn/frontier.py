"""The frontier of a trained net: from its features, every constraint, tolerance, cost and acceptance rate."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from torch import nn

from fairalm._validation import Groups
from fairalm.arrays import BoolArray, FloatArray, IntArray
from fairalm.constraints import Constraint
from fairalm.datasets import stratified_folds
from fairalm.exceptions import InputError
from fairalm.files import AnyPath
from fairalm.frontier.joint import Joint, in_population, populations_of
from fairalm.frontier.sample import Sample
from fairalm.frontier.trade_off import TradeOff, as_constraints
from fairalm.nn.checks import check_count, check_positive, usable_device
from fairalm.nn.features import Features
from fairalm.nn.frontier_head import FrontierHead
from fairalm.nn.head import Linear, find_head, with_layer
from fairalm.nn.head_learner import HeadFitter, HeadLearner
from fairalm.nn.last_layer import both_features, check_target
from fairalm.nn.mending import find_mending, mend
from fairalm.nn.softmax import fit_softmax
from fairalm.progress import progress_bar


@dataclass(frozen=True, eq=False)
class PlugInNet:
    """A net at one point of its frontier.

    Attributes
    ----------
    model : nn.Module
        A copy of the net with a :class:`FrontierHead` as its last layer, in eval mode; deterministic, and it needs no
        group to predict. Label 1 is predicted where its logit is positive; the logit is not one of a probability.
    head : str
        Name of the last layer.
    error, gap : float
        Share of wrong predictions and largest gap, out of fold or on the held-out rows.
    figures : dict
        The same with intervals, and the rates of every group.
    cost, bound, certificate : float
        Under the estimated probabilities: the mean cost of the mistakes, what no classifier within the limits can be
        below, and how far this one may be from the best.
    """

    model: nn.Module
    head: str
    error: float
    gap: float
    figures: dict[str, Any]
    cost: float
    bound: float
    certificate: float


class NetFrontier:
    """A net whose constraint, tolerance, costs and acceptance rate can be chosen; made by :func:`fit_frontier`.

    Attributes
    ----------
    table : DataFrame
        The trade-off: one row per tolerance, with error, gap and rates of every group on rows that the heads had not
        seen, intervals, and the certificate.
    head : str
        Name of the last layer.
    """

    def __init__(self, model: nn.Module, head: str, heads: FrontierHead, trade_off: TradeOff) -> None:
        self.head = head
        self.table: pd.DataFrame = trade_off.table
        self._model, self._heads, self._trade_off = model, heads, trade_off

    def at(
        self,
        *,
        tol: float | None = None,
        ratio: float | None = None,
        constraint: Constraint | str | Sequence[Constraint | str] | None = None,
        acceptance: float | None = None,
        cost_fp: float = 1.0,
        cost_fn: float = 1.0,
        floor: Literal["plain"] | float | None = None,
    ) -> PlugInNet:
        """The net for what is asked, without another fit.

        Parameters
        ----------
        tol, ratio : float, optional
            In place of the constraint's own. A tolerance of 1 leaves the plain net.
        constraint : Constraint, str, or a list of them, optional
            In place of the one given to :func:`fit_frontier`.
        acceptance : float, optional
            Share of all rows that is predicted as the target.
        cost_fp, cost_fn : float
            What it costs to predict the target where it is wrong, and not to predict it where it is right.
        floor : "plain" or float, optional
            No levelling down: no group's share predicted as the target (for equal opportunity and equalized odds, its
            true positive rate) may fall below the plain net's, or below this number.
        """
        point = self._trade_off.at(
            tol=tol,
            ratio=ratio,
            constraint=constraint,
            acceptance=acceptance,
            cost_fp=cost_fp,
            cost_fn=cost_fn,
            floor=floor,
        )
        new = copy.deepcopy(self._heads)
        new.set_rule(point.rule)
        figures = self._trade_off.figures_of(point)
        return PlugInNet(
            model=with_layer(self._model, self.head, new).eval(),
            head=self.head,
            error=figures["error"],
            gap=figures["gap"],
            figures=figures,
            cost=point.cost,
            bound=point.bound,
            certificate=point.certificate,
        )


def fit_frontier(
    model: nn.Module,
    train: Iterable[Any] | Features,
    heldout: Iterable[Any] | Features | None = None,
    *,
    head: str | None = None,
    constraint: Constraint | str | Sequence[Constraint | str] | None = None,
    n_groups: int = 2,
    n_folds: int | None = None,
    l2: float = 0.1,
    mend: bool = True,
    cache: AnyPath | None = None,
    progress: bool = False,
    device: torch.device | str | None = None,
) -> NetFrontier:
    """Fit small heads for label and group on the features of a net, and solve for the whole trade-off.

    The features are computed once. A logistic regression for the label and a softmax regression for the group give the
    probability of each label and group, out of fold. From these the best classifier within any linear limits on the
    groups' rates follows without another fit, as in :class:`fairalm.FrontierClassifier`.

    Where no limit binds the net predicts by its plain head: not the last layer that it came with, but the logistic
    regression that :func:`refit_last_layer` finds without a constraint; mended, if there are held-out rows.

    Parameters
    ----------
    model : nn.Module
        A trained or pretrained net whose last layer is an `nn.Linear` with one output (the logit) or two.
    train : loader of (x, y, group), or Features
        The rows the heads are fitted on. Labels are 0 or 1, groups 0..n_groups-1. Out-of-fold figures say something
        about new rows only if the net was not trained on these; if it was, pass held-out rows.
    heldout : loader or Features, optional
        Rows to solve and measure on, in place of folds of the training rows.
    head : str, optional
        Name of the last layer; the only `nn.Linear` with one or two outputs if left out.
    constraint : Constraint, str, or a list of them, optional
        What the curve is about; ``EqualOpportunity()`` if left out. :meth:`NetFrontier.at` can ask for others that
        compare rates among the same people; list several to have them all.
    n_groups : int
        Number of groups.
    n_folds : int, optional
        Folds for the out-of-fold probabilities; 5 if left out. Not together with held-out rows.
    l2 : float
        Penalty on the heads' weights, per standardised feature; log-loss is a mean.
    mend : bool
        Mend the probabilities of label and group by small logistic regressions, on rows that the heads have not seen,
        where that lowers their log loss. Out of fold this leaves the plain head's predictions as they are. Held-out
        rows may change them: they can mend heads that were fitted where label and group go together too often.
    cache : folder, optional
        Keep the features there; see :func:`compute_features`.
    progress : bool
        Show progress bars.
    device : device, optional
        Where to run net and fits; where the net is if left out.

    Examples
    --------
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> _ = torch.manual_seed(0)
    >>> group = torch.randint(2, (2000,))
    >>> y = (torch.rand(2000) < 0.3 + 0.4 * group).long()
    >>> x = torch.stack([y + torch.randn(2000), group + 0.3 * torch.randn(2000)], dim=1)
    >>> net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    >>> frontier = fit_frontier(net, DataLoader(TensorDataset(x, y, group), batch_size=500))
    >>> strict, loose = frontier.at(tol=0.02), frontier.at(tol=0.2)
    >>> bool(strict.gap < loose.gap), bool(strict.error > loose.error), strict.model(x).shape
    (True, True, torch.Size([2000, 1]))
    """
    constraints = as_constraints(constraint)
    populations = populations_of(constraints)
    name = find_head(model, head)
    check_count("n_groups", n_groups, 2)
    check_positive("l2", l2)
    for own in constraints:
        check_target(own)
    if n_folds is not None:
        check_count("n_folds", n_folds, 2)
        if heldout is not None:
            raise InputError("Pass held-out rows or `n_folds`, not both: each says where gaps are measured.")
    where = usable_device(model, device)
    settings: Any = {"head": name, "progress": progress, "device": where}
    fitted, measured = both_features(model, train, heldout, constraints, n_groups, cache, **settings)
    target = 1 if constraints[0].target is None else int(constraints[0].target)
    fits = _Fits(fitted, target, n_groups, populations, l2, where)
    if measured is None:
        joint = fits.out_of_fold(n_folds or 5, progress=progress)
    else:
        joint = fits.joint(fits.label, fits.members, fits.fitter.standardised(measured.x.to(where)))
    old = model.get_submodule(name)
    assert isinstance(old, nn.Linear)
    heads = FrontierHead(old.in_features, old.out_features, n_groups, populations)
    heads.sign.fill_(1.0 if target == 1 else -1.0)
    heads.set_heads(
        fits.fitter.folded(fits.label),
        {population: [fits.fitter.folded(one) for one in several] for population, several in fits.members.items()},
    )
    kind: Any = {"is_mended": mend, "is_heldout": measured is not None}
    sample = _sample(joint, fitted if measured is None else measured, target, n_groups, heads, **kind)
    heads.to(old.weight.device, torch.promote_types(old.weight.dtype, torch.float32))
    return NetFrontier(model, name, heads, TradeOff.of(sample, constraints, target))


class _Fits:
    """Heads for the label and for the group, on all rows and on folds of them."""

    def __init__(
        self, rows: Features, target: int, n_groups: int, populations: Sequence[str], l2: float, where: torch.device
    ) -> None:
        self.rows, self.n_groups, self.populations = rows, n_groups, populations
        self.positive: BoolArray = rows.y == target
        self.fitter = HeadFitter(rows.x.to(where), self.positive, l2)
        everyone = np.arange(len(rows.y))
        self.label = HeadLearner(self.fitter).fit(np.ones(len(everyone)))
        self.members = {name: self._fit_members(name, everyone) for name in populations}

    def _fit_members(self, population: str, rows: IntArray, start: list[Linear] | None = None) -> list[Linear]:
        own = rows[in_population(population, self.positive[rows])]
        return fit_softmax(self.fitter, self.rows.group, self.n_groups, own, start)

    def joint(self, label: Linear, members: dict[str, list[Linear]], x: torch.Tensor) -> Joint:
        """The probabilities of rows, given their standardised features."""
        return Joint(
            1 / (1 + np.exp(-np.clip(label.logits(x), -500, 500).astype(float))),
            {name: _softmax(np.column_stack([head.logits(x) for head in heads])) for name, heads in members.items()},
        )

    def out_of_fold(self, n_folds: int, *, progress: bool) -> Joint:
        """The probabilities of all rows, each from heads fitted without it."""
        fold = stratified_folds(self.positive, self.rows.group, n_folds, np.random.default_rng(0))
        target = np.empty(len(fold))
        members = {name: np.empty((len(fold), self.n_groups)) for name in self.populations}
        with progress_bar(n_folds, shown=progress, text="fitting") as update:
            for k in range(n_folds):
                rows, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
                label = HeadLearner(self.fitter, rows).fit(np.ones(len(rows)))
                own = {name: self._fit_members(name, rows, start) for name, start in self.members.items()}
                joint = self.joint(label, own, self.fitter.x[outside])
                target[outside] = joint.target
                for name in self.populations:
                    members[name][outside] = joint.members[name]
                update(k + 1, f"fold {k + 1} of {n_folds}")
        return Joint(target, members)


def _softmax(scores: FloatArray) -> FloatArray:
    powers = np.exp((scores - scores.max(axis=1, keepdims=True)).astype(float))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _sample(
    joint: Joint, rows: Features, target: int, n_groups: int, heads: FrontierHead, *, is_mended: bool, is_heldout: bool
) -> Sample:
    """The rows to solve on, with probabilities as the heads give them; if these are mended, the heads are told how."""
    positive = rows.y == target
    by: tuple[Any, dict[str, Any]] = None, {}
    if is_mended:
        by = find_mending(joint, positive, rows.group, is_heldout=is_heldout)
        heads.set_mending(*by)
    joint = mend(joint, *by)
    groups = Groups(np.empty(0, dtype=np.int64), tuple(range(n_groups)))
    return Sample(joint, joint.target > 0.5, positive, rows.group, groups, np.ones(len(positive)))
